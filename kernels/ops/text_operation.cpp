// SPDX-License-Identifier: MIT
#include "kernels/ops/text_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "kernels/manifest/kernel_schema.h"
#include "kernels/manifest/manifest.h"
#include "oracles/base/assert.h"
#include "oracles/base/file.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/formats/decode.h"
#include "oracles/reference/text/definition.h"
#include "oracles/reference/text/oracle.h"
#include "oracles/stages/staged_text.h"
#include "oracles/text/lexer.h"
#include "oracles/text/words.h"

namespace plumbline {
namespace {

using text::Instance;
using text::Parameter;
using text::Program;

constexpr std::size_t kLongestText = 1 << 20;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 32;
constexpr std::int64_t kLargestInteger = std::int64_t{1} << 31;

constexpr std::array<std::string_view, 3> kOut = {"bf16", "f16", "f32"};
// What arithmetic in f32 is read from and stored as.
constexpr std::array<std::string_view, 7> kRead = {"bf16", "f16",  "f32", "e4m3",
                                                   "e5m2", "e2m1", "s8"};
constexpr std::array<std::string_view, 4> kUnits = {"fma.f32", "mma.sync", "wgmma", "tcgen05"};
constexpr std::array<std::string_view, 2> kSums = {"parallel", "any"};
constexpr std::array<std::string_view, 3> kFunctions = {"fast", "approx", "precise"};
constexpr std::array<std::string_view, 2> kSumStarts = {"zero", "addend"};
constexpr std::array<std::string_view, 2> kSubnormals = {"flushed", "kept"};

constexpr auto kWord = FieldKind::word;
constexpr auto kInteger = FieldKind::integer;

// clang-format off
constexpr std::array kTerms = {
    Field{"unit", kWord, 0, 0, 0, kUnits, "what adds products of two operands: fma.f32 as all other sums; else tensor cores, of operands that have a format for them"},
    Field{"instruction_k", kInteger, 0, 0, 256, {}, "k of the unit's instruction, as 8 of mma.m16n8k8; 0: that of the PTX"},
    Field{"sums", kWord, 0, 0, 0, kSums, "how many additions a term of a sum of n passes through: parallel, at most n / 32 + 6; any, n - 1"},
    Field{"lanes", kInteger, 0, 0, 65536, {}, "partial sums of a sum, joined in pairs; 0: as `sums` says"},
    Field{"vector", kInteger, 1, 1, 64, {}, "neighboring terms that a partial sum takes at a time"},
    Field{"sum_start", kWord, 0, 0, 0, kSumStarts, "what a sum begins with, to which one value is added: zero; or that value, as where a bias or C is in the accumulators first"},
    Field{"functions", kWord, 0, 0, 0, kFunctions, "fast: CUDA's approximate forms may be used; approx: and tanh.approx; precise: CUDA's library and division to nearest"},
    Field{"subnormals", kWord, 0, 0, 0, kSubnormals, "of f32: whether operands and results below 2^-126 may count as 0"},
};
// clang-format on

bool mentions(const text::Node& node, std::string_view name) {
  return (node.kind == text::Kind::name && node.name == name) ||
         std::ranges::any_of(node.children,
                             [&](const text::NodePtr& one) { return mentions(*one, name); });
}

// The number of elements of a row, and the padding behind it.
class LeadingDimension final : public ComputedName {
 public:
  LeadingDimension(std::shared_ptr<const Program> program, text::ExpressionPtr width,
                   std::string pad)
      : program_(std::move(program)), width_(std::move(width)), pad_(std::move(pad)) {}

  Result<std::int64_t> value(const Problem& problem) const override;

