// SPDX-License-Identifier: MIT
// How much attention's gradients magnify a relative change of Q, K, V and dO, to first order, as
// far as P and dS; the sums over them follow by absolute values.
//
// With p the softmax of z: |dp_j| <= p_j ((1 - p_j) |dz_j| + sum over the others of p |dz|). dS_j =
// p_j (dP_j - delta) slope_j with delta = sum p dP, whose change is sum dp (dP - delta) + sum p
// d(dP), since all dp add up to 0, that of a sink (which has a dP of 0) among them; the slope is 1
// - tanh^2 under a softcap.
#pragma once

#include <span>
#include <vector>

#include "oracles/reference/attention_backward/attention_backward.h"

namespace plumbline {

// Elements of one head, by row, in units of their scales.
struct GradientFactors {
  std::span<const double> q, k, v, d_o;
};

// Of each weight, its own size and what it changes by, over the change: [queries, keys], in the
// units of the gradient's contract (P in those of `p`, dS times its scale); 0 for keys not visible.
struct GradientChanges {
  std::vector<double> p, ds;
};

// `p`: [queries, keys], exact, 0 for keys not visible; its unit is `p_unit`.
GradientChanges gradient_changes(const GradientHead& gradient, const GradientFactors& in,
                                 std::span<const double> p, double p_unit);

}  // namespace plumbline
