// SPDX-License-Identifier: MIT
#include "reports/significance.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace plumbline {

std::optional<PowerLaw> power_law(const std::vector<std::pair<double, double>>& points) {
  if (points.size() < 4) return std::nullopt;
  const auto n = static_cast<double>(points.size());
  double mean_x = 0, mean_y = 0;
  for (const auto& [x, y] : points) mean_x += std::log(x) / n, mean_y += std::log(y) / n;
  double xx = 0, xy = 0, yy = 0;
  for (const auto& [x, y] : points) {
    const double a = std::log(x) - mean_x, b = std::log(y) - mean_y;
    xx += a * a, xy += a * b, yy += b * b;
  }
  if (!(xx > 0)) return std::nullopt;
  PowerLaw law;
  law.exponent = xy / xx;
  const double residual = std::max(0.0, yy - law.exponent * xy);
  const double error = std::sqrt(residual / (n - 2) / xx);
  const double half = error * boost::math::quantile(boost::math::students_t(n - 2), 0.975);
  if (half > 0.5) return std::nullopt;
  law.low = law.exponent - half;
  law.high = law.exponent + half;
  return law;
}

double chance_of_confinement(std::size_t marked, std::size_t within, std::size_t all) {
  if (within >= all || marked == 0) return 1;
  const auto n = static_cast<double>(all), k = static_cast<double>(within);
  const double choices = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
  return std::min(1.0, std::exp(choices + static_cast<double>(marked) * std::log(k / n)));
}

Proportion wilson_interval(double part, double whole) {
  if (!(whole > 0)) return {};
  constexpr double kZ = 1.959963984540054;
  const double share = part / whole, square = kZ * kZ / whole;
  const double center = (share + square / 2) / (1 + square);
  const double half =
      kZ * std::sqrt(share * (1 - share) / whole + square / (4 * whole)) / (1 + square);
  return {std::max(0.0, center - half), std::min(1.0, center + half)};
}

}  // namespace plumbline