 private:
  std::shared_ptr<const Program> program_;
  text::ExpressionPtr width_;
  std::string pad_;
};

std::vector<std::int64_t> sizes_of(const Program& program, const Problem& problem) {
  std::vector<std::int64_t> sizes;
  for (const std::string& name : program.sizes) sizes.push_back(problem.integer(name));
  return sizes;
}

std::vector<double> scalars_of(const Program& program, const Problem& problem) {
  std::vector<double> scalars;
  for (const Parameter* one : program.scalars)
    scalars.push_back(one->type == "int" ? static_cast<double>(problem.integer(one->name))
                                         : static_cast<double>(problem.real(one->name)));
  return scalars;
}

// An expression of sizes and scalars.
Result<std::int64_t> evaluated(const Program& program, const text::Expression& node,
                               const Problem& problem) {
  return text::fixed_integer(node, sizes_of(program, problem), scalars_of(program, problem),
                             program.text.path);
}

Result<std::int64_t> LeadingDimension::value(const Problem& problem) const {
  const Result<std::int64_t> width = evaluated(*program_, *width_, problem);
  if (!width) return width;
  return *width + problem.integer(pad_);
}

class Loaded final : public TextOperation {
 public:
  explicit Loaded(std::shared_ptr<const Program> program) : program_(std::move(program)) {
    name_ = program_->text.name + ".op";
    about_ = program_->text.about.empty() ? "" : program_->text.about + "\n\n";
    about_ += "```\n" + program_->text.source + "```\n";
    make_fields();
    make_tensors();
    if (has_stages(*program_)) {
      for (const text::Input& input : program_->inputs)
        if (!input.integer) quantized_.push_back({input.parameter->name});
    }
    for (const int step : program_->outputs) {
      std::set<int> read;
      add_read(step, read);
      for (const int from : read) {
        const text::StepTensor& choice = program_->steps[static_cast<std::size_t>(from)];
        if (choice.is_choice())
          follows_.push_back(
              {program_->steps[static_cast<std::size_t>(step)].output, choice.output});
      }
    }
    for (const text::StepTensor& step : program_->steps) {
      for (const text::Piece& piece : step.pieces) depends_on_data_ |= reads_by_data(*piece.value);
    }
  }

  // With the ending of its file, so that it is never taken for an operation that is built in.
  std::string_view name() const override { return name_; }

  std::string_view about() const override { return about_; }

  std::span<const Field> schema() const override { return fields_; }

  std::span<const TensorName> tensor_names() const override { return tensors_; }

  std::span<const Derived> derived() const override { return derived_; }

  std::span<const Field> terms() const override { return kTerms; }

  bool has_pure_sums(const Problem&, const Manifest&) const override { return false; }

  std::span<const Follows> follows() const override { return follows_; }

  std::span<const Quantized> quantized() const override { return quantized_; }

  std::unique_ptr<StagedComputation> staged(const Problem& problem, const Manifest& manifest,
                                            int sm, const CaseTensors& tensors,
                                            const CaseTensors& sources) const override {
    Result<Instance> instance = instance_of(problem, manifest);
    PLUMB_ASSERT(instance.ok());
    return staged_text({*std::move(instance), inputs_of(tensors), inputs_of(sources),
                        arithmetic_of(manifest.terms, sm), outputs_of(problem, manifest)});
  }

  const text::OperationText& text() const override { return program_->text; }

  const std::vector<std::string>& sizes() const override { return program_->sizes; }

  const std::vector<std::string>& pads() const override { return pads_; }

  bool may_be_empty(std::string_view size) const override {
    bool first = false;
    for (const Parameter& one : program_->text.parameters) {
      for (std::size_t d = 0; d < one.sizes.size(); ++d) {
        const text::Node& node = *one.sizes[d];
        const bool bare = node.kind == text::Kind::name && node.name == size;
        if (bare && d == 0) {
          first = true;
        } else if (mentions(node, size)) {
          return false;
        }
      }
    }
    return first;
  }

