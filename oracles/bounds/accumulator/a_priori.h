// SPDX-License-Identifier: MIT
// Cheap facts about a dot product from the sizes of its two vectors alone: that it cannot overflow,
// that the contract's arithmetic must be exact, and a bound on the error for any data of that size.
// They decide most elements without the running bound, and keep a sound if weak check on elements
// whose running bound is not computed.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "oracles/bounds/accumulator/running_bound.h"

namespace plumbline {

// Of the magnitudes of a vector's finite elements, each non-zero one counted as at least 2^emin of
// its format (a subnormal aligns like the smallest normal number). Rounded up.
struct VectorSize {
  double one_norm = 0, two_norm = 0, largest = 0;
  double lowest = 0;  // the smallest lowest-bit weight; infinity for a zero vector
};

VectorSize vector_size(const float* elements, std::int64_t k, int minimum_exponent);

// Of a vector whose parts are multiplied by scales, given the sizes of the parts. Scales that are
// not finite count as 0. The others count as at least least_weight: those of a block-scaled unit
// align as the smallest normal number of their format.
VectorSize scaled_vector_size(std::span<const VectorSize> parts, std::span<const float> scales,
                              double least_weight = 0);

// At least sum of |a_k b_k| (with the magnitudes above).
double magnitude_bound(const VectorSize& a, const VectorSize& b);

// Limits of a model for k products, computed once per problem.
class APriori {
 public:
  APriori(const BoundModel& model, std::int64_t k);

  // No accumulator comes near f32's range, nor does a step between scales.
  bool cannot_overflow(double magnitude) const { return !any_scaling_ && magnitude < 0x1p124; }

  // Every order and grouping of the sum is exact (never said of a scaled promotion): all terms are
  // multiples of `lattice`, and no partial sum needs more bits than every format on the way keeps.
  bool surely_exact(double magnitude, double lattice) const {
    return !scaled_ && lattice >= least_lattice_ && magnitude < lattice * exact_steps_;
  }

  // |accumulator - exact sum| is at most this. Infinity where the contract is too coarse for the
  // formula. Under a scaled promotion `magnitude` is that of the scaled products, and no factor is
  // larger than largest_factor.
  double error(double magnitude, double largest_factor = 1) const {
    const double scale = largest_factor > 1 ? largest_factor : 1;
    return growth_known_ ? relative_ * magnitude + absolute_ * scale
                         : std::numeric_limits<double>::infinity();
  }

 private:
  double exact_steps_, least_lattice_, relative_, absolute_;
  bool growth_known_, scaled_, any_scaling_;
};

}  // namespace plumbline
