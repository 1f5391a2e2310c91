// SPDX-License-Identifier: MIT
#include "harness/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <span>

#include "harness/judge/judge.h"
#include "oracles/formats/decode.h"
#include "oracles/reference/describe_errors.h"
#include "reports/card.h"
#include "reports/record/inlined_calls.h"

namespace plumbline {
namespace {

constexpr std::size_t kShownElements = 4;

std::string value_text(const Format& f, std::uint64_t bits) {
  return fmt::format("{:<14} 0x{:0{}x}", number_text(to_double(f, bits), 9), bits,
                     f.storage_bits / 4);
}

void add_element(std::vector<std::string>& lines, const std::string& tensor,
                 const TensorLayout& layout, const ElementVerdict& e, bool bits,
                 const LaunchResult& launch) {
  const Format& f = format(layout.format);
  const std::string place = element_name(tensor, layout, e.index);
  const std::string indent(place.size(), ' ');
  const bool overflows =
      std::isinf(to_double(f, e.expected)) && std::fabs(e.exact) <= to_double(f, f.max_finite());
  lines.push_back(fmt::format("{}  expected   {}   exact {}, {}", place, value_text(f, e.expected),
                              number_text(e.exact, 12),
                              bits        ? "summed as the contract says"
                              : overflows ? "but a step of the contract overflows"
                              : is_rounded(f, e.exact, e.expected) ? "rounded once"
                                                                   : "by the contract's steps"));
  if (e.low != e.high && !bits) {
    lines.push_back(fmt::format("{}  admissible {} to {}", indent, value_text(f, e.low),
                                value_text(f, e.high)));
  }
  // Around 0 an ulp is the least number there is.
  const bool in_ulp = !std::isnan(e.error_ulp) && e.exact != 0;
  lines.push_back(fmt::format("{}  got        {}   {}", indent, value_text(f, e.got),
                              in_ulp ? fmt::format("{:+.4g} ulp", e.error_ulp) : ""));
  const std::string writer = stored_by(launch, tensor, layout, e.index);
  if (!writer.empty()) lines.push_back(fmt::format("{}  stored by  {}", indent, writer));
}

// A correctly rounded output that is wrong all the same.
std::string other_steps(const Manifest& kernel, const std::string& element) {
  const std::span<const Field> terms = kernel.operation->terms();
  const bool exponential = std::ranges::find(terms, "exponential", &Field::name) != terms.end();
  return fmt::format(
      "{} is the exact result, rounded once, but the steps that the contract names cannot give it: "
      "the kernel takes other steps, which may be more accurate. Look at the words of its "
      "[contract]{}",
      element, exponential ? ", `exponential` first" : "");
}

// Whether outputs that are not the contract's are the exact ones; a few may be by chance.
bool all_rounded_once(const std::vector<ElementVerdict>& others) {
  constexpr std::size_t kEnoughOutputs = 8;
  return others.size() >= kEnoughOutputs &&
         std::ranges::all_of(others,
                             [](const ElementVerdict& e) { return std::abs(e.error_ulp) <= 0.5; });
}

// The accumulator's way away from exact, of the first output that has one, thinned out.
void keep_steps(const std::vector<double>& steps, Counterexample& card) {
  constexpr std::size_t kKept = 256;
  if (steps.empty() || !card.differences.empty()) return;
  const std::size_t stride = (steps.size() + kKept - 1) / kKept;
  card.difference_stride = static_cast<int>(stride);
  for (std::size_t i = (steps.size() - 1) % stride; i < steps.size(); i += stride)
    card.differences.push_back(steps[i]);
}

// The oracle's number of an output. A dump may lack others before it.
int output_number(const CaseOracle& oracle, std::string_view name) {
  int number = 0;
  while (number < oracle.outputs() && oracle.output_name(number) != name) ++number;
  return number;
}

const CodePlace* place_of(const Writer& writer, const LaunchResult& launch) {
  const auto found = launch.stores.find(writer.ptx_line);
  return found == launch.stores.end() ? nullptr : &found->second;
}

// What explains all outputs that anything explains, where there is such a fault: the others are
// not told.
void keep_common_faults(const std::vector<NamedFaults>& of_outputs, NamedFaults& faults) {
  const auto is_in_all = [&](const std::string& fault) {
    return std::ranges::all_of(of_outputs, [&](const NamedFaults& of_output) {
      return std::ranges::count(of_output.names, fault) > 0;
    });
  };
  if (of_outputs.size() < 2 || std::ranges::none_of(faults.names, is_in_all)) return;
  faults.keep_if(is_in_all);
}

// The inputs of a case that has few values; else nothing.
std::string few_inputs(const CaseTensors& tensors) {
  constexpr std::int64_t kMostValues = 16;
  std::int64_t values = 0;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < tensors.specs.size(); ++i) {
    if (tensors.specs[i].role != TensorRole::input) continue;
    const Tensor& tensor = tensors.tensors[i];
    const std::int64_t count = tensor.layout.count();
    values += count;
    if (values > kMostValues) return "";
    const Format& stored = format(tensor.layout.format);
    std::vector<std::string> row;
    for (std::int64_t j = 0; j < count; ++j)
      row.push_back(fmt::format("{:.9g}", to_double(stored, tensor.bits(j))));
    all.push_back(count == 1
                      ? fmt::format("{} = {}", tensors.specs[i].name, row.front())
                      : fmt::format("{} = [{}]", tensors.specs[i].name, fmt::join(row, ", ")));
  }
  return all.empty() ? "" : fmt::format("inputs: {}", fmt::join(all, ", "));
}

// The line of code that a wrong output leads to: the one that stored it.
void keep_store(const Writer* writer, const LaunchResult& launch, Counterexample& card) {
  const CodePlace* place = writer == nullptr ? nullptr : place_of(*writer, launch);
  if (place == nullptr || !card.store.kind.empty()) return;
  card.store = {.kind = "wrong value",
                .text = card.headline,
                .ptx_file = place->ptx_file,
                .ptx_line = place->ptx_line,
                .source_file = place->source_file,
                .source_line = place->source_line,
                .inlined_at = place->inlined_at};
}

}  // namespace