  void find_sizes(const Shapes& shapes, std::set<std::string, std::less<>>& unknown,
                  Problem& problem) const override {
    bool found = true;
    const auto look_at = [&](const std::string& name, const Parameter& parameter,
                             const auto& dimension) {
      const auto shape = shapes.find(name);
      if (shape == shapes.end() || shape->second.size() != parameter.sizes.size()) return;
      for (std::size_t d = 0; d < parameter.sizes.size(); ++d)
        found |= find_size(*parameter.sizes[d], *dimension(d), shape->second[d], unknown, problem);
    };
    while (found && !unknown.empty()) {
      found = false;
      for (const text::Input& input : program_->inputs)
        look_at(input.parameter->name, *input.parameter,
                [&](std::size_t d) { return input.shape[d]; });
      for (const int step : program_->outputs) {
        const text::StepTensor& tensor = program_->steps[static_cast<std::size_t>(step)];
        look_at(tensor.output, *tensor.parameter,
                [&](std::size_t d) { return tensor.shape[d].front(); });
      }
    }
  }

  bool has_values(std::string_view tensor) const override {
    const int input = program_->input(tensor);
    return input >= 0 && program_->inputs[static_cast<std::size_t>(input)].low != nullptr;
  }

  Values values(std::string_view tensor, const Problem& problem) const override {
    const text::Input& input = program_->inputs[static_cast<std::size_t>(program_->input(tensor))];
    const auto at = [&](const text::ExpressionPtr& node) {
      return text::fixed_real(*node, sizes_of(*program_, problem), scalars_of(*program_, problem));
    };
    Values out{at(input.low), at(input.high), {}};
    for (const text::ExpressionPtr& other : input.others) out.others.push_back(at(other));
    return out;
  }

  // Elements whose values the text says need one.
  Status has_a_value(std::string_view tensor, const Problem& problem, std::int64_t elements) const {
    if (elements == 0 || !has_values(tensor)) return {};
    const text::Input& input = program_->inputs[static_cast<std::size_t>(program_->input(tensor))];
    const Values allowed = values(tensor, problem);
    if (input.has_a_value(allowed.low, allowed.high)) return {};
    return Error{ErrorKind::bad_input,
                 fmt::format("with {} no value of {} is left: {} .. {}", problem.text(), tensor,
                             allowed.low, allowed.high),
                 text::position(program_->text.path, input.low->place),
                 "correct the text, or leave such problems out by a [[domain]] rule"};
  }

  Result<std::vector<TensorSpec>> tensors(const Problem& problem,
                                          const Manifest& manifest) const override {
    const Result<Instance> instance = instance_of(problem, manifest);
    if (!instance) return instance.error();
    std::vector<TensorSpec> specs;
    for (std::size_t i = 0; i < program_->inputs.size(); ++i) {
      const Parameter& parameter = *program_->inputs[i].parameter;
      if (!manifest.formats.contains(parameter.name)) continue;
      Result<TensorLayout> layout =
          padded(instance->input_shape(static_cast<int>(i)), parameter.name,
                 manifest.tensor_format(parameter.name, problem), problem);
      if (!layout) return layout.error();
      if (Status some = has_a_value(parameter.name, problem, layout->count()); !some)
        return some.error();
      specs.push_back({parameter.name, TensorRole::input, *std::move(layout)});
    }
    for (const int step : program_->outputs) {
      const text::StepTensor& tensor = program_->steps[static_cast<std::size_t>(step)];
      if (!manifest.formats.contains(tensor.output)) continue;
      Result<TensorLayout> layout = padded(instance->step_shape(step), tensor.parameter->name,
                                           manifest.tensor_format(tensor.output, problem), problem);
      if (!layout) return layout.error();
      specs.push_back({tensor.output, TensorRole::output, *std::move(layout)});
    }
    return specs;
  }

