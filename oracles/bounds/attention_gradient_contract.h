// SPDX-License-Identifier: MIT
// AttentionGradientContract: the arithmetic an attention backward kernel promises. It is given O and
// LSE as the forward pass stored them and takes them for exact; the gradients are those of
// P = exp(S - LSE). Everything below is f32 to nearest even unless said otherwise.
//
//   delta_i = sum over x of fl(dO_ix * O_ix), in any order
//   z_ij, c: as in attention_contract.h, from S = Q . K^T by the unit in increasing d
//   p_ij    = ex2(fma(z_ij, c, -fl(LSE_i * fl(log2 e)))); 0 for keys that are not visible and in rows
//             whose LSE is infinite
//   dP_ij   = dO_i . v_j by the unit, from zero, in increasing x
//   dS_ij   = fl(p_ij * fl(dP_ij - delta_i)); with a softcap fl(that * fl(1 - fl(t_ij * t_ij))), t the
//             tanh of the logit
//   dV_j    = sum over i of P_ij dO_i by the unit with P = p rounded to `p`
//   dK_j    = fl(scale * sum over i of G_ij q_i), dQ_i = fl(scale * sum over j of G_ij k_j), both sums by
//             the unit with G = dS rounded to `ds`
// Sums over i take the queries of a head in increasing order, and of the query heads that share a
// head of K and V one after the other; sums over j take keys in increasing order. All start from
// zero and run through one accumulator (the rows that see nothing of a tile add zeros). With
// `atomic_dq` the sum of dQ is cut into tiles of `tile` keys, each summed from zero, which reach
// memory as f32 atomics in any order before the scale is applied.
// Results are rounded to the output's format. Rows after the last sequence have gradients 0.
#pragma once

#include <cstdint>

#include "oracles/bounds/contract.h"
#include "oracles/formats/format.h"

namespace plumbline {

struct AttentionGradientContract {
  Unit unit = Unit::tensor_core;  // of all products
  Instruction instruction = Instruction::mma_sync;
  FormatId p = FormatId::bf16;
  FormatId ds = FormatId::bf16;
  bool atomic_dq = false;
  std::int64_t tile = 64;  // keys per part of dQ; matters with atomic_dq only

  // The contract of the sums that make dQ over so many keys, and of all others.
  Contract sum_of_dq(std::int64_t keys) const;
  Contract sum() const;
};

}  // namespace plumbline
