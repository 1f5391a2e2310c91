// SPDX-License-Identifier: MIT
// Attention in stages, the steps of oracles/bounds/contract/attention.h:
//   quantize inputs   Q, K and V as stored in place of what they were
//   scores            S = Q . K^T by the unit
//   softmax argument  (z - m) c in f32, with the scale, cap and bias before it and the rescaling's
//   exponential       ex2.approx, taken as correctly rounded to f32 (hardware: within 2 ulp)
//   P rounding        to the format that meets V
//   row sum           l in f32, lane by lane
//   values            O rescaled and P . V added by the unit
//   normalize         O over l in f32; for the LSE its own f32 steps
//   output            the conversion to the stored format; f32 has none
// An exact stage is FP64. The tiles of the online softmax are always those of the contract: exact
// arithmetic does not see them, the rounding of P does.
#pragma once

#include <memory>
#include <span>

#include "oracles/reference/attention/attention.h"
#include "oracles/stages/staged.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {

// In the order of the pipeline; their numbers are the bits of a StageSet.
enum class AttentionStep : std::uint8_t {
  quantize,
  scores,
  argument,
  exponential,
  probabilities,
  row_sum,
  values,
  normalize,
  output,
};

enum class AttentionFault : std::uint8_t {
  none,
  bf16_scores,             // scores rounded to bf16 before the softmax
  bf16_scale,              // the scale rounded to bf16
  probabilities_unlifted,  // P rounded without its factor 2^p_shift
  probabilities_cut,       // P rounded toward zero
  other_row_sum,           // l adds rounded P where it should not, or the other way round
  row_sum_not_rescaled,    // l keeps the reference of earlier tiles
  bf16_values,             // O kept in bf16 between tiles
  values_not_rescaled,     // O keeps the reference of earlier tiles
  bf16_inverse,            // 1 / l rounded to bf16
  output_cut,              // rounded toward zero
};

// One head's operands as real numbers; `shape` gives sizes, mask, scale, cap, bias and sink, and
// its own q, k and v are not read.
class StagedHead {
 public:
  StagedHead(const AttentionHead& shape, const AttentionContract& contract, int sm, FormatId q,
             FormatId k, FormatId v, std::span<const double> q_values,
             std::span<const double> k_values, std::span<const double> v_values);

  struct Row {
    std::vector<double> o;
    double lse = 0;
    // By the end of the row, for condition numbers; 0 for keys that are not visible.
    std::vector<double> weights;
  };

  // O and LSE before their conversion. `scores`: of this row, from scores().
  Row row(std::int64_t i, StageSet low, std::span<const double> scores,
          AttentionFault fault = AttentionFault::none) const;

  // S of all rows and keys, [queries, keys]; not computed for keys that are not visible.
  std::vector<double> scores(bool low) const;

  // What a relative change of Q, K and V can change of a row's outputs, to first order.
  struct Sensitivity {
    std::vector<double> o;
    double lse = 0;
  };

  Sensitivity sensitivity(std::int64_t i, const Row& exact) const;

 private:
  class Machine;

  const AttentionHead& shape_;
  AttentionContract contract_;
  StagedSum score_sum_, value_sum_;
  RealOperands q_, k_, v_;  // v by column: [dv, keys]
};

// Outputs "o" and, where the problem has it, "lse". `sources`: f32 tensors of the shapes of Q, K
// and V, whichever scales these have. Everything outlives the result and must be finite.
struct AttentionSources {
  const Tensor *q = nullptr, *k = nullptr, *v = nullptr;
};

std::unique_ptr<StagedComputation> staged_attention(const AttentionProblem& problem,
                                                    const AttentionContract& contract, int sm,
                                                    const AttentionSources& sources);

}  // namespace plumbline