  // A unit of tensor cores has a sum to add on every target.
  Status check_terms(const Problem& terms, const Manifest& manifest) const override {
    const text::ProductUnit any = unit_of(terms, 0);
    if (any.unit.unit != Unit::tensor_core) return {};
    const Problem problem(manifest.schema());
    const auto format_of = [&](int input) -> std::optional<FormatId> {
      const std::string& name = program_->inputs[static_cast<std::size_t>(input)].parameter->name;
      if (!manifest.formats.contains(name)) return std::nullopt;
      return manifest.tensor_format(name, problem);
    };
    for (const int target : manifest.targets) {
      if (!text::ProductSums(*program_, unit_of(terms, target), false, format_of).empty()) continue;
      return Error{
          ErrorKind::bad_input,
          fmt::format("no sum of {} is one of products that {} multiplies on sm_{}", name_,
                      terms.word("unit"), target),
          "",
          "write sum[k] (a[i, k] * b[k, j]) where a and b are inputs of 16 or 8 bits, or rounded: "
          "bf16(...); or leave `unit` out"};
    }
    return {};
  }

  Status check_sizes(const Manifest& manifest) const override {
    constexpr std::int64_t kTried[] = {1, 2, 3, 7, 16, 33, 100, 128, 130, 257, 1000};
    constexpr std::int64_t kOthers[] = {1, 8, 128};
    Problem problem(manifest.schema());
    for (const Field& field : manifest.schema()) {
      if (field.kind == FieldKind::word && must_be_given(field))
        problem.set_word(field.name, field.choices.front());
    }
    const auto set = [&](std::string_view size, std::int64_t value) {
      const auto field = std::ranges::find(manifest.schema(), size, &Field::name);
      problem.set_integer(size, field->fixed ? field->default_value
                                             : std::clamp(value, field->minimum, field->maximum));
    };
    for (const std::int64_t others : kOthers) {
      for (const std::string& size : sizes()) {
        for (const std::string& other : sizes()) set(other, others);
        for (const std::int64_t value : kTried) {
          set(size, value);
          if (manifest.excluded(problem)) continue;
          const Result<Instance> instance = instance_of(problem, manifest);
          if (instance) continue;
          Error error = instance.error();
          error.message = fmt::format("with {}: {}", problem.text(), error.message);
          return error;
        }
      }
    }
    return {};
  }

  // Integers lie where the text says, and subscripts that depend on them within their tensors.
  Status check_values(const Problem& problem, const CaseTensors& tensors) const override {
    for (const text::Input& input : program_->inputs) {
      const Tensor* tensor = tensors.find(input.parameter->name);
      if (!input.integer || !tensor) continue;
      const Values allowed = values(input.parameter->name, problem);
      const Format& f = format(tensor->layout.format);
      for (std::int64_t i = 0; i < tensor->layout.count(); ++i) {
        const double value = to_double(f, tensor->bits(i));
        if (std::fabs(value) >= 0x1p53)
          return Error{ErrorKind::bad_input,
                       fmt::format("element {} of {} is {}, and texts take integers below 2^53", i,
                                   input.parameter->name, value),
                       text::position(program_->text.path, input.parameter->place),
                       "give its values a range within -2^53 .. 2^53"};
        const bool inside = (allowed.low <= value && value < allowed.high) ||
                            std::ranges::count(allowed.others, value) > 0;
        if (!inside)
          return Error{ErrorKind::bad_input,
                       fmt::format("element {} of {} is {}, and its text says {} .. {}", i,
                                   input.parameter->name, value, allowed.low, allowed.high),
                       text::position(program_->text.path, input.parameter->place),
                       "correct the tensor, or what the text says of its values"};
      }
    }
    if (!depends_on_data_) return {};
    Result<Instance> instance = instance_of(problem, tensors);
    if (!instance) return instance.error();
    const text::Inputs inputs = inputs_of(tensors);
    text::Evaluator<text::Definition<double>> evaluator(*instance, inputs, {});
    try {
      for (const int step : program_->outputs) {
        const std::int64_t elements = instance->step_elements(step);
        for (std::int64_t i = 0; i < elements; ++i) evaluator.element(step, i);
      }
    } catch (const Undefined& undefined) {
      return undefined.error();
    }
    return {};
  }

