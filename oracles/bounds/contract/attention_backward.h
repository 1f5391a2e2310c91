// SPDX-License-Identifier: MIT
// AttentionBackwardContract: the arithmetic an attention backward kernel promises. It is given O
// and LSE as the forward pass stored them and takes them for exact; the gradients are those of P =
// exp(S - LSE). Everything below is f32 to nearest even unless said otherwise.
//
//   delta_i = fl(do_scale * sum over x of fl(dO_ix * O_ix)), the sum in any order
//   z_ij, c: as in contract/attention.h, from S = Q . K^T by the unit in increasing d
//   p_ij    = ex2(fma(z_ij, c, -fl(LSE_i * fl(log2 e)))); 0 for keys that are not visible and in
//             rows whose LSE is infinite. With `natural_difference` z is in natural units whether
//             something is added to it or not, and p_ij = ex2(fl(fl(z_ij - LSE_i) * fl(log2 e)))
//   dP_ij   = fl(dO_i . v_j * fl(do_scale * v_scale)), the product by the unit, from zero, in
//             increasing x
//   dS_ij   = fl(p_ij * fl(dP_ij - delta_i)); with a softcap fl(that * fl(1 - fl(t_ij * t_ij))),
//             t the tanh of the logit
//   dV_j    = fl(do_scale * 2^-p_shift * sum over i of P_ij dO_i), the sum by the unit with
//             P = p * 2^p_shift rounded to `p`
//   dK_j    = fl(fl(fl(scale * q_scale) / ds_scale) * sum over i of G_ij q_i),
//   dQ_i    = fl(fl(fl(scale * k_scale) / ds_scale) * sum over j of G_ij k_j), both sums by the
//             unit with G = fl(dS * ds_scale) rounded to `ds`
// Elements of Q, K, V and dO are as they are stored. Problems with `scales` have one number for
// each of these that they stand for times themselves, and ds_scale for dS, which belongs to no
// input; others have 1 for all five. In the logits fl(scale * fl(q_scale * k_scale)) takes the
// place of scale. The roundings of these factors belong to the function, as those of P and G do. A
// `p` or `ds` of 8 bits saturates; one of 16 bits overflows to infinity.
//
// Sums over i take the queries of a head in increasing order, and of the query heads that share a
// head of K and V one after the other; sums over j take keys in increasing order. All start from
// zero and run through one accumulator (the rows that see nothing of a tile add zeros). With
// `atomic_dq` the sum of dQ is cut into tiles of `tile` keys, each summed from zero, which reach
// memory as f32 atomics in any order before the scale is applied. Results are rounded to the
// output's format. Rows after the last sequence have gradients 0.
#pragma once

#include <cstdint>

#include "oracles/bounds/contract/contract.h"
#include "oracles/formats/format.h"

namespace plumbline {

struct AttentionBackwardContract {
  Unit unit = Unit::tensor_core;  // of all products
  Instruction instruction = Instruction::mma_sync;
  FormatId p = FormatId::bf16;
  FormatId ds = FormatId::bf16;
  int p_shift = 0;
  bool natural_difference = false;
  bool atomic_dq = false;
  std::int64_t tile = 64;  // keys per part of dQ; matters with atomic_dq only

  // Whether what is too large for `p` or `ds` becomes the largest number.
  static bool saturates(FormatId weights) { return format(weights).storage_bits == 8; }

  // The contract of the sums that make dQ over so many keys, and of all others.
  Contract sum_of_dq(std::int64_t keys) const;
  Contract sum() const;
};

}  // namespace plumbline
