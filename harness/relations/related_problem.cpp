// SPDX-License-Identifier: MIT
#include "harness/relations/related_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/manifest/manifest.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

const Format& format_of(const Tensor& tensor) { return format(tensor.layout.format); }

// The value of a field in canonical text.
std::string field_text(const Problem& problem, const Field& field) {
  switch (field.kind) {
    case FieldKind::integer:
      return fmt::format("{}", problem.integer(field.name));
    case FieldKind::word:
      return std::string(problem.word(field.name));
    case FieldKind::real:
      break;
  }
  return real_field(problem.real(field.name));
}

// All fields, some replaced.
std::string edited_fields(const Problem& problem, const std::vector<FieldEdit>& edits) {
  std::string text;
  for (const Field& field : problem.schema()) {
    const auto edit = std::find_if(edits.begin(), edits.end(),
                                   [&](const auto& e) { return e.first == field.name; });
    text += fmt::format("{}={} ", field.name,
                        edit == edits.end() ? field_text(problem, field) : edit->second);
  }
  return text;
}

std::int64_t itself(std::int64_t index) { return index; }

// Sets every element to edit(bits of the other's); false where edit() has nothing to give.
template <typename Edit>
bool edit_elements(const Tensor& from, Tensor& to, const Edit& edit) {
  for (std::int64_t i = 0; i < to.layout.count(); ++i) {
    const std::optional<std::uint64_t> bits = edit(from.bits(i));
    if (!bits) return false;
    to.set_bits(i, *bits);
  }
  return true;
}

template <typename Editor>
bool edit_inputs(const CaseTensors& from, CaseTensors& to, Names names, const Editor& editor) {
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    const Tensor* before = from.find(name);
    return !before || editor(*before, *to.find(name));
  });
}

}  // namespace

std::string real_field(float value) {
  return fmt::format("0x{:08x}", std::bit_cast<std::uint32_t>(value));
}

RelatedRun same_problem(const Case& test_case, const CaseTensors& tensors) {
  return {test_case, tensors, {}};
}

std::optional<RelatedRun> other_problem(const Case& test_case, const CaseTensors& tensors,
                                        const std::vector<FieldEdit>& edits) {
  const Manifest& kernel = *test_case.kernel;
  const Result<Problem> problem =
      parse_problem(kernel.schema(), edited_fields(test_case.problem, edits));
  if (!problem || kernel.excluded(*problem)) return std::nullopt;
  Result<std::vector<TensorSpec>> specs = kernel.tensors(*problem);
  if (!specs) return std::nullopt;
  RelatedRun run;
  run.test_case = test_case;
  run.test_case.problem = *problem;
  for (TensorSpec& spec : *specs) {
    Tensor& tensor = run.tensors.tensors.emplace_back(spec.layout);
    if (spec.role == TensorRole::input) {  // zeros, but for what no element reaches
      fill_padding(tensor);
      for (std::int64_t i = 0; i < tensor.layout.count(); ++i) tensor.set_bits(i, 0);
    }
    const Tensor* same = spec.role == TensorRole::input ? tensors.find(spec.name) : nullptr;
    run.tensors.specs.push_back(std::move(spec));
    if (same && same->layout.shape == tensor.layout.shape && !rearrange(*same, tensor, itself))
      return std::nullopt;
  }
  return run;
}

bool rearrange(const Tensor& from, Tensor& to, const Source& source) {
  const std::int64_t count = to.layout.count();
  for (std::int64_t i = 0; i < count; ++i) to.set_bits(i, from.bits(source(i)));
  for (std::int64_t i = 0; i < count; ++i) {
    if (to.bits(i) != from.bits(source(i))) return false;
  }
  return true;
}

bool negate(const Tensor& from, Tensor& to) {
  const Format& f = format_of(from);
  if (f.is_integer) {
    return edit_elements(from, to, [&](std::uint64_t bits) -> std::optional<std::uint64_t> {
      const double opposite = -to_double(f, bits);
      const std::uint64_t code = encode(f, opposite);
      if (to_double(f, code) != opposite) return std::nullopt;  // -(-128)
      return code;
    });
  }
  if (!f.has_sign) return false;
  const std::uint64_t sign = std::uint64_t{1} << (f.code_bits() - 1 + f.padding_bits);
  return edit_elements(from, to, [&](std::uint64_t bits) { return std::optional(bits ^ sign); });
}

bool multiply(const Tensor& from, Tensor& to, double factor) {
  const Format& f = format_of(from);
  return edit_elements(from, to, [&](std::uint64_t bits) -> std::optional<std::uint64_t> {
    const double product = factor * to_double(f, bits);
    const std::uint64_t code = encode(f, product);
    if (!std::isfinite(product) || to_double(f, code) != product) return std::nullopt;
    return code;
  });
}

void fill(Tensor& tensor, double value) {
  const std::uint64_t bits = encode(format_of(tensor), value);
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i) tensor.set_bits(i, bits);
}

Source reversed(std::int64_t length, std::int64_t inner) {
  return [=](std::int64_t i) { return i + (length - 1 - 2 * (i / inner % length)) * inner; };
}

bool negate(const CaseTensors& from, CaseTensors& to, Names names) {
  return edit_inputs(from, to, names,
                     [](const Tensor& before, Tensor& after) { return negate(before, after); });
}

bool multiply(const CaseTensors& from, CaseTensors& to, double factor, Names names) {
  return edit_inputs(from, to, names, [&](const Tensor& before, Tensor& after) {
    return multiply(before, after, factor);
  });
}

bool odd(const Contract& contract, FormatId output) {
  const Rounding rounding = contract.output.rounding;
  const bool same_both_ways = rounding == Rounding::nearest_even ||
                              rounding == Rounding::nearest_away ||
                              rounding == Rounding::toward_zero;
  return contract.odd_symmetric && same_both_ways && !format(output).is_integer;
}

bool alike_everywhere(const Contract& contract) {
  return contract.position_independent && contract.output.rounding != Rounding::stochastic;
}

bool same_order(const Case& before, const Case& after, std::string_view output) {
  const Contract one = before.kernel->contract(before.problem, output),
                 other = after.kernel->contract(after.problem, output);
  if (one.order_is_open()) return false;
  const bool split = one.schedule == Schedule::split_k;
  if (split && (one.join != Join::f32_ordered || one.parts != other.parts)) return false;
  return one.unit == other.unit && one.instruction == other.instruction &&
         one.schedule == other.schedule && one.interval == other.interval && one.join == other.join;
}

Relation negating(std::string_view id, std::string_view words, std::vector<std::string> inputs,
                  std::vector<Follow> outputs) {
  return {id, words,
          [=](const Case& test_case, const CaseTensors& tensors) -> std::optional<RelatedRun> {
            const Contract& contract = promises(test_case);
            RelatedRun run = same_problem(test_case, tensors);
            for (const std::string& input : inputs) {
              const Tensor* before = tensors.find(input);
              if (before && !negate(*before, *run.tensors.find(input))) return std::nullopt;
            }
            for (const Follow& output : outputs) {
              const Tensor* there = tensors.find(output.output);
              if (there == nullptr) continue;  // not every problem has all of them
              if (output.factor == -1 && !odd(contract, there->layout.format)) return std::nullopt;
              run.outputs.push_back(output);
            }
            return run;
          }};
}

}  // namespace plumbline
