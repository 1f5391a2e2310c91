// SPDX-License-Identifier: MIT
// What a manifest says about one problem: entry name, formats, acceptance. Reading one is
// manifest_reader.cpp.
#include "kernels/manifest/manifest.h"

#include "kernels/manifest/bad_input.h"
#include "oracles/base/assert.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace plumbline {
namespace {

// The word or number of a field, as entry names carry it.
std::string field_text(const Problem& problem, std::string_view name) {
  for (const Field& field : problem.schema()) {
    if (field.name != name) continue;
    if (field.kind == FieldKind::word) return std::string(problem.word(name));
    if (field.kind == FieldKind::integer) return fmt::format("{}", problem.integer(name));
  }
  PLUMB_ASSERT(!"the reader checks the names in braces");
  return {};
}

// "gemm_{layout}" with every {field} replaced.
std::string fill_in(std::string_view pattern, const Problem& problem) {
  std::string text;
  while (true) {
    const std::size_t open = pattern.find('{');
    text += pattern.substr(0, open);
    if (open == std::string_view::npos) return text;
    const std::size_t close = pattern.find('}', open);
    PLUMB_ASSERT(close != std::string_view::npos);
    text += field_text(problem, pattern.substr(open + 1, close - open - 1));
    pattern.remove_prefix(close + 1);
  }
}

// The input lies where the output does: it has the output's layout. Either may be missing.
Status share_memory(std::vector<TensorSpec>& specs, const std::string& output,
                    const std::string& input) {
  const auto over = std::ranges::find(specs, output, &TensorSpec::name),
             under = std::ranges::find(specs, input, &TensorSpec::name);
  if (over == specs.end() || under == specs.end()) return {};
  if (over->layout.shape != under->layout.shape || over->layout.format != under->layout.format) {
    return bad_input(
        fmt::format("{} cannot lie in the memory of {}: their shapes or formats differ", output,
                    input),
        "correct in_place, or exclude the problem with a rule of the domain");
  }
  under->layout = over->layout;
  under->pieces = over->pieces;
  over->in_place_of = input;
  return {};
}

// contract() has no way to say that the number of parts cannot be worked out; here it is said,
// before anything is judged by it.
Status check_parts(const PromisedContract& promised, const Problem& problem) {
  if (!promised.parts) return {};
  const Result<std::int64_t> parts = promised.parts->evaluate(problem);
  return parts ? Status() : parts.error();
}

}  // namespace

std::string Manifest::entry(const KernelLaunch& launch, const Problem& problem) const {
  return fill_in(launch.entry, problem);
}

Result<std::vector<TensorSpec>> Manifest::tensors(const Problem& problem) const {
  Result<std::vector<TensorSpec>> specs = operation->tensors(problem, *this);
  if (!specs) return specs;
  const std::string_view moved = problem.word(kOffsetIn);
  for (TensorSpec& spec : *specs) {
    if (moved == kAllTensors || moved == spec.name) {
      spec.layout.offset += problem.integer(kOffset);
      if (const Status usable = spec.layout.check(); !usable) return usable.error();
    }
    spec.pieces = cut(spec.layout);
  }
  for (const auto& [output, input] : in_place) {
    const Status same = share_memory(*specs, output, input);
    if (!same) return same.error();
  }
  for (const auto& [output, own] : promised_for) {
    if (const Status possible = check_parts(own, problem); !possible) return possible.error();
  }
  if (const Status possible = check_parts(promised, problem); !possible) return possible.error();
  if (!workspace) return specs;
  const Result<std::int64_t> elements = workspace->evaluate(problem);
  if (!elements) return elements.error();
  if (*elements < 0) {
    return bad_input(fmt::format("the workspace would have {} elements", *elements),
                     "correct `workspace`, or exclude the problem with a rule of the domain", path);
  }
  TensorLayout layout = dense_layout(FormatId::f32, {*elements});
  if (const Status usable = layout.check(); !usable) return usable.error();
  specs->push_back({std::string(kWorkspace), TensorRole::workspace, std::move(layout)});
  return specs;
}

