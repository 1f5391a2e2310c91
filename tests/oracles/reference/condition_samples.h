// SPDX-License-Identifier: MIT
// Condition numbers against what changes of the inputs really do.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/tensor.h"

namespace plumbline::testing {

// What the elements stand for times 1 + or - `change`, in f32.
inline Tensor perturbed(const Tensor& from, double change, std::uint64_t seed, double scale = 1) {
  Tensor to(dense_layout(FormatId::f32, from.layout.shape));
  Random random(seed);
  for (std::int64_t n = 0; n < from.layout.count(); ++n) {
    const double value = scale * to_double(format(from.layout.format), from.bits(n));
    to.set_bits(
        n, encode(format(FormatId::f32), value * (1 + (random.below(2) == 0 ? change : -change))));
  }
  return to;
}

// The most of what its condition number allows that any element has moved.
inline double share_of_condition(const std::vector<double>& exact, const std::vector<double>& moved,
                                 const std::vector<double>& condition, double change) {
  double largest = 0;
  for (std::size_t n = 0; n < exact.size(); ++n) {
    if (exact[n] == 0) continue;
    largest = std::max(
        largest, std::fabs(moved[n] - exact[n]) / (change * condition[n] * std::fabs(exact[n])));
  }
  return largest;
}

}  // namespace plumbline::testing