  // The terms of all expressions, each counted for every element and every index of a reduction; what
  // does not depend on an index is computed once.
  double work(const Problem& problem) const override {
    double terms = 0;
    for (const text::StepTensor& step : program_->steps) {
      for (const text::Piece& piece : step.pieces) {
        std::vector<text::Range> around = piece.ranges;
        const double inner = terms_of(*piece.value, problem, around, terms);
        terms += combinations(piece.ranges, problem) * inner;
      }
    }
    return terms;
  }

  std::unique_ptr<CaseOracle> oracle(const Problem& problem, const Manifest& manifest, int sm,
                                     const CaseTensors& tensors) const override {
    Result<Instance> instance = instance_of(problem, manifest);
    PLUMB_ASSERT(instance.ok());
    std::vector<text::TextOracle::Output> outputs = outputs_of(problem, manifest);
    for (text::TextOracle::Output& output : outputs) output.stored = tensors.find(output.name);
    return std::make_unique<text::TextOracle>(*std::move(instance), inputs_of(tensors),
                                              arithmetic_of(manifest.terms, sm),
                                              std::move(outputs));
  }

 private:
  // Those that the kernel has.
  std::vector<text::TextOracle::Output> outputs_of(const Problem& problem,
                                                   const Manifest& manifest) const {
    std::vector<text::TextOracle::Output> outputs;
    for (const int step : program_->outputs) {
      const text::StepTensor& tensor = program_->steps[static_cast<std::size_t>(step)];
      if (!manifest.formats.contains(tensor.output)) continue;
      outputs.push_back({tensor.output, step, manifest.tensor_format(tensor.output, problem)});
    }
    return outputs;
  }

  // The one size of a dimension that is not known yet: a dimension is a * size + b, or none.
  bool find_size(const text::Node& node, const text::Expression& dimension, std::int64_t extent,
                 std::set<std::string, std::less<>>& unknown, Problem& problem) const {
    std::string size;
    for (const std::string& one : unknown) {
      if (!mentions(node, one)) continue;
      if (!size.empty()) return false;
      size = one;
    }
    if (size.empty()) return false;
    const auto at = [&](std::int64_t value) {
      problem.set_integer(size, value);
      return evaluated(*program_, dimension, problem);
    };
    const Result<std::int64_t> none = at(0), one = at(1);
    if (!none || !one || *one == *none || (extent - *none) % (*one - *none) != 0) return false;
    const std::int64_t value = (extent - *none) / (*one - *none);
    if (value < 0 || !at(value) || *at(value) != extent) return false;
    unknown.erase(size);
    return true;
  }

  // Of ranges whose ends depend on other indices or on data, as many as the largest size.
  double combinations(const std::vector<text::Range>& ranges, const Problem& problem) const {
    double all = 1;
    for (const text::Range& range : ranges) {
      const Result<std::int64_t> high = evaluated(*program_, *range.high.front(), problem);
      const Result<std::int64_t> low =
          range.low ? evaluated(*program_, *range.low, problem) : Result<std::int64_t>(0);
      std::int64_t count = high && low ? *high - *low : 0;
      if (!high || !low) {
        for (const std::string& size : program_->sizes)
          count = std::max(count, problem.integer(size));
      }
      all *= static_cast<double>(std::max<std::int64_t>(count, 0));
    }
    return all;
  }

  // Of one value, within these ranges; what is computed once is added to `once`.
  double terms_of(const text::Expression& node, const Problem& problem,
                  std::vector<text::Range>& around, double& once) const {
    const std::size_t before = around.size();
    around.insert(around.end(), node.ranges.begin(), node.ranges.end());
    double terms = 1;
    for (const text::ExpressionPtr& child : node.children)
      terms += terms_of(*child, problem, around, once);
    around.resize(before);
    if (node.op != text::Op::reduce) return terms;
    terms *= combinations(node.ranges, problem);
    const bool is_cumulative = node.cumulative >= 0;
    if (node.memo < 0 && !is_cumulative) return terms;
    std::vector<text::Range> needed;
    for (const text::Range& range : around) {
      const std::vector<int>& slots = is_cumulative ? node.terms_depend_on : node.depends_on;
      if (std::ranges::count(slots, range.slot) > 0) needed.push_back(range);
    }
    once += terms * combinations(needed, problem);
    return 1;
  }

