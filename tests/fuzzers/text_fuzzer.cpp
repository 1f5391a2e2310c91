// SPDX-License-Identifier: MIT
// Any bytes as an operation's text: the reader must give operations or an error with a place. What
// is an operation is evaluated on small problems, judged and explained: values or errors, never a
// crash.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "oracles/base/random.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/text/oracle.h"
#include "oracles/text/words.h"

namespace {

using namespace plumbline;
using namespace plumbline::text;

constexpr std::string_view kPath = "fuzzed.op";

void check_place(const Error& error) {
  if (error.where.starts_with(kPath)) return;
  std::fprintf(stderr, "an error without a place: %s\n", error.text().c_str());
  std::abort();
}

// Whether sums go through few indices, so that a problem is computed in no time.
bool is_quick(const Expression& node, const Instance& instance, int depth) {
  constexpr std::int64_t kMostTerms = 8;
  constexpr int kMostReductions = 3;
  if (node.op == Op::reduce) {
    if (++depth > kMostReductions) return false;
    for (const Range& range : node.ranges) {
      const Result<std::int64_t> high = instance.fixed(*range.high.front());
      if (!high || *high > kMostTerms) return false;
    }
  }
  bool quick = true;
  for_each_child(node, [&](const Expression& one) { quick &= is_quick(one, instance, depth); });
  return quick;
}

bool is_small(const Instance& instance) {
  constexpr std::int64_t kMostElements = 64;
  const Program& program = instance.program();
  for (int i = 0; i < static_cast<int>(program.inputs.size()); ++i) {
    std::int64_t elements = 1;
    for (const std::int64_t size : instance.input_shape(i)) elements *= size;
    if (elements > kMostElements) return false;
  }
  for (int s = 0; s < static_cast<int>(program.steps.size()); ++s) {
    if (instance.step_elements(s) > kMostElements) return false;
    for (const Piece& piece : program.steps[static_cast<std::size_t>(s)].pieces) {
      if (!is_quick(*piece.value, instance, 0)) return false;
    }
  }
  return true;
}

double drawn(const Input& input, const Setting& setting, Random& random) {
  constexpr double kValues[] = {0, -0.0, 1, -1, 0.75, -3, 200, 1e-3, 3e38, 1e-40, kInfinity, NAN};
  if (!input.low) return kValues[random.below(std::size(kValues))];
  const double low = fixed_real(*input.low, setting.sizes, setting.scalars),
               high = fixed_real(*input.high, setting.sizes, setting.scalars);
  if (input.integer) return low + static_cast<double>(random.below(4));
  return low + random.unit() * (high - low);
}

void use(const std::shared_ptr<const Program>& program, std::int64_t size) {
  Setting setting;
  setting.sizes.assign(program->sizes.size(), size);
  for (const Parameter* one : program->scalars)
    setting.scalars.push_back(fixed_real(*program->defaults.at(one->name), {}, {}));
  setting.present.assign(program->inputs.size(), true);
  for (const Parameter& one : program->text.parameters)
    setting.formats.push_back(is_integer_type(one.type) ? FormatId::s32 : FormatId::bf16);
  const Result<Instance> instance = Instance::make(program, setting);
  if (!instance) return check_place(instance.error());
  if (!is_small(*instance)) return;
  Random random(1);
  const auto filled = [&](std::span<const std::int64_t> shape, FormatId format, auto value) {
    Tensor tensor(dense_layout(format, {shape.begin(), shape.end()}));
    for (std::int64_t i = 0; i < tensor.layout.count(); ++i)
      tensor.set_bits(i, encode(plumbline::format(format), value()));
    return tensor;
  };
  std::vector<Tensor> tensors;
  std::vector<const Tensor*> inputs;
  tensors.reserve(program->inputs.size());
  for (std::size_t i = 0; i < program->inputs.size(); ++i) {
    const Input& input = program->inputs[i];
    const FormatId format = input.integer ? FormatId::s32 : FormatId::bf16;
    tensors.push_back(filled(instance->input_shape(static_cast<int>(i)), format,
                             [&] { return drawn(input, setting, random); }));
    inputs.push_back(&tensors.back());
  }
  std::vector<Tensor> stored;
  std::vector<TextOracle::Output> outputs;
  stored.reserve(program->outputs.size());
  for (const int step : program->outputs) {
    const StepTensor& tensor = program->steps[static_cast<std::size_t>(step)];
    const FormatId format = tensor.type == Type::integer ? FormatId::s32 : FormatId::bf16;
    stored.push_back(filled(instance->step_shape(step), format,
                            [&] { return static_cast<double>(random.below(3)); }));
    outputs.push_back({tensor.output, step, format, tensor.is_choice() ? &stored.back() : nullptr});
  }
  try {
    const TextOracle oracle(*instance, Inputs(inputs), {}, outputs);
    for (int output = 0; output < oracle.outputs(); ++output) {
      const Tensor& got = stored[static_cast<std::size_t>(output)];
      (void)oracle.judge(output, got, {.mpfr_bits = 64});
      if (got.layout.count() > 0) (void)oracle.explain(output, 0, got);
    }
  } catch (const Undefined& undefined) {
    check_place(undefined.error());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<std::vector<OperationText>> operations = parse_operations(text, kPath);
  if (!operations) {
    check_place(operations.error());
    return 0;
  }
  for (const OperationText& one : *operations) {
    const Result<std::shared_ptr<const Program>> program = check_operation(one);
    if (!program) {
      check_place(program.error());
      continue;
    }
    for (const std::int64_t n : {1, 3, 0}) use(*program, n);
  }
  return 0;
}