bool Manifest::hands_over(std::string_view tensor) const {
  const auto is_of_tensor = [&](const KernelValue& value) {
    if (value.type->kind == ValueType::Kind::pointer) return value.name == tensor;
    return value.type->kind == ValueType::Kind::tensor_map &&
           tensor_maps.at(value.name).tensor == tensor;
  };
  return std::ranges::any_of(launches, [&](const KernelLaunch& launch) {
    return std::ranges::any_of(launch.parameters, [&](const KernelParameter& parameter) {
      return std::ranges::any_of(parameter.values, is_of_tensor);
    });
  });
}

Contract Manifest::contract(const Problem& problem, std::string_view output) const {
  const auto own = promised_for.find(std::string(output));
  const PromisedContract& chosen = own == promised_for.end() ? promised : own->second;
  Contract contract = chosen.contract;
  if (chosen.parts) {
    const Result<std::int64_t> parts = chosen.parts->evaluate(problem);
    contract.parts = parts ? std::max<std::int64_t>(*parts, 1) : 1;
  }
  const FormatId stored = tensor_format(output, problem);
  if (std::find(chosen.saturates.begin(), chosen.saturates.end(), stored) !=
      chosen.saturates.end()) {
    contract.output.overflow = Overflow::saturate;
  }
  return contract;
}

std::string Manifest::describe_contract(const Problem& problem, int sm) const {
  std::string words;
  for (const Field& term : operation->terms()) {
    if (!words.empty()) words += ", ";
    words += fmt::format("{} {}", term.name, field_text(terms, term.name));
  }
  const std::string products = describe_products(problem, sm);
  if (!words.empty() && !products.empty()) words += "; ";
  words += products;
  for (const KnownFinding& finding : known) words += fmt::format("; known: {}", finding.reason);
  return words;
}

std::string Manifest::describe_products(const Problem& problem, int sm) const {
  std::string words;
  for (const Operation::Factors& factors : operation->factors()) {
    const std::string one =
        contract(problem, factors.output)
            .describe(sm, operation->factor_format(tensor_format(factors.a, problem)),
                      operation->factor_format(tensor_format(factors.b, problem)));
    if (!words.empty()) words += "; ";
    words += operation->factors().size() == 1 ? one : fmt::format("{}: {}", factors.output, one);
  }
  return words;
}

bool Manifest::deterministic() const {
  return promised.contract.deterministic &&
         std::all_of(promised_for.begin(), promised_for.end(),
                     [](const auto& one) { return one.second.contract.deterministic; });
}

FormatId Manifest::tensor_format(std::string_view tensor, const Problem& problem) const {
  const auto declared = formats.find(std::string(tensor));
  PLUMB_ASSERT(declared != formats.end());
  const std::optional<FormatId> format = format_by_name(fill_in(declared->second, problem));
  PLUMB_ASSERT(format);
  return *format;
}

std::optional<std::string> Manifest::excluded(const Problem& problem) const {
  for (const DomainRule& required : domain) {
    const Result<std::int64_t> accepted = required.condition.evaluate(problem);
    if (!accepted) return accepted.error().text();
    if (*accepted == 0) return required.reason;
  }
  return std::nullopt;
}

std::string Manifest::architecture(int target) const {
  const auto specific = specific_targets.find(target);
  return specific == specific_targets.end() ? fmt::format("{}", target)
                                            : fmt::format("{}{}", target, specific->second);
}

// PTX ISA 9.0, .target: code for sm_90a runs on that chip alone, code for sm_100f on later ones of
// its family too.
bool Manifest::runs_on(int target, int sm) const {
  const auto specific = specific_targets.find(target);
  if (specific == specific_targets.end()) return target <= sm;
  return specific->second == 'a' ? target == sm : target <= sm && target / 10 == sm / 10;
}

std::string Manifest::ptx_path(int sm) const {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!ptx.empty()) return folder / ptx;
  return folder / fmt::format("{}.sm_{}.ptx", name, sm);
}

}  // namespace plumbline