  // Adds the steps that a value reads, itself or through others.
  void add_read(const text::Expression& node, std::set<int>& steps) const {
    if (node.op == text::Op::step && steps.insert(node.id).second) add_read(node.id, steps);
    text::for_each_child(node, [&](const text::Expression& child) { add_read(child, steps); });
  }

  void add_read(int step, std::set<int>& steps) const {
    for (const text::Piece& piece : program_->steps[static_cast<std::size_t>(step)].pieces)
      add_read(*piece.value, steps);
  }

  static bool reads_by_data(const text::Expression& node) {
    const auto is_data = [](const auto& self, const text::Expression& one) -> bool {
      return one.op == text::Op::input || one.op == text::Op::step ||
             std::ranges::any_of(one.children,
                                 [&](const auto& child) { return self(self, *child); });
    };
    const bool reads = node.op == text::Op::input || node.op == text::Op::step;
    if (reads &&
        std::ranges::any_of(node.children, [&](const auto& one) { return is_data(is_data, *one); }))
      return true;
    // Under conditions nothing was looked at before.
    if (node.op == text::Op::where || node.condition) return true;
    return std::ranges::any_of(node.children, [](const auto& one) { return reads_by_data(*one); });
  }

  void make_fields() {
    for (const std::string& size : program_->sizes) {
      fields_.push_back({size,
                         kInteger,
                         -1,
                         may_be_empty(size) ? 0 : 1,
                         kLargestSize,
                         {},
                         help("a size of the text")});
    }
    fields_.push_back(
        {"out", kWord, 0, 0, 0, kOut, "format of the outputs that a manifest says have {out}"});
    for (const Parameter* one : program_->scalars) {
      const auto value = text::fixed_real(*program_->defaults.at(one->name), {}, {});
      if (one->type == "int") {
        fields_.push_back({one->name,
                           kInteger,
                           static_cast<std::int64_t>(value),
                           -kLargestInteger,
                           kLargestInteger,
                           {},
                           help("a scalar of the text")});
      } else {
        fields_.push_back({one->name,
                           FieldKind::real,
                           std::bit_cast<std::int32_t>(static_cast<float>(value)),
                           0,
                           0,
                           {},
                           help("a scalar of the text")});
      }
    }
    for (const Parameter& one : program_->text.parameters) {
      if (one.is_tensor && one.sizes.size() >= 2) pads_.push_back("pad_" + one.name);
    }
    std::size_t next = 0;
    for (const Parameter& one : program_->text.parameters) {
      if (!one.is_tensor || one.sizes.size() < 2) continue;
      const std::string& pad = pads_[next++];
      fields_.push_back({pad,
                         kInteger,
                         0,
                         0,
                         kLargestSize,
                         {},
                         help(fmt::format("elements after each row of {}", one.name))});
      names_.push_back("ld_" + one.name);
      computed_.push_back(
          std::make_unique<LeadingDimension>(program_, program_->widths.at(one.name), pad));
      derived_.push_back({names_.back(), nullptr,
                          help(fmt::format("elements from row to row of {}", one.name)),
                          computed_.back().get()});
    }
  }

  std::string_view help(std::string text) {
    helps_.push_back(std::move(text));
    return helps_.back();
  }

