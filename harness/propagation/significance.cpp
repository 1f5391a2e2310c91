// SPDX-License-Identifier: MIT
#include "harness/propagation/significance.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

constexpr double kProbability = 0.99, kConfidence = 0.95;
// A mean that is off by half a deviation: chance leaves less than a hundredth of one on a thousand
// elements and 32 draws, one truncation instead of a rounding makes sqrt(1.5).
constexpr double kBiased = 0.5;
// Most of the bias goes one way.
constexpr double kInward = 0.5;
// What deviation / bound should be. A moved rounding deviates by no more than the bound of a right
// one; 2, because a deviation of few draws is not exact.
constexpr double kLittle = 1e-3, kMuch = 2;
// Exact values are doubles: differences below this part of the largest are theirs.
constexpr double kReference = 0x1p-44;

double bits_of(double error, double mean) {
  return error == 0 ? kInfinity : -std::log2(error / std::fabs(mean));
}

// The value below which this part of them lies; infinity counts.
double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

std::string bias_sentence(const StochasticRecord& record) {
  std::string words =
      fmt::format("Biased: the mean of the draws is {:.1f} deviations off", record.bias);
  if (record.toward_zero > kInward) words += ", toward zero, as truncation makes it";
  if (record.toward_zero < -kInward) words += ", away from zero";
  if (std::isnan(record.unbiased_nodes_bias)) return words + ".";
  if (is_biased(record.unbiased_nodes_bias)) {
    return words + fmt::format(
                       "; {:.1f} are left when tensor cores round to nearest, so it is not "
                       "they alone.",
                       record.unbiased_nodes_bias);
  }
  return words + "; it goes when tensor cores round to nearest: it is their truncation.";
}

}  // namespace

double bits_uncertainty(std::int64_t draws, double probability, double confidence) {
  const auto freedom = static_cast<double>(draws - 1);
  const double chi = quantile(boost::math::chi_squared(freedom), (1 - confidence) / 2);
  const double z = quantile(boost::math::normal(), (1 + probability) / 2);
  return 0.5 * std::log2(freedom / chi) + std::log2(z);
}

double shared_probability(std::int64_t draws, double confidence) {
  return std::pow(1 - confidence, 1 / static_cast<double>(draws));
}

void DrawTally::add(const Tensor& output) {
  const auto count = static_cast<std::size_t>(output.layout.count());
  const Format& f = format(output.layout.format);
  const bool is_first = draws_++ == 0;
  if (is_first) {
    first_.resize(count);
    for (std::vector<double>* each : {&sum_, &squares_, &low_, &high_}) each->assign(count, 0);
    not_finite_.assign(count, false);
  }
  PLUMB_ASSERT(count == first_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const double value = to_double(f, output.bits(static_cast<std::int64_t>(i)));
    if (is_first) first_[i] = value;
    const double moved = value - first_[i];
    if (!std::isfinite(moved)) {
      not_finite_[i] = true;
      continue;
    }
    sum_[i] += moved;
    squares_[i] += moved * moved;
    low_[i] = std::min(low_[i], moved);
    high_[i] = std::max(high_[i], moved);
  }
}

DrawTally::Spread DrawTally::spread(std::size_t element) const {
  const auto n = static_cast<double>(draws_);
  const double mean = sum_[element] / n;
  const double variance = (squares_[element] - n * mean * mean) / (n - 1);
  // The same value every time is no deviation, also where the division was rounded.
  const bool steady = low_[element] == high_[element];
  return {first_[element] + mean, steady ? 0 : std::sqrt(std::max(0.0, variance)),
          std::max(high_[element] - mean, mean - low_[element])};
}

