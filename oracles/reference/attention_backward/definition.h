// SPDX-License-Identifier: MIT
// The definition of attention's gradients over MPFR numbers, element by element. With a contract:
// the stage-faithful reference, which keeps the two roundings a contract mandates, of P before it
// meets dO and of dS before it meets Q and K, both times the factors that go with them. Without:
// mathematics. The LSE and delta of a row of queries are given: as the forward pass stored them, or
// exact, which makes the gradient of the whole function.
#pragma once

#include <vector>

#include "oracles/bounds/contract/attention_backward.h"
#include "oracles/exact/real.h"
#include "oracles/reference/attention/definition.h"
#include "oracles/reference/attention_backward/attention_backward.h"

namespace plumbline {

template <typename Number>
struct GradientRow {
  Number lse, delta;     // delta = do_scale * sum of dO * O
  bool visible = false;  // false: no key, no gradient
};

// What the forward pass stored.
template <typename Number>
GradientRow<Number> stored_row(const GradientHead& head, std::int64_t i) {
  GradientRow<Number> row;
  const float lse = head.lse[static_cast<std::size_t>(i)];
  row.visible = std::isfinite(lse);
  row.lse = lse;
  row.delta = 0;
  for (std::int64_t x = i * head.head.dv; x < (i + 1) * head.head.dv; ++x) {
    const auto at = static_cast<std::size_t>(x);
    row.delta += static_cast<double>(head.d_o[at]) * static_cast<double>(head.o[at]);
  }
  row.delta *= Number(head.scales.d_o);
  return row;
}

// What it would have stored without rounding.
template <typename Number>
GradientRow<Number> exact_row(const GradientHead& head, std::int64_t i) {
  const DefinedRow<Number> forward = defined_row<Number>(head.head, i, nullptr);
  GradientRow<Number> row;
  row.visible = forward.visible;
  row.lse = forward.lse;
  row.delta = 0;
  for (std::size_t x = 0; x < forward.o.size(); ++x) {
    const auto at = static_cast<std::size_t>(i * head.head.dv) + x;
    row.delta += Number(head.d_o[at]) * forward.o[x];
  }
  row.delta *= Number(head.scales.d_o);
  return row;
}

// What query i and key j give each other.
template <typename Number>
struct GradientWeights {
  Number p = 0;   // do_scale * dO_i of it goes to dV_j
  Number ds = 0;  // times ds_scale; q_i of it goes to dK_j and k_j to dQ_i, times their factors
};

template <typename Number>
GradientWeights<Number> gradient_weights(const GradientHead& gradient,
                                         const GradientRow<Number>& row, std::int64_t i,
                                         std::int64_t j,
                                         const AttentionBackwardContract* contract) {
  const AttentionHead& head = gradient.head;
  const KeyRange visible = head.visible(i);
  GradientWeights<Number> weights;
  if (!row.visible || j < visible.first || j >= visible.end) return weights;
  const Number p = exp(attention_definition::logit<Number>(head, i, j) - row.lse);
  Number dp = 0;
  for (std::int64_t x = 0; x < head.dv; ++x) {
    dp += static_cast<double>(gradient.d_o[static_cast<std::size_t>(i * head.dv + x)]) *
          static_cast<double>(head.v[static_cast<std::size_t>(j * head.dv + x)]);
  }
  dp *= Number(gradient.scales.dp());
  Number ds = p * (dp - row.delta);
  if (head.softcap != 0) {
    const Number t = tanh(attention_definition::score<Number>(head, i, j) / head.softcap);
    ds *= 1 - t * t;
  }
  ds *= Number(gradient.scales.ds);
  weights.p = p;
  weights.ds = ds;
  if (!contract) return weights;
  const Number shifted = ldexp(p, contract->p_shift);
  weights.p = ldexp(attention_definition::rounded(contract->p, shifted), -contract->p_shift);
  weights.ds = attention_definition::rounded(contract->ds, ds);
  return weights;
}

// dQ of query i, [d].
template <typename Number>
std::vector<Number> defined_dq(const GradientHead& gradient, const GradientRow<Number>& row,
                               std::int64_t i, const AttentionBackwardContract* contract) {
  const AttentionHead& head = gradient.head;
  std::vector<Number> dq(static_cast<std::size_t>(head.d), Number(0));
  for (std::int64_t j = 0; j < head.keys; ++j) {
    const Number ds =
        gradient_weights(gradient, row, i, j, contract).ds * Number(gradient.scales.dq());
    for (std::size_t x = 0; x < dq.size(); ++x)
      dq[x] += ds * head.k[static_cast<std::size_t>(j * head.d) + x];
  }
  return dq;
}

template <typename Number>
struct KeyGradients {
  std::vector<Number> dk, dv;  // [d], [dv]
};

// dK and dV of key j; rows[h][i] belongs to query i of the group's head h.
template <typename Number>
KeyGradients<Number> defined_key_gradients(
    const GradientGroup& group, const std::vector<std::vector<GradientRow<Number>>>& rows,
    std::int64_t j, const AttentionBackwardContract* contract) {
  const AttentionHead& any = group.heads.front().head;
  KeyGradients<Number> gradients;
  gradients.dk.assign(static_cast<std::size_t>(any.d), Number(0));
  gradients.dv.assign(static_cast<std::size_t>(any.dv), Number(0));
  for (std::size_t h = 0; h < group.heads.size(); ++h) {
    const GradientHead& gradient = group.heads[h];
    const AttentionHead& head = gradient.head;
    for (std::int64_t i = 0; i < head.queries; ++i) {
      const GradientWeights<Number> weights =
          gradient_weights(gradient, rows[h][static_cast<std::size_t>(i)], i, j, contract);
      const Number ds = weights.ds * Number(gradient.scales.dk());
      const Number p = weights.p * Number(gradient.scales.d_o);
      for (std::size_t x = 0; x < gradients.dk.size(); ++x)
        gradients.dk[x] += ds * head.q[static_cast<std::size_t>(i * head.d) + x];
      for (std::size_t x = 0; x < gradients.dv.size(); ++x)
        gradients.dv[x] += p * gradient.d_o[static_cast<std::size_t>(i * head.dv) + x];
    }
  }
  return gradients;
}

}  // namespace plumbline
