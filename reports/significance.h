// SPDX-License-Identifier: MIT
// What a report may say of a pattern: nothing that chance would show as well.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace plumbline {

// The exponent of the power law through points (x, y), both positive, by least squares of their
// logarithms, with its 95 % confidence interval (Student's t with n - 2 degrees of freedom).
struct PowerLaw {
  double exponent = 0, low = 0, high = 0;
};

// None for fewer than four points, for points at one x, and where the interval is wider than 1:
// then the points say nothing about an exponent.
std::optional<PowerLaw> power_law(const std::vector<std::pair<double, double>>& points);

// An upper bound of the probability that `marked` places, thrown at random, all fall into some
// `within` of `all` rows: the sum over the choices of rows, at most 1.
double chance_of_confinement(std::size_t marked, std::size_t within, std::size_t all);

// The 95 % interval of a proportion of which `part` of `whole` were seen, by Wilson's score.
struct Proportion {
  double low = 0, high = 1;
};

Proportion wilson_interval(double part, double whole);

}  // namespace plumbline
