// SPDX-License-Identifier: MIT
// Attention's gradients in stages, the steps of oracles/bounds/contract/attention_backward.h:
//   quantize inputs   Q, K, V and dO as stored, O and LSE as the forward pass stored them; exact:
//                     what they were, with O and LSE in FP64
//   scores            S = Q . K^T by the unit
//   P recomputed      exp(S - LSE): its argument and ex2, in f32
//   dP                dO . V^T by the unit
//   delta             the row sums of dO * O, in f32
//   dS                P (dP - delta) in f32, with the slope of a softcap
//   P rounding        before it meets dO
//   dS rounding       before it meets Q and K
//   accumulate        the sums of dQ, dK and dV by the unit, and their scale
//   output            the conversion to the stored format; f32 has none
#pragma once

#include <memory>

#include "oracles/reference/attention_backward/attention_backward.h"
#include "oracles/stages/staged_attention.h"

namespace plumbline {

enum class GradientStep : std::uint8_t {
  quantize,
  scores,
  probabilities,
  dp,
  delta,
  ds,
  p_rounding,
  ds_rounding,
  accumulate,
  output,
};

// Outputs "dq", "dk" and "dv". `sources`: f32 tensors of the shapes of Q, K and V; `source_d_o` of
// dO. Everything outlives the result and must be finite.
std::unique_ptr<StagedComputation> staged_attention_backward(
    const AttentionBackwardProblem& problem, const AttentionBackwardContract& contract, int sm,
    const AttentionSources& sources, const Tensor& source_d_o);

}  // namespace plumbline
