// SPDX-License-Identifier: MIT
#include "oracles/stages/gradient_measures.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/formats/ulp.h"
#include "oracles/stages/output_vectors.h"

namespace plumbline {
namespace {

// Of each group of elements, by the number that group_of(index) gives it.
template <typename GroupOf>
std::vector<double> group_differences(const std::vector<double>& exact,
                                      const std::vector<double>& got, std::size_t groups,
                                      const GroupOf& group_of) {
  PLUMB_ASSERT(exact.size() == got.size());
  std::vector<double> squares(groups), differences(groups), out;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(got[i] - exact[i])) continue;
    const std::size_t group = group_of(i);
    squares[group] += exact[i] * exact[i];
    differences[group] += (got[i] - exact[i]) * (got[i] - exact[i]);
  }
  for (std::size_t group = 0; group < groups; ++group)
    if (squares[group] > 0) out.push_back(std::sqrt(differences[group] / squares[group]));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

GradientDifference compare_gradients(const std::vector<double>& exact,
                                     const std::vector<double>& got) {
  GradientDifference out;
  const double square = inner_product(exact, exact);
  if (square == 0) return out;
  const std::vector<double> away = difference(got, exact);
  std::int64_t nonzero = 0, lost = 0, not_finite = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    nonzero += exact[i] != 0;
    not_finite += std::isfinite(exact[i]) && !std::isfinite(got[i]);
    lost += exact[i] != 0 && got[i] == 0;
  }
  const double differences = inner_product(away, away);
  out.relative = std::sqrt(differences / square);
  out.parallel = inner_product(away, exact) / square;
  double rest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double across = away[i] - out.parallel * exact[i];
    if (std::isfinite(across)) rest += across * across;
  }
  out.orthogonal = std::sqrt(rest / square);
  // tan of the angle is orthogonal / (1 + parallel); 1 - cos = tan^2 / (sec (sec + 1)).
  const double tangent = out.orthogonal / (1 + out.parallel);
  const double secant = std::sqrt(1 + tangent * tangent);
  out.cosine_gap =
      1 + out.parallel > 0 ? tangent * tangent / (secant * (secant + 1)) : 1 + 1 / secant;
  out.descent = 1 + out.parallel;
  out.not_finite = static_cast<double>(not_finite) / static_cast<double>(exact.size());
  out.lost = nonzero == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(nonzero);
  return out;
}

std::vector<double> row_differences(const std::vector<double>& exact,
                                    const std::vector<double>& got, std::int64_t width) {
  PLUMB_ASSERT(width > 0);
  const auto columns = static_cast<std::size_t>(width);
  PLUMB_ASSERT(exact.size() % columns == 0);
  return group_differences(exact, got, exact.size() / columns,
                           [&](std::size_t i) { return i / columns; });
}

std::vector<double> column_differences(const std::vector<double>& exact,
                                       const std::vector<double>& got, std::int64_t height,
                                       std::int64_t width) {
  PLUMB_ASSERT(height > 0 && width > 0);
  const auto columns = static_cast<std::size_t>(width),
             block = static_cast<std::size_t>(height) * columns;
  PLUMB_ASSERT(exact.size() % block == 0);
  return group_differences(exact, got, exact.size() / block * columns,
                           [&](std::size_t i) { return i / block * columns + i % columns; });
}

double quantile(const std::vector<double>& ascending, double share) {
  if (ascending.empty()) return 0;
  const double place = share * static_cast<double>(ascending.size() - 1);
  return ascending[static_cast<std::size_t>(std::ceil(place))];
}

void BiasStatistic::add(const std::vector<double>& difference) {
  sum_.resize(difference.size());
  squares_.resize(difference.size());
  ++draws_;
  for (std::size_t i = 0; i < difference.size(); ++i) {
    sum_[i] += difference[i];
    squares_[i] += difference[i] * difference[i];
  }
  norms_ += inner_product(difference, difference);
}

double BiasStatistic::value() const {
  PLUMB_ASSERT(draws_ >= 2);
  if (norms_ == 0) return 0;
  return (inner_product(sum_, sum_) - norms_) / (static_cast<double>(draws_ - 1) * norms_);
}

double BiasStatistic::noise() const {
  // Elements with variances v_i: <d_r, d_s> has variance sum v_i^2, so D = (sum v_i)^2 / sum v_i^2.
  const auto draws = static_cast<double>(draws_);
  const double fourth = inner_product(squares_, squares_);
  if (fourth == 0) return 0;
  return std::sqrt(2 / (draws * (draws - 1)) * fourth) / norms_;
}

void DrawSpread::add(const std::vector<double>& exact, const std::vector<double>& got) {
  ++draws_;
  sum_.resize(exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) sum_[i] += exact[i];
  norms_ += inner_product(exact, exact);
  const std::vector<double> away = difference(got, exact);
  differences_ += inner_product(away, away);
}

double DrawSpread::value() const {
  PLUMB_ASSERT(draws_ >= 2);
  const auto draws = static_cast<double>(draws_);
  const double trace = (norms_ - inner_product(sum_, sum_) / draws) / (draws - 1);
  return differences_ == 0 ? 0 : differences_ / draws / std::max(trace, 0.0);
}

void AdamComparison::State::step(const std::vector<double>& gradient, std::int64_t time) {
  constexpr double kMeanDecay = 0.9, kSquareDecay = 0.999, kEpsilon = 1e-8;
  mean.resize(gradient.size());
  square.resize(gradient.size());
  update.resize(gradient.size());
  const auto steps = static_cast<double>(time);
  const double mean_seen = 1 - std::pow(kMeanDecay, steps),
               square_seen = 1 - std::pow(kSquareDecay, steps);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    mean[i] = kMeanDecay * mean[i] + (1 - kMeanDecay) * gradient[i];
    square[i] = kSquareDecay * square[i] + (1 - kSquareDecay) * gradient[i] * gradient[i];
    update[i] = mean[i] / mean_seen / (std::sqrt(square[i] / square_seen) + kEpsilon);
  }
}

void AdamComparison::step(const std::vector<double>& exact, const std::vector<double>& got) {
  ++time_;
  std::vector<double> finite = got;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!std::isfinite(got[i])) finite[i] = exact[i];
  exact_.step(exact, time_);
  got_.step(finite, time_);
}

double AdamComparison::difference() const {
  double squares = 0, differences = 0;
  for (std::size_t i = 0; i < exact_.update.size(); ++i) {
    squares += exact_.update[i] * exact_.update[i];
    differences += (got_.update[i] - exact_.update[i]) * (got_.update[i] - exact_.update[i]);
  }
  return squares == 0 ? 0 : std::sqrt(differences / squares);
}

double AdamComparison::flips() const {
  double all = 0, flipped = 0;
  for (std::size_t i = 0; i < exact_.update.size(); ++i) {
    const double size = std::fabs(exact_.update[i]);
    all += size;
    if (exact_.update[i] * got_.update[i] < 0) flipped += size;
  }
  return all == 0 ? 0 : flipped / all;
}

double AdamComparison::stagnation_rate(const std::vector<double>& weights,
                                       const Format& format) const {
  PLUMB_ASSERT(weights.size() == exact_.update.size());
  std::vector<double> rates;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double update = std::fabs(exact_.update[i]);
    if (update > 0) rates.push_back(ulp(format, weights[i]) / 2 / update);
  }
  const double size = root_mean_square(weights);
  if (rates.empty() || size == 0) return 0;
  std::sort(rates.begin(), rates.end());
  return quantile(rates, 0.5) / size;
}

}  // namespace plumbline
