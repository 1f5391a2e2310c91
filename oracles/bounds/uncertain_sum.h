// SPDX-License-Identifier: MIT
// The running bound of sums whose first factors a kernel has computed itself, so that they are
// known only to within something: sum of w_p x_p, where the reference has one w_p and a conforming
// kernel may have any of a range (mostly of one number, sometimes of two neighbors of the format
// that w was rounded to).
//
// The recursion is that of running_bound(): the accumulator is followed node by node. What a factor
// may be off joins the drift of the node that takes it, and magnitudes, exponents and lowest bits
// are those of the worst factor. Where every range is its reference, so is the bound.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/formats/format.h"

namespace plumbline {

// One factor, prepared: what a node needs of it. As made: 0.
struct UncertainFactor {
  double value = 0;          // the reference's
  double off = 0;            // a kernel's differs by at most this
  double high_exponent = 0;  // weights as in prepared_operand.h, of the largest magnitude in range
  double low_exponent = 0;   // of the smallest
  double lowest = std::numeric_limits<double>::infinity();  // divides all of them

  bool is_zero() const { return lowest == std::numeric_limits<double>::infinity(); }

  // A kernel's factor is the reference's, of a format with this least exponent.
  static UncertainFactor certain(int minimum_exponent, float reference);

  // A kernel's factor is a finite number of the format in [low, high].
  static UncertainFactor of(const Format& format, float reference, float low, float high);
};

// The second factors of many sums, prepared: [k][columns], columns padded to whole panels.
struct PreparedColumns {
  std::int64_t columns = 0;
  std::vector<float> value, exponent, lowest;

  PreparedColumns() = default;
  PreparedColumns(const float* rows, std::int64_t k, std::int64_t width, int minimum_exponent);
};

// Lane l: the sum over p of factors[p] times column first + l; first is a multiple of kPanelLanes.
// The model must be that of a sequential or a split sum.
RunningBounds uncertain_sums(const BoundModel& model, std::span<const UncertainFactor> factors,
                             const PreparedColumns& columns, std::int64_t first);

}  // namespace plumbline
