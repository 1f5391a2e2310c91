// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/condition.h"

#include <algorithm>
#include <cmath>

#include "oracles/reference/gemm/sized_product.h"

namespace plumbline {
namespace {

// One key of a row; changes are over that of the inputs.
struct Key {
  std::size_t at = 0;  // in [queries, keys]
  double p = 0, dp = 0, slope = 1;
  double logit_change = 0, slope_change = 0, dp_change = 0;
};

Key key_of(const GradientHead& gradient, const GradientFactors& in, std::int64_t i,
           std::int64_t j) {
  const AttentionHead& head = gradient.head;
  const auto scale = static_cast<double>(head.scale), cap = static_cast<double>(head.softcap),
             dp_scale = static_cast<double>(gradient.scales.dp());
  const auto query = static_cast<std::size_t>(i), at = static_cast<std::size_t>(j),
             d = static_cast<std::size_t>(head.d), dv = static_cast<std::size_t>(head.dv);
  const SizedProduct score = sized_product(matrix_row(in.q, query, d), matrix_row(in.k, at, d)),
                     dp = sized_product(matrix_row(in.d_o, query, dv), matrix_row(in.v, at, dv));
  Key key;
  key.dp = dp.sum * dp_scale;
  key.dp_change = 2 * dp.size * dp_scale;
  const double score_change = 2 * scale * score.size;
  if (cap != 0) {
    const double tangent = std::tanh(score.sum * scale / cap);
    key.slope = 1 - tangent * tangent;
    key.slope_change = 2 * std::fabs(tangent / cap) * key.slope * score_change;
  }
  key.logit_change = key.slope * score_change;
  return key;
}

}  // namespace

GradientChanges gradient_changes(const GradientHead& gradient, const GradientFactors& in,
                                 std::span<const double> p, double p_unit) {
  const AttentionHead& head = gradient.head;
  const auto ds_scale = static_cast<double>(gradient.scales.ds);
  GradientChanges out{std::vector<double>(p.size()), std::vector<double>(p.size())};
  std::vector<Key> keys;
  for (std::int64_t i = 0; i < head.queries; ++i) {
    const KeyRange visible = head.visible(i);
    keys.clear();
    double sink = 1, delta = 0, logits = 0;  // a sink's share; sum p dP; sum p |dz|
    for (std::int64_t j = std::max<std::int64_t>(visible.first, 0); j < visible.end; ++j) {
      Key key = key_of(gradient, in, i, j);
      key.at = static_cast<std::size_t>(i * head.keys + j);
      key.p = p[key.at] * p_unit;
      sink -= key.p;
      delta += key.p * key.dp;
      logits += key.p * key.logit_change;
      keys.push_back(key);
    }
    const auto p_change = [&](const Key& key) {
      return key.p * ((1 - 2 * key.p) * key.logit_change + logits);
    };
    double delta_change = std::fabs(delta) * std::max(sink, 0.0) * logits;
    for (const Key& key : keys)
      delta_change += p_change(key) * std::fabs(key.dp - delta) + key.p * key.dp_change;
    for (const Key& key : keys) {
      const double from_delta = std::fabs(key.dp - delta),
                   ds = key.p * from_delta * (key.slope + key.slope_change) +
                        key.slope *
                            (p_change(key) * from_delta + key.p * (key.dp_change + delta_change));
      out.p[key.at] = (key.p + p_change(key)) / p_unit;
      out.ds[key.at] = ds * ds_scale;
    }
  }
  return out;
}

}  // namespace plumbline
