// SPDX-License-Identifier: MIT
// The weights of one query and many keys by vectors: GradientWeights64 on eight pairs at a time,
// with coarser errors. Where those leave one rounding the weight is the same; the pairs where they
// do not are listed, for GradientWeights64 to decide.
//
// An error covers what is asked for: the roundings of FP64 alone, or all that a conforming kernel
// may do as well. In the second case a weight that is certain is also the one every kernel has.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/reference/attention_backward/weights.h"

namespace plumbline {

enum class WeightErrors : std::uint8_t { reference, kernel };

// P * 2^p_shift, and G = dS * ds_scale.
struct WantedWeights {
  bool p = true, g = true;
};

// One query's pairs with keys [0, count) of arrays that may be read and written up to the next
// multiple of kMostLanes beyond.
struct GradientPairs {
  const double *scores, *dps;             // q . k and dO . v
  const double *key_norms, *value_norms;  // at least the two-norms of k and v
  const float* bias;                      // null: none
  std::int64_t count;
  double *p, *g;  // results: of what is wanted
};

class GradientLanes {
 public:
  static constexpr std::int64_t kMostLanes = 8;

  GradientLanes(const GradientOperands& operands, const GradientWeights64& weights,
                WeightErrors errors);

  // Whether vectors can tell anything here. If not every pair is open.
  bool useful() const { return useful_; }

  // Lists the pairs that are open in `open`, rising; their results mean nothing. `key_norm` and
  // `value_norm` are the largest of the pairs'.
  void fill(std::int64_t head, std::int64_t query, const GradientPairs& pairs,
            const WantedWeights& wanted, double key_norm, double value_norm,
            std::vector<std::int64_t>& open) const;

  // What all pairs have in common.
  struct Rounding {
    double smallest_binade, to_quantum, largest;
  };

  struct Common {
    double scale, dp_factor, p_factor, ds_factor;
    Rounding p, ds;
    double p_limit, ds_limit;  // a kernel's weights above may become infinite
  };

  // What all pairs of a query have. A score is off by unit * norm of the key + absolute, in units
  // of the logit; dO . v times its factor likewise.
  struct Query {
    double lse, delta, delta_error;
    double score_unit, score_absolute, dp_unit, dp_absolute;
  };

 private:
  const GradientOperands& operands_;
  WeightErrors errors_;
  bool useful_;
  Common common_;
  double score_relative_, score_absolute_, dp_relative_, dp_absolute_;  // of sizes
};

// Of rows of weights, row by row: the sum of squares and the least of the lowest bits; of each
// column the same, added to what is there.
struct WeightSizes {
  double squares = 0, lowest = 0;
};

WeightSizes add_weight_sizes(const double* weights, std::int64_t count, double* column_squares,
                             double* column_lowest);

}  // namespace plumbline
