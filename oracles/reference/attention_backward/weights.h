// SPDX-License-Identifier: MIT
// What query i and key j give each other: the weight that a line of P * 2^p_shift (for dV) or of
// G = dS * ds_scale (for dQ and dK) has there. Once as the reference has it, in FP64 with an error
// bound; once as a kernel may have it, as a range of f32 values followed through the contract's
// steps.
#pragma once

#include <cstdint>
#include <optional>

#include "oracles/reference/attention_backward/operands.h"

namespace plumbline {

// To the nearest number of a format with f32's or a smaller range, ties to even.
class FormatRounding {
 public:
  explicit FormatRounding(FormatId to);

  double operator()(double x) const;

  double largest() const { return largest_; }

  // The smallest normal number, and 1.5 * 2^52 quanta of a number over its binade.
  double smallest_binade() const { return smallest_binade_; }

  double to_quantum() const { return to_quantum_; }

  // Whether a kernel's conversion stops at the largest number as well; else it may end in infinity.
  bool saturates() const { return saturates_; }

 private:
  double smallest_binade_, to_quantum_, largest_;
  bool saturates_;
};

// A weight of the reference after its mandated rounding. The error is that of FP64: 0 but where the
// number that was rounded lies within it of a boundary.
struct ReferenceWeight {
  double value = 0, error = 0;
};

// Products q . k and dO . v of a pair's elements in FP64 with their errors.
struct PairProducts {
  double score = 0, score_error = 0;
  double dp = 0, dp_error = 0;  // not needed for P
};

// What a kernel may have.
struct KernelWeight {
  float low = 0, high = 0;
  bool may_overflow = false;  // may be infinite or NaN
};

class GradientWeights64 {
 public:
  explicit GradientWeights64(const GradientOperands& operands);

  // Whether the pair has a weight at all; the two below are for those that do.
  bool visible(const GradientPair& at) const;

  ReferenceWeight reference(GradientOutput output, const GradientPair& at,
                            const PairProducts& products) const;

  // A cheap bound of the products' errors first; where that leaves more than one weight, theirs by
  // the running bound.
  KernelWeight kernel(GradientOutput output, const GradientPair& at,
                      const PairProducts& products) const;

  // The two steps of it: nullopt if the cheap bound does not settle the weight; the second product
  // does not matter for P.
  std::optional<KernelWeight> kernel_by_sizes(GradientOutput output, const GradientPair& at,
                                              const PairProducts& products) const;
  KernelWeight kernel_within(GradientOutput output, const GradientPair& at,
                             const PairProducts& products, const RunningBound& score,
                             const RunningBound& dp) const;

  const FormatRounding& rounding(GradientOutput output) const {
    return output == GradientOutput::dv ? p_ : ds_;
  }

  // Of a kernel's scores and dO . v.
  const APriori& score_limits() const { return score_limits_; }

  const APriori& dp_limits() const { return dp_limits_; }

  // |products of the pair in FP64 - exact| for sums in any order.
  double score_error(const GradientPair& at) const;
  double dp_error(const GradientPair& at) const;

 private:
  KernelWeight through_the_steps(GradientOutput output, const GradientPair& at,
                                 const PairProducts& products, double score_drift,
                                 double dp_drift) const;

  const GradientOperands& operands_;
  FormatRounding p_, ds_;
  APriori score_limits_, dp_limits_;
  // The kernel's constants.
  float c_, over_cap_;
  float dp_factor_, p_factor_, ds_factor_;
};

}  // namespace plumbline