  void make_tensors() {
    const auto shape_text = [](const Parameter& one) {
      std::string out = "[";
      for (const text::NodePtr& size : one.sizes)
        out += (out.size() > 1 ? ", " : "") + text::text_of(*size);
      return out + "]";
    };
    const auto add = [&](const std::string& name, TensorRole role, const Parameter& one) {
      TensorName made{name, role, help(shape_text(one))};
      if (!one.type.empty()) {
        made.format = one.type;
        types_.push_back({one.type});
        made.formats = types_.back();
      } else {
        made.formats = kRead;
      }
      made.optional = one.optional || one.otherwise != nullptr;
      tensors_.push_back(made);
    };
    for (const text::Input& one : program_->inputs)
      add(one.parameter->name, TensorRole::input, *one.parameter);
    for (const int step : program_->outputs) {
      const text::StepTensor& tensor = program_->steps[static_cast<std::size_t>(step)];
      add(tensor.output, TensorRole::output, *tensor.parameter);
      if (tensor.parameter->inout) tensors_.back().in_place_of = tensor.parameter->name;
    }
  }

  Result<TensorLayout> padded(std::span<const std::int64_t> shape, const std::string& name,
                              FormatId format, const Problem& problem) const {
    TensorLayout layout = dense_layout(format, {shape.begin(), shape.end()});
    const std::size_t rank = shape.size();
    if (rank >= 2) {
      const std::int64_t pad = problem.integer("pad_" + name);
      if (pad != 0) {
        layout.strides[rank - 2] = shape[rank - 1] + pad;
        for (std::size_t d = rank - 2; d-- > 0;) {
          if (__builtin_mul_overflow(layout.strides[d + 1], std::max<std::int64_t>(shape[d + 1], 1),
                                     &layout.strides[d]))
            return Error{ErrorKind::bad_input, fmt::format("{} is too large for 63 bits", name), "",
                         "use smaller sizes"};
        }
      }
    }
    if (const Status usable = layout.check(); !usable) return usable.error();
    // Two share a byte, of one row.
    const bool splits_bytes =
        format == FormatId::e2m1 && rank > 0 &&
        (shape[rank - 1] % 2 != 0 || (rank > 1 && layout.strides[rank - 2] % 2 != 0));
    if (splits_bytes)
      return Error{ErrorKind::bad_input,
                   fmt::format("a row of {} in e2m1 would end within a byte", name), "",
                   "use even sizes"};
    return layout;
  }

  static text::ProductUnit unit_of(const Problem& terms, int sm) {
    return {*contract_unit(terms.word("unit")), terms.integer("instruction_k"), sm};
  }

  static text::Arithmetic arithmetic_of(const Problem& terms, int sm) {
    text::Arithmetic out;
    out.products = unit_of(terms, sm);
    out.any_order = terms.word("sums") == "any";
    out.lanes = terms.integer("lanes");
    out.begins_with_addend = terms.word("sum_start") == "addend";
    out.vector = terms.integer("vector");
    const auto word = std::ranges::find(kFunctions, terms.word("functions")) - kFunctions.begin();
    out.functions = static_cast<text::Arithmetic::Functions>(word);
    out.flushed = terms.word("subnormals") == "flushed";
    return out;
  }

  // Which tensors there are, and their formats: as a manifest says, or as they are.
  template <typename HasTensor, typename FormatOf>
  Result<Instance> made(const Problem& problem, HasTensor has, FormatOf format_of) const {
    text::Setting setting;
    setting.sizes = sizes_of(*program_, problem);
    setting.scalars = scalars_of(*program_, problem);
    for (const text::Input& one : program_->inputs)
      setting.present.push_back(has(one.parameter->name));
    for (const Parameter& one : program_->text.parameters)
      setting.formats.push_back(one.is_tensor && has(one.name) ? format_of(one.name)
                                                               : FormatId::f32);
    return Instance::make(program_, std::move(setting));
  }

  Result<Instance> instance_of(const Problem& problem, const Manifest& manifest) const {
    return made(
        problem, [&](const std::string& name) { return manifest.formats.contains(name); },
        [&](const std::string& name) { return manifest.tensor_format(name, problem); });
  }