std::string stored_by(const LaunchResult& launch, const std::string& output,
                      const TensorLayout& layout, std::int64_t index) {
  const Writer* writer = writer_of(launch, output, layout, index);
  if (writer == nullptr) return "";
  const std::string thread =
      fmt::format("cta {},{},{}, warp {}, lane {}", writer->cta[0], writer->cta[1], writer->cta[2],
                  writer->warp, writer->lane);
  const CodePlace* place = place_of(*writer, launch);
  if (place == nullptr || place->source_file.empty())
    return fmt::format("{} at PTX line {}", thread, writer->ptx_line);
  const auto base = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  std::string text =
      fmt::format("{} at {}:{}", thread, base(place->source_file), place->source_line);
  for (const std::string& call : calls_of(place->inlined_at))
    text += fmt::format("{}{}", kInlinedAt, base(call));
  return text;
}

void drop_faults_of_class(Counterexample& card) {
  const std::size_t fitting = card.faults.names.size();
  if (card.claim != name(Claim::specials) || fitting <= kMostNamedFaults) return;
  card.faults = NamedFaults::none(fmt::format(
      "{} simple faults fit a result of this class: too many to tell which it is", fitting));
}

Counterexample explain_failure(const Case& test_case, const Examined& examined) {
  const CaseRecord& record = examined.record;
  Counterexample card;
  card.kernel = record.kernel;
  if (test_case.kernel->added) card.manifest = test_case.kernel->path;
  card.device = record.device;
  card.claim = name(broken_claim(record));
  card.value_class = record.value_class;
  card.text = record.text;
  const bool memory = broken_claim(record) == Claim::in_bounds;
  // A finding is shown below with its place; the headline only counts.
  card.headline = fmt::format(
      "{}: {}", test_case.problem.text(),
      record.findings.empty() ? record.reason
      : record.findings.size() == 1
          ? "an access no correct kernel makes"
          : fmt::format("accesses no correct kernel makes, at {} places", record.findings.size()));
  card.findings = record.findings;
  const bool is_of_second_call =
      examined.called_again && (memory || !examined.same_when_called_again);
  if (is_of_second_call) {
    card.explanation.emplace_back(
        "this is of a second call, after one with other inputs: the first call was without it, "
        "and a variable of the kernel's module keeps what calls leave in it");
  }
  if (memory) return card;          // values after a wrong access explain nothing
  std::vector<NamedFaults> faults;  // of the outputs that any explain
  bool unexplained = false;         // an output of the wrong class that none explains
  for (const OutputRecord& output : record.outputs) {
    const bool bits = broken_claim(record) == Claim::bits;
    std::vector<ElementVerdict> failures = bits ? output.verdict.others : output.verdict.failures;
    const Tensor* got = examined.tensors.find(output.name);
    if (failures.empty()) continue;
    const ElementVerdict* worst = &most_telling(broken_claim(record), output.verdict);
    // It stands first.
    std::ranges::stable_partition(failures,
                                  [&](const ElementVerdict& e) { return e.index == worst->index; });
    for (std::size_t j = 0; j < std::min(failures.size(), kShownElements); ++j)
      add_element(card.elements, output.name, got->layout, failures[j], bits, examined.launch);
    keep_store(writer_of(examined.launch, output.name, got->layout, worst->index), examined.launch,
               card);
    Explanation explanation =
        examined.oracle->explain(output_number(*examined.oracle, output.name), worst->index, *got);
    if (writer_of(examined.launch, output.name, got->layout, worst->index) != nullptr)
      std::erase(explanation.lines, kNeverWritten);
    std::move(explanation.lines.begin(), explanation.lines.end(),
              std::back_inserter(card.explanation));
    if (bits && all_rounded_once(failures)) {
      card.explanation.push_back(
          "all of these are the exact result, rounded once: more accurate than the contract's "
          "arithmetic. A reference computed in float64 looks like this, and so does a kernel with "
          "wider accumulators than it declares");
    }
    if (worst->got == worst->expected && !worst->class_mismatch) {
      card.explanation.push_back(
          other_steps(*test_case.kernel, element_name(output.name, got->layout, worst->index)));
    }
    keep_steps(explanation.steps, card);
    if (!explanation.faults.empty()) faults.push_back(explanation.faults);
    unexplained |= explanation.faults.empty() && worst->class_mismatch;
    card.faults.add(explanation.faults);
  }
  if (const std::string inputs = few_inputs(examined.tensors); !inputs.empty())
    card.explanation.insert(card.explanation.begin(), inputs);
  keep_common_faults(faults, card.faults);
  if (unexplained && !card.faults.empty())
    card.faults = NamedFaults::none("no simple fault known here gives all outputs that fail");
  if (!card.faults.empty()) card.faults.unnamed.clear();
  return card;
}

}  // namespace plumbline
