// SPDX-License-Identifier: MIT
#include "oracles/reference/quantize/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/ulp.h"
#include "oracles/reference/describe_errors.h"
#include "oracles/reference/output_tally.h"
#include "oracles/reference/quantize/faults.h"

namespace plumbline {
namespace {

enum Output { kCodes, kScales, kMaxima };

constexpr double kLeastScale = 0x1p-126;

float maximum_without_nan(const QuantizeProblem& problem, std::int64_t group) {
  float largest = 0;
  for (std::int64_t i = 0; i < problem.m; ++i) {
    for (std::int64_t j = 0; j < problem.n; ++j) {
      const float x = std::fabs(problem.element(i, j));
      if (problem.group_of(i, j) == group && x > largest) largest = x;
    }
  }
  return largest;
}

// Whether two codes stand for the same result.
bool same(const Format& f, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  const double x = to_double(f, a), y = to_double(f, b);
  return std::isnan(x) ? std::isnan(y) : x == y;
}

// NaN, infinity and numbers; zeros and subnormals are numbers.
bool same_class(const Format& f, std::uint64_t a, std::uint64_t b) {
  const double x = to_double(f, a), y = to_double(f, b);
  return std::isnan(x) == std::isnan(y) && std::isinf(x) == std::isinf(y);
}

bool finite(const Format& f, std::uint64_t bits) { return std::isfinite(to_double(f, bits)); }

}  // namespace

QuantizeOracle::QuantizeOracle(const QuantizeProblem& problem)
    : problem_(problem), limit_(problem.limit()), maxima_(quantize_maxima(problem)) {
  for (const float amax : maxima_) scales_.push_back(quantize_scale(amax, limit_));
}

std::string QuantizeOracle::output_name(int output) const {
  static constexpr const char* kNames[] = {"q", "scale", "amax"};
  return kNames[output];
}

QuantizeOracle::Place QuantizeOracle::place(std::int64_t index) const {
  const std::int64_t i = index / problem_.n, j = index % problem_.n;
  return {i, j, static_cast<std::size_t>(problem_.group_of(i, j))};
}

const Format& QuantizeOracle::output_format(int output) const {
  return format(output == kCodes ? problem_.code : FormatId::f32);
}

std::uint64_t QuantizeOracle::due(int output, std::int64_t index) const {
  if (output == kCodes) {
    const Place at = place(index);
    return quantize_code(output_format(kCodes),
                         quantize_argument(problem_.rule, problem_.element(at.i, at.j),
                                           scales_[at.group], maxima_[at.group], limit_));
  }
  const auto group = static_cast<std::size_t>(index);
  const float value = output == kScales ? scales_[group] : maxima_[group];
  return encode(format(FormatId::f32), static_cast<double>(value));
}

std::uint64_t QuantizeOracle::defined(int output, std::int64_t index) const {
  if (output == kCodes) {
    const Place at = place(index);
    return defined_code(problem_, problem_.element(at.i, at.j), scales_[at.group],
                        maxima_[at.group]);
  }
  const auto group = static_cast<std::size_t>(index);
  return output == kScales ? defined_scale(maxima_[group], limit_)
                           : defined_maximum(problem_, index);
}

double QuantizeOracle::exact(int output, std::int64_t index) const {
  if (output == kCodes) {
    const Place at = place(index);
    const auto x = static_cast<double>(problem_.element(at.i, at.j)),
               amax = static_cast<double>(maxima_[at.group]);
    if (problem_.rule == QuantizeRule::multiply_limit)
      return amax == 0 ? x : x * (static_cast<double>(limit_) / amax);
    return x / static_cast<double>(scales_[at.group]);
  }
  const auto group = static_cast<std::size_t>(index);
  const auto amax = static_cast<double>(maxima_[group]);
  if (output == kMaxima) return amax;
  return amax == 0 ? 1.0
                   : std::max(amax / static_cast<double>(limit_), kLeastScale);  // NaN stays NaN
}

ElementVerdict QuantizeOracle::verdict(int output, std::int64_t index, std::uint64_t got,
                                       std::uint64_t right) const {
  const Format& f = output_format(output);
  ElementVerdict verdict;
  verdict.index = index;
  verdict.got = got;
  verdict.expected = verdict.low = verdict.high = right;
  verdict.pass = same(f, got, right);
  verdict.class_mismatch = !verdict.pass && !same_class(f, got, right);
  verdict.exact = exact(output, index);
  const double stored = to_double(f, got);
  const bool saturated = finite(f, right) && got == right &&
                         std::fabs(stored) >= static_cast<double>(limit_) && output == kCodes;
  verdict.error_ulp = !std::isfinite(stored) || !std::isfinite(verdict.exact) ? kNan
                      : saturated                                             ? 0.0
                                  : (stored - verdict.exact) / ulp(f, verdict.exact);
  verdict.share = verdict.pass ? 0.0 : std::numeric_limits<double>::infinity();
  return verdict;
}

ElementVerdict QuantizeOracle::element(int output, std::int64_t index, std::uint64_t got) const {
  return verdict(output, index, got, due(output, index));
}

std::vector<double> QuantizeOracle::reference_values(int output, Reference, int) const {
  const std::size_t count =
      output == kCodes ? static_cast<std::size_t>(problem_.m * problem_.n) : maxima_.size();
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = exact(output, static_cast<std::int64_t>(i));
  return values;
}

OutputVerdict QuantizeOracle::judge(int output, const Tensor& got,
                                    const JudgeOptions& options) const {
  const Format& f = output_format(output);
  const std::int64_t count = got.layout.count();
  OutputTally tally;
  for (std::int64_t index = 0; index < count; ++index) {
    const std::uint64_t bits = got.bits(index);
    const std::uint64_t right = options.mpfr_bits > 0 ? defined(output, index) : due(output, index);
    tally.add_element(f, verdict(output, index, bits, right), true);
  }
  OutputVerdict out = tally.verdict(count);
  Random random(options.seed);
  for (std::int64_t i = 0; i < options.referee_samples && count > 0; ++i) {
    const auto index = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
    ++out.refereed;
    out.disagreements += !same(f, defined(output, index), due(output, index));
  }
  return out;
}

Explanation QuantizeOracle::explain(int output, std::int64_t index, const Tensor& got) const {
  Explanation out;
  const Format& f = output_format(output);
  const std::uint64_t right = due(output, index);
  if (output != kCodes) {
    out.lines.push_back(fmt::format("{} is {}; {} is due", output_name(output),
                                    number_text(to_double(f, got.bits(index)), 9),
                                    number_text(to_double(f, right), 9)));
    const float maximum = maximum_without_nan(problem_, index);
    const float without = output == kMaxima ? maximum : quantize_scale(maximum, limit_);
    if (std::isnan(maxima_[static_cast<std::size_t>(index)]) &&
        to_double(f, got.bits(index)) == static_cast<double>(without)) {
      out.faults.names = {"NaN elements were left out of the maximum"};
    }
    return out;
  }
  const Place at = place(index);
  const float x = problem_.element(at.i, at.j);
  out.lines.push_back(fmt::format("x is {}; its group has amax {} and scale {}",
                                  number_text(static_cast<double>(x), 9),
                                  number_text(static_cast<double>(maxima_[at.group]), 9),
                                  number_text(static_cast<double>(scales_[at.group]), 9)));
  const float argument =
      quantize_argument(problem_.rule, x, scales_[at.group], maxima_[at.group], limit_);
  out.lines.push_back(fmt::format(
      "{} is {} in f32, whose nearest code is {:#x} ({}); the kernel stored {:#x} ({})",
      quantize_rule_words()[static_cast<std::size_t>(problem_.rule)],
      number_text(static_cast<double>(argument), 9), right, number_text(to_double(f, right), 6),
      got.bits(index), number_text(to_double(f, got.bits(index)), 6)));
  out.faults = quantize_faults(problem_, maxima_, scales_, got);
  return out;
}

}  // namespace plumbline