MeanBias mean_bias(const DrawTally& tally, const std::vector<double>& exact) {
  double largest = 0;
  for (const double value : exact)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  double off = 0, variance = 0, inward = 0, apart = 0;
  for (std::size_t i = 0; i < tally.elements(); ++i) {
    if (!tally.finite(i) || !std::isfinite(exact[i])) continue;
    const DrawTally::Spread spread = tally.spread(i);
    const double difference = spread.mean - exact[i];
    variance += spread.deviation * spread.deviation;
    if (std::fabs(difference) <= kReference * largest) continue;
    off += difference * difference;
    inward -= std::copysign(difference, difference * exact[i]);
    apart += std::fabs(difference);
  }
  // A mean of n draws differs from what they are draws of by variance / n.
  off -= variance / static_cast<double>(tally.draws());
  MeanBias out;
  // Where nothing moves, deviations are no measure.
  if (off > 0 && variance > 0) out.bias = std::sqrt(off / variance);
  if (apart > 0) out.toward_zero = inward / apart;
  return out;
}

StochasticRecord significance(const DrawTally& tally, const std::vector<double>& exact,
                              const std::vector<ElementBound>& bounds) {
  PLUMB_ASSERT(exact.size() == tally.elements() && tally.draws() > 1);
  StochasticRecord record;
  record.draws = tally.draws();
  std::vector<double> bits, shared, parts;
  double variance = 0, magnitude = 0;
  for (std::size_t i = 0; i < tally.elements(); ++i) {
    if (!tally.finite(i) || !std::isfinite(exact[i])) continue;
    const DrawTally::Spread spread = tally.spread(i);
    ++record.elements;
    record.steady += spread.deviation == 0 ? 1 : 0;
    bits.push_back(bits_of(spread.deviation, spread.mean));
    shared.push_back(bits_of(spread.farthest, spread.mean));
    variance += spread.deviation * spread.deviation;
    magnitude += exact[i] * exact[i];
  }
  for (const ElementBound& each : bounds) {
    if (tally.finite(each.element) && each.bound > 0)
      parts.push_back(tally.spread(each.element).deviation / each.bound);
  }
  record.bits = quantile(bits, 0.5);
  record.bits_low = quantile(bits, 0.1);
  record.shared_bits = quantile(shared, 0.5);
  record.uncertainty = bits_uncertainty(tally.draws(), kProbability, kConfidence);
  record.shared_probability = shared_probability(tally.draws(), kConfidence);
  record.deviation = magnitude == 0 ? 0 : std::sqrt(variance / magnitude);
  record.of_bound = parts.empty() ? std::nan("") : quantile(parts, 0.5);
  const MeanBias found = mean_bias(tally, exact);
  record.bias = found.bias;
  record.toward_zero = found.toward_zero;
  record.unbiased_nodes_bias = std::nan("");
  return record;
}

bool is_biased(double bias) { return bias > kBiased; }

std::vector<std::string> significance_findings(const StochasticRecord& record) {
  std::vector<std::string> findings;
  if (record.steady == record.elements) {
    findings.emplace_back(
        "Every draw gives the same bits: no rounding that was moved reaches the output.");
  } else if (std::isinf(record.bits)) {
    findings.push_back(fmt::format("{} of {} elements are the same in every draw.", record.steady,
                                   record.elements));
  } else {
    findings.push_back(fmt::format(
        "{:.1f} significant bits (the median element; {:.1f} in 99 % of runs, with 95 % "
        "confidence), {:.1f} or less in one element of ten.",
        record.bits, record.bits - record.uncertainty, record.bits_low));
  }
  if (record.of_bound > kMuch) {
    findings.push_back(fmt::format(
        "Random rounding moves the output by {:.1f} times its bound: the kernel rounds more often, "
        "or to fewer bits, than its contract says, or the contract fixes roundings that were "
        "moved.",
        record.of_bound));
  } else if (record.of_bound > 0 && record.of_bound < kLittle) {
    findings.push_back(
        fmt::format("The bound is {:.0f} times what random rounding does.", 1 / record.of_bound));
  }
  if (is_biased(record.bias)) findings.push_back(bias_sentence(record));
  return findings;
}

}  // namespace plumbline
