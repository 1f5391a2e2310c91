// SPDX-License-Identifier: MIT
#include "fuzz/attention/stored.h"

#include <cmath>
#include <numbers>

#include "oracles/base/numbers.h"
#include "oracles/exact/exp2.h"

namespace plumbline {

namespace {

constexpr double kLog2E = std::numbers::log2e;

double exponential(double x) { return std::isnan(x) ? x : exp2_of(x * kLog2E); }

// Newton's method on e^y = x: the library's logarithm may differ between machines. x >= 1.
double logarithm(double x) {
  if (!(x < kInfinity)) return x;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  double y = (exponent + 2 * (fraction - 1)) / kLog2E;
  for (int i = 0; i < 5; ++i) y += x * exponential(-y) - 1;
  return y;
}

double hyperbolic_tangent(double x) {
  const double small = exponential(-2 * std::fabs(x));
  return std::copysign((1 - small) / (1 + small), x);
}

double logit(const AttentionHead& head, std::int64_t i, std::int64_t j) {
  const float *q = head.q.data() + i * head.d, *k = head.k.data() + j * head.d;
  double score = 0;
  for (std::int64_t x = 0; x < head.d; ++x)
    score += static_cast<double>(q[x]) * static_cast<double>(k[x]);
  score *= static_cast<double>(head.scale);
  const auto cap = static_cast<double>(head.softcap);
  if (cap != 0) score = cap * hyperbolic_tangent(score / cap);
  if (!head.bias.empty())
    score += static_cast<double>(head.bias[static_cast<std::size_t>(i * head.keys + j)]);
  return score;
}

}  // namespace

StoredRow stored_attention_row(const AttentionHead& head, std::int64_t query) {
  const KeyRange visible = head.visible(query);
  std::vector<double> logits;
  double largest = head.has_sink ? static_cast<double>(head.sink) : -kInfinity;
  for (std::int64_t j = visible.first; j < visible.end; ++j) {
    logits.push_back(logit(head, query, j));
    if (!(logits.back() <= largest)) largest = logits.back();  // NaN stays
  }
  StoredRow row;
  row.o.assign(static_cast<std::size_t>(head.dv), 0);
  row.lse = -kInfinity;
  if (largest == -kInfinity) return row;
  double sum = head.has_sink ? exponential(static_cast<double>(head.sink) - largest) : 0;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    const double p = exponential(logits[j] - largest);
    const float* v = head.v.data() + (visible.first + static_cast<std::int64_t>(j)) * head.dv;
    sum += p;
    for (std::size_t x = 0; x < row.o.size(); ++x) row.o[x] += p * static_cast<double>(v[x]);
  }
  for (double& o : row.o) o = o / sum * static_cast<double>(head.v_scale);
  row.lse = largest + logarithm(sum);
  return row;
}

}  // namespace plumbline
