// SPDX-License-Identifier: MIT
// The table of value classes. What a class means for the tensors of an operation is in that
// operation's generator.
#include "fuzz/case/values.h"

#include <algorithm>
#include <array>

#include "fuzz/case/generator.h"

namespace plumbline {

namespace {

constexpr std::array kValueClasses = {
    ValueClassInfo{
        "normal",
        "unit normal data, as most tests use: the baseline, and what the population tests want"},
    ValueClassInfo{"positive",
                   "every value positive: sums only grow, so truncating accumulators and dropped "
                   "terms show as bias"},
    ValueClassInfo{"ones", "all ones: the result counts the terms that were added"},
    ValueClassInfo{
        "outliers",
        "a few channels 20 to 100 times larger and single massive entries, as in real activations"},
    ValueClassInfo{"offset_keys",
                   "keys with a large vector in common, as in real models: scores whose "
                   "differences are small beside them, and keys that need smoothing in 8 bits"},
    ValueClassInfo{"cancelling",
                   "large terms along k that cancel to a small sum: partial sums kept or joined "
                   "too narrow lose it"},
    ValueClassInfo{"wide",
                   "exponents spread over up to 2^80: alignment and truncation of small products"},
    ValueClassInfo{"early_large",
                   "one large early product, then small ones of the same sign: a narrow "
                   "accumulator loses them"},
    ValueClassInfo{"width_ladder",
                   "odd integer sums just above 2^8, 2^11, 2^14, 2^22, 2^24: the first wrong rung "
                   "names the accumulator's width"},
    ValueClassInfo{"subnormal", "subnormal inputs and products: units that flush them to zero"},
    ValueClassInfo{"large",
                   "magnitudes near the top of f32, or of the integers: accumulators that overflow "
                   "early, late "
                   "or not at all"},
    ValueClassInfo{"specials",
                   "a few NaN, Inf and -0 among normal data: they must reach exactly the outputs "
                   "they belong to",
                   false, true},
    ValueClassInfo{"zero_slices",
                   "NaN and Inf in one operand against slices of zeros in the other: a kernel that "
                   "skips tiles of zeros loses them",
                   false, true},
    ValueClassInfo{"integers", "small integers whose sums stay below 2^24: every output is exact",
                   true},
    ValueClassInfo{"power_scaled",
                   "integers with rows and columns scaled by powers of two: a row or column taken "
                   "for another is off by a factor"},
    ValueClassInfo{"one_hot",
                   "rows that select one k: each output row must equal a row of the other operand"},
    ValueClassInfo{"index_code",
                   "elements that hold their own position, selected one by one: a wrong output "
                   "names the element that was read",
                   true},
    ValueClassInfo{"ties",
                   "sums on and next to midpoints between output values: truncation, ties away, "
                   "double rounding"},
    ValueClassInfo{
        "midpoints",
        "quotients exactly on midpoints between codes, by scales that are powers of two"},
    ValueClassInfo{"zero_groups",
                   "a tensor, rows and blocks without any but zeros: scales that divide by zero"},
    ValueClassInfo{"maxima",
                   "largest magnitudes at and next to powers of two and multiples of the largest "
                   "code: scales rounded wrong, codes past the limit"},
    ValueClassInfo{"edge_maxima",
                   "negative maxima at the ends of rows, blocks and tensors: elements that a "
                   "reduction leaves out, and maxima taken without magnitudes"},
    ValueClassInfo{"low_scores",
                   "scores around -100: keys past the end that are scored 0 outweigh all others"},
    ValueClassInfo{"lowest_scores",
                   "scores around -1e5, where only differences from the maximum can be exponents"},
    ValueClassInfo{"high_scores",
                   "scores between 30 and 100: exponentials without the maximum overflow"},
    ValueClassInfo{"rising_scores",
                   "scores that rise along the keys: every tile raises the maximum, and all sums "
                   "must be rescaled"},
    ValueClassInfo{"falling_scores",
                   "scores that fall along the keys: the first tile has the maximum, late weights "
                   "vanish"},
    ValueClassInfo{"last_key_highest",
                   "the last key outweighs all others: it must count, and the sums before it must "
                   "be rescaled"},
    ValueClassInfo{"huge_scores",
                   "rows with scores in the tens to ten thousands: rounded exponents, one key "
                   "that takes all"},
    ValueClassInfo{"equal_scores",
                   "all keys of a row alike: outputs are means of integers, exact for powers of "
                   "two, and wrong as soon as a key is missed or added"},
    ValueClassInfo{"hidden_keys",
                   "keys, tiles and whole rows hidden by a bias of -inf, or by scores so low that "
                   "weights are 0"},
    ValueClassInfo{"head_constants",
                   "one value for all of a head's V: outputs name the head that was read, and "
                   "show weights that do not add up to 1"},
    ValueClassInfo{"identity_values",
                   "V that selects a key per column: the output shows the weights themselves"},
    ValueClassInfo{"zero_gradient",
                   "no gradient comes in: all gradients are 0, not what their memory held before"},
    ValueClassInfo{"parallel_gradient",
                   "gradients along the output: dP and delta cancel, so that a missing or rounded "
                   "delta shows"},
    ValueClassInfo{"late_gradient",
                   "small gradients in the last rows only: gradients of the last tiles that are "
                   "dropped show"},
    ValueClassInfo{"offset_rows",
                   "rows with a large mean and a small spread: variances that cancel, sums "
                   "without the mean or the maximum subtracted"},
    ValueClassInfo{"gate_levels",
                   "gates far below zero, at silu's minimum, at 0, at both ends of the exponential "
                   "and far above: other branches, flushes and overflows of the activation"},
    ValueClassInfo{"equal_rows",
                   "rows of one value each, one of eight of zeros: no spread at all, so that "
                   "outputs are exact, and wrong "
                   "as soon as a column is missed or added"},
};

}  // namespace

std::span<const ValueClassInfo> value_classes() { return kValueClasses; }

const ValueClassInfo* find_value_class(std::string_view name) {
  for (const ValueClassInfo& info : kValueClasses) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::vector<ValueClassInfo> value_classes(const Operation& operation) {
  std::vector<ValueClassInfo> infos;
  for (const std::string_view name : generator_of(operation).value_classes()) {
    infos.push_back(*find_value_class(name));
  }
  return infos;
}

bool has_value_class(const Operation& operation, std::string_view name) {
  const auto names = generator_of(operation).value_classes();
  return std::find(names.begin(), names.end(), name) != names.end();
}

void fill_inputs(const Case& test_case, CaseTensors& tensors) {
  generator_of(*test_case.kernel->operation).fill(test_case, tensors);
}

}  // namespace plumbline