  Result<Instance> instance_of(const Problem& problem, const CaseTensors& tensors) const {
    return made(
        problem, [&](const std::string& name) { return tensors.find(name) != nullptr; },
        [&](const std::string& name) { return tensors.find(name)->layout.format; });
  }

  text::Inputs inputs_of(const CaseTensors& tensors) const {
    std::vector<const Tensor*> found;
    for (const text::Input& one : program_->inputs)
      found.push_back(tensors.find(one.parameter->name));
    return text::Inputs(found);
  }

  std::shared_ptr<const Program> program_;
  std::string name_, about_;
  std::vector<Field> fields_;
  std::vector<TensorName> tensors_;
  std::vector<Derived> derived_;
  std::vector<std::string> pads_;
  std::vector<Follows> follows_;
  std::vector<Quantized> quantized_;
  std::deque<std::string> names_, helps_;  // what the tables' views point to
  std::deque<std::vector<std::string_view>> types_;
  std::vector<std::unique_ptr<ComputedName>> computed_;
  bool depends_on_data_ = false;
};

// Sizes and scalars are fields of a problem, beside those that every problem has, those of its
// tensors, and words of a case.
Status check_field_names(const Program& program) {
  std::vector<std::string> taken = {"out", "seed", "value", "bits"};
  for (const Field& field : common_fields()) taken.emplace_back(field.name);
  for (const Parameter& one : program.text.parameters) {
    if (!one.is_tensor || one.sizes.size() < 2) continue;
    taken.push_back("pad_" + one.name);
    taken.push_back("ld_" + one.name);
  }
  const auto refused = [&](std::string_view name, text::Place place) {
    return Error{ErrorKind::bad_input,
                 fmt::format("'{}' is a word of its cases, and cannot be a size or a scalar", name),
                 text::position(program.text.path, place), "use another name"};
  };
  for (const std::string& name : taken) {
    for (const Parameter& one : program.text.parameters) {
      const bool is_scalar = !one.is_tensor && one.name == name;
      const bool is_size = std::ranges::any_of(
          one.sizes, [&](const text::NodePtr& size) { return mentions(*size, name); });
      if (is_scalar || is_size) return refused(name, one.place);
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<const TextOperation>> text_operation(const text::OperationText& text) {
  Result<std::shared_ptr<const Program>> program = text::check_operation(text);
  if (!program) return program.error();
  if (const Status free = check_field_names(**program); !free) return free.error();
  return std::unique_ptr<const TextOperation>(std::make_unique<Loaded>(*std::move(program)));
}

Result<const TextOperation*> parse_text_operation(std::string_view text, const std::string& path) {
  Result<std::vector<text::OperationText>> all = text::parse_operations(text, path);
  if (!all) return all.error();
  const std::string stem = std::filesystem::path(path).stem();
  auto chosen = std::ranges::find(*all, stem, &text::OperationText::name);
  if (chosen == all->end() && all->size() == 1) chosen = all->begin();
  if (chosen == all->end())
    return Error{ErrorKind::bad_input,
                 fmt::format("of {} operations none is called {}", all->size(), stem), path,
                 "name one like the file, or keep only one"};
  Result<std::unique_ptr<const TextOperation>> made = text_operation(*chosen);
  if (!made) return made.error();
  // Problems, cases and generators point to an operation: it is never given back.
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, std::unique_ptr<const TextOperation>> loaded;
  const std::lock_guard lock(mutex);
  std::unique_ptr<const TextOperation>& operation = loaded[{path, std::string(text)}];
  if (!operation) operation = *std::move(made);
  return operation.get();
}

Result<const TextOperation*> read_text_operation(const std::string& path) {
  const Result<std::string> text =
      read_text_file(path, "name a text, a file <operation>.op", kLongestText);
  if (!text) return text.error();
  return parse_text_operation(*text, path);
}

const TextOperation* as_text(const Operation& operation) {
  return dynamic_cast<const TextOperation*>(&operation);
}

}  // namespace plumbline
