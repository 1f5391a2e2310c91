// SPDX-License-Identifier: MIT
// Gradients of texts against formulas that are written out by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oracles/reference/text/definition.h"
#include "oracles/text/gradient.h"
#include "tests/oracles/reference/text/random_texts.h"

namespace plumbline::text {

using Tensors = std::map<std::string, std::vector<double>>;

template <typename Number>
using Values = std::map<std::string, std::vector<Number>>;

inline std::shared_ptr<const Program> program_of(const OperationText& text) {
  const Result<std::shared_ptr<const Program>> program = check_operation(text);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text()) << text.source;
  return program.ok() ? *program : nullptr;
}

inline std::vector<OperationText> operations_of(const std::string& text) {
  const Result<std::vector<OperationText>> parsed = parse_operations(text, "text.op");
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().text()) << "\n" << text;
  return parsed.ok() ? *parsed : std::vector<OperationText>();
}

// All outputs of a text over some domain; inputs that are not there yet are drawn.
template <typename Domain>
Values<typename Domain::Value> evaluated(const std::shared_ptr<const Program>& program,
                                         const std::map<std::string, std::int64_t>& sizes,
                                         Tensors& inputs, Random& random, const Domain& domain) {
  Setting setting;
  for (const std::string& size : program->sizes) setting.sizes.push_back(sizes.at(size));
  for (const Parameter* one : program->scalars)
    setting.scalars.push_back(fixed_real(*program->defaults.at(one->name), {}, {}));
  setting.present.assign(program->inputs.size(), true);
  setting.formats.assign(program->text.parameters.size(), FormatId::f32);
  const Result<Instance> instance = Instance::make(program, std::move(setting));
  EXPECT_TRUE(instance.ok()) << (instance.ok() ? "" : instance.error().text());
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<const Tensor*> pointers;
  for (std::size_t i = 0; i < program->inputs.size(); ++i) {
    const Input& input = program->inputs[i];
    const auto shape = instance->input_shape(static_cast<int>(i));
    Tensor& tensor = *tensors.emplace_back(
        std::make_unique<Tensor>(dense_layout(FormatId::f32, {shape.begin(), shape.end()})));
    std::vector<double>& values = inputs[input.parameter->name];
    const std::int64_t high =
        input.integer ? instance->fixed(*input.high).ok() ? *instance->fixed(*input.high) : 1 : 0;
    for (std::int64_t e = 0; e < tensor.layout.count(); ++e) {
      if (values.size() == static_cast<std::size_t>(e))
        values.push_back(input.integer ? static_cast<double>(random.between(0, high - 1))
                                       : with_exponent(random, -2, 0));
      tensor.set_bits(e, encode(format(FormatId::f32), values[static_cast<std::size_t>(e)]));
      values[static_cast<std::size_t>(e)] = to_double(format(FormatId::f32), tensor.bits(e));
    }
    pointers.push_back(&tensor);
  }
  const Inputs read(pointers);
  Evaluator<Domain> evaluator(*instance, read, domain);
  Values<typename Domain::Value> out;
  for (const int step : program->outputs) {
    auto& values = out[program->steps[static_cast<std::size_t>(step)].output];
    for (std::int64_t i = 0; i < instance->step_elements(step); ++i)
      values.push_back(evaluator.element(step, i));
  }
  return out;
}

inline const std::map<std::string, std::int64_t> kSizes = {
    {"m", 3}, {"n", 6},      {"v", 7}, {"t", 5}, {"kv", 2},    {"group", 3}, {"d", 6},
    {"e", 2}, {"groups", 2}, {"w", 3}, {"p", 2}, {"heads", 2}, {"rot", 4},   {"positions", 5}};

struct ByHand {
  const char* name;
  std::string text;     // the operation, its gradient
  std::string formula;  // the gradient again
};

inline const ByHand kByHand[] = {
    {"rmsnorm",
     "operation f(x[m, n], gamma[n] = 1, eps = 1e-6) -> y[m, n]\n"
     "  rstd[i] = rsqrt((sum[j] x[i, j]^2) / n + eps)\n"
     "  y[i, j] = x[i, j] * rstd[i] * gamma[j]\n"
     "operation g = gradient of f wrt x, gamma saving rstd\n",
     "operation h(dy[m, n], x[m, n], gamma[n], rstd[m]) -> dx[m, n], dgamma[n]\n"
     "  xhat[i, j] = x[i, j] * rstd[i]\n"
     "  mean[i] = (sum[j] (dy[i, j] * gamma[j] * xhat[i, j])) / n\n"
     "  dx[i, j] = rstd[i] * (dy[i, j] * gamma[j] - xhat[i, j] * mean[i])\n"
     "  dgamma[j] = sum[i] (dy[i, j] * xhat[i, j])\n"},
    {"layernorm",
     "operation f(x[m, n], gamma[n] = 1, beta[n] = 0, eps = 1e-5) -> y[m, n], mean[m]?, rstd[m]?\n"
     "  mean[i] = (sum[j] x[i, j]) / n\n"
     "  rstd[i] = rsqrt((sum[j] (x[i, j] - detach(mean[i]))^2) / n + eps)\n"
     "  y[i, j] = (x[i, j] - mean[i]) * rstd[i] * gamma[j] + beta[j]\n"
     "operation g = gradient of f wrt x, gamma, beta saving mean, rstd\n",
     "operation h(dy[m, n], drstd[m], dmean[m], x[m, n], gamma[n], mean[m], rstd[m]) ->\n"
     "    dx[m, n], dgamma[n], dbeta[n]\n"
     "  xhat[i, j] = (x[i, j] - mean[i]) * rstd[i]\n"
     "  w[i, j] = dy[i, j] * gamma[j]\n"
     "  c1[i] = (sum[j] (w[i, j] * xhat[i, j])) / n\n"
     "  c2[i] = (sum[j] w[i, j]) / n\n"
     "  of_stats[i, j] = dmean[i] / n - drstd[i] * rstd[i]^2 * xhat[i, j] / n\n"
     "  dx[i, j] = rstd[i] * (w[i, j] - xhat[i, j] * c1[i] - c2[i]) + of_stats[i, j]\n"
     "  dgamma[j] = sum[i] (dy[i, j] * xhat[i, j])\n"
     "  dbeta[j] = sum[i] dy[i, j]\n"},
    {"softmax",
     "operation f(x[m, n], scale = 0.5, causal: int = 1) -> y[m, n]\n"
     "  seen[i, j] = causal == 0 or j <= i + n - m for i < m, j < n\n"
     "  z[i, j] = x[i, j] * scale\n"
     "  big[i] = max[j if seen[i, j]] z[i, j]\n"
     "  lse[i] = big[i] + log(sum[j if seen[i, j]] exp(z[i, j] - big[i]))\n"
     "  y[i, j] = where(seen[i, j], exp(z[i, j] - lse[i]), 0)\n"
     "operation g = gradient of f wrt x saving lse\n",
     "operation h(dy[m, n], x[m, n], lse[m], scale = 0.5) -> dx[m, n]\n"
     "  y[i, j] = where(j <= i + n - m, exp(x[i, j] * scale - lse[i]), 0)\n"
     "  inner[i] = sum[j] (dy[i, j] * y[i, j])\n"
     "  dx[i, j] = scale * y[i, j] * (dy[i, j] - inner[i])\n"},
    {"softmax from its output",
     "operation f(x[m, n]) -> y[m, n]\n"
     "  big[i] = max[j] x[i, j]\n"
     "  lse[i] = big[i] + log(sum[j] exp(x[i, j] - big[i]))\n"
     "  y[i, j] = exp(x[i, j] - lse[i])\n"
     "operation g = gradient of f wrt x saving y\n",
     "operation h(dy[m, n], y[m, n]) -> dx[m, n]\n"
     "  dx[i, j] = y[i, j] * (dy[i, j] - (sum[k] (dy[i, k] * y[i, k])))\n"},
    {"add and rmsnorm",
     "operation f(x[m, n], residual[m, n] inout, gamma[n] = 1, eps = 1e-6) -> y[m, n]\n"
     "  residual[i, j] = bf16(x[i, j] + residual[i, j])\n"
     "  rstd[i] = rsqrt((sum[j] residual'[i, j]^2) / n + eps)\n"
     "  y[i, j] = residual'[i, j] * rstd[i] * gamma[j]\n"
     "operation g = gradient of f wrt x, residual, gamma saving residual\n",
     "operation h(dy[m, n], dresidual_out[m, n], residual_out[m, n], gamma[n], eps = 1e-6) ->\n"
     "    dx[m, n], dresidual[m, n], dgamma[n]\n"
     "  rstd[i] = rsqrt((sum[j] residual_out[i, j]^2) / n + eps)\n"
     "  xhat[i, j] = residual_out[i, j] * rstd[i]\n"
     "  w[i, j] = dy[i, j] * gamma[j]\n"
     "  c[i] = (sum[j] (w[i, j] * xhat[i, j])) / n\n"
     "  dx[i, j] = dresidual_out[i, j] + rstd[i] * (w[i, j] - xhat[i, j] * c[i])\n"
     "  dresidual[i, j] = dx[i, j]\n"
     "  dgamma[j] = sum[i] (dy[i, j] * xhat[i, j])\n"},
    {"silu and mul",
     "operation f(x[m, 2 n]) -> y[m, n]\n"
     "  y[i, j] = silu(x[i, j]) * x[i, n + j]\n"
     "operation g = gradient of f wrt x\n",
     "operation h(dy[m, n], x[m, 2 n]) -> dx[m, 2 n]\n"
     "  s[i, j] = 1 / (1 + exp(-x[i, j])) for i < m, j < n\n"
     "  dx[i, j] = dy[i, j] * x[i, n + j] * (s[i, j] + x[i, j] * s[i, j] * (1 - s[i, j])) for j < "
     "n\n"
     "  dx[i, n + j] = dy[i, j] * x[i, j] * s[i, j] for j < n\n"},
    {"interleaved",
     "operation f(x[m, 2 n]) -> y[m, n]\n"
     "  y[i, j] = x[i, 2 * j]^2 * x[i, 2 * j + 1]\n"
     "operation g = gradient of f wrt x\n",
     "operation h(dy[m, n], x[m, 2 n]) -> dx[m, 2 n]\n"
     "  dx[i, 2 * j] = 2 * dy[i, j] * x[i, 2 * j] * x[i, 2 * j + 1] for j < n\n"
     "  dx[i, 2 * j + 1] = dy[i, j] * x[i, 2 * j]^2 for j < n\n"},
    {"cross entropy",
     "operation f(x[m, v], target[m]: s32 in 0 .. v or ignore, smoothing = 0.25,\n"
     "            ignore: int = 2) -> loss[m]: f32, lse[m]: f32?\n"
     "  big[i] = max[j] x[i, j]\n"
     "  lse[i] = big[i] + log(sum[j] exp(x[i, j] - big[i]))\n"
     "  hit[i] = where(target[i] == ignore, 0, lse[i] - x[i, target[i]])\n"
     "  flat[i] = lse[i] - (sum[j] x[i, j]) / v\n"
     "  loss[i] = where(target[i] == ignore, 0, (1 - smoothing) * hit[i] + smoothing * flat[i])\n"
     "operation g = gradient of f wrt x saving lse\n",
     "operation h(dloss[m], dlse[m], x[m, v], target[m]: s32 in 0 .. v, lse[m], smoothing = 0.25) "
     "->\n"
     "    dx[m, v]\n"
     "  p[i, j] = exp(x[i, j] - lse[i])\n"
     "  wanted[i, j] = where(target[i] == j, 1 - smoothing, 0) + smoothing / v for i < m, j < v\n"
     "  dx[i, j] = where(target[i] == 2, 0, dloss[i] * (p[i, j] - wanted[i, j])) + dlse[i] * p[i, "
     "j]\n"},
    {"gather",
     "operation f(table[v, n], row[t]: s32 in 0 .. v) -> y[t, n]\n"
     "  y[i, j] = where(row[i] < 1, 0, table[row[i], j])\n"
     "operation g = gradient of f wrt table\n",
     "operation h(dy[t, n], row[t]: s32 in 0 .. v, zero[v] = 0) -> dtable[v, n]\n"
     "  dtable[k, j] = sum[i if row[i] == k and k > 0] dy[i, j]\n"},
    {"chosen",
     "operation f(x[m, n]) -> y[m, e], id[m, e]: s32\n"
     "  id[i, s] = top[j, s] x[i, j]\n"
     "  y[i, s] = x[i, id[i, s]]^2\n"
     "operation g = gradient of f wrt x saving id\n",
     "operation h(dy[m, e], x[m, n], id[m, e]: s32 in 0 .. n) -> dx[m, n]\n"
     "  dx[i, j] = sum[s if id[i, s] == j] (2 * dy[i, s] * x[i, j])\n"},
    {"rotary",
     "operation f(q[t, heads, d] inout, cos_sin[positions, rot],\n"
     "            position[t]: s32 in 0 .. positions)\n"
     "  q[i, h, c] = q[i, h, c] * cos_sin[position[i], c] -\n"
     "      q[i, h, rot // 2 + c] * cos_sin[position[i], rot // 2 + c] for c < rot // 2\n"
     "  q[i, h, rot // 2 + c] = q[i, h, rot // 2 + c] * cos_sin[position[i], c] +\n"
     "      q[i, h, c] * cos_sin[position[i], rot // 2 + c] for c < rot // 2\n"
     "  q[i, h, rot + c] = q[i, h, rot + c] for c < d - rot\n"
     "operation g = gradient of f wrt q\n",
     "operation h(dq_out[t, heads, d], cos_sin[positions, rot],\n"
     "            position[t]: s32 in 0 .. positions) -> dq[t, heads, d]\n"
     "  dq[i, h, c] = dq_out[i, h, c] * cos_sin[position[i], c] +\n"
     "      dq_out[i, h, rot // 2 + c] * cos_sin[position[i], rot // 2 + c] for c < rot // 2\n"
     "  dq[i, h, rot // 2 + c] = dq_out[i, h, rot // 2 + c] * cos_sin[position[i], c] -\n"
     "      dq_out[i, h, c] * cos_sin[position[i], rot // 2 + c] for c < rot // 2\n"
     "  dq[i, h, rot + c] = dq_out[i, h, rot + c] for c < d - rot\n"},
    {"group norm",
     "operation f(x[m, groups * w, p], gamma[groups * w] = 1, eps = 1e-5) -> y[m, groups * w, p]\n"
     "  mean[i, g] = (sum[k < w, q < p] x[i, g * w + k, q]) / (w * p) for i < m, g < groups\n"
     "  rstd[i, g] = rsqrt((sum[k < w, q < p] (x[i, g * w + k, q] - detach(mean[i, g]))^2) /\n"
     "                     (w * p) + eps) for i < m, g < groups\n"
     "  y[i, k, q] = (x[i, k, q] - mean[i, k // w]) * rstd[i, k // w] * gamma[k]\n"
     "operation b = gradient of f wrt x, gamma saving mean, rstd\n",
     "operation h(dy[m, groups * w, p], x[m, groups * w, p], gamma[groups * w],\n"
     "            mean[m, groups], rstd[m, groups]) -> dx[m, groups * w, p], dgamma[groups * w]\n"
     "  u[i, k, q] = dy[i, k, q] * gamma[k]\n"
     "  xhat[i, k, q] = (x[i, k, q] - mean[i, k // w]) * rstd[i, k // w]\n"
     "  c1[i, g] = (sum[k < w, q < p] (u[i, g * w + k, q] * xhat[i, g * w + k, q])) /\n"
     "      (w * p) for i < m, g < groups\n"
     "  c2[i, g] = (sum[k < w, q < p] u[i, g * w + k, q]) / (w * p) for i < m, g < groups\n"
     "  dx[i, k, q] = rstd[i, k // w] * (u[i, k, q] - xhat[i, k, q] * c1[i, k // w] - c2[i, k // "
     "w])\n"
     "  dgamma[k] = sum[i, q] (dy[i, k, q] * xhat[i, k, q])\n"},
    {"attention",
     "operation f(q[n, kv * group, d], k[m, kv, d], v[m, kv, e], scale = 0.5) ->\n"
     "    o[n, kv * group, e], lse[n, kv * group]?\n"
     "  z[i, h, j] = scale * (sum[c] (q[i, h, c] * k[j, h // group, c])) for j < m, h < kv * "
     "group\n"
     "  big[i, h] = max[j if j <= i] z[i, h, j]\n"
     "  lse[i, h] = big[i, h] + log(sum[j if j <= i] exp(z[i, h, j] - big[i, h]))\n"
     "  p[i, h, j] = where(j <= i, exp(z[i, h, j] - lse[i, h]), 0)\n"
     "  o[i, h, c] = sum[j] (p[i, h, j] * v[j, h // group, c])\n"
     "operation g = gradient of f wrt q, k, v saving lse\n",
     "operation h(do[n, kv * group, e], dlse[n, kv * group], q[n, kv * group, d], k[m, kv, d],\n"
     "            v[m, kv, e], lse[n, kv * group], scale = 0.5) ->\n"
     "    dq[n, kv * group, d], dk[m, kv, d], dv[m, kv, e]\n"
     "  z[i, h, j] = scale * (sum[c] (q[i, h, c] * k[j, h // group, c])) for j < m, h < kv * "
     "group\n"
     "  p[i, h, j] = where(j <= i, exp(z[i, h, j] - lse[i, h]), 0)\n"
     "  o[i, h, c] = sum[j] (p[i, h, j] * v[j, h // group, c]) for h < kv * group\n"
     "  delta[i, h] = sum[c] (do[i, h, c] * o[i, h, c]) for i < n, h < kv * group\n"
     "  dp[i, h, j] = sum[c < e] (do[i, h, c] * v[j, h // group, c]) for i < n, h < kv * group, j "
     "< m\n"
     "  ds[i, h, j] = p[i, h, j] * (dp[i, h, j] - delta[i, h] + dlse[i, h])\n"
     "  dq[i, h, c] = scale * (sum[j] (ds[i, h, j] * k[j, h // group, c]))\n"
     "  dk[j, g, c] = scale * (sum[i < n, r < group] (ds[i, g * group + r, j] * q[i, g * group + "
     "r, c]))\n"
     "  dv[j, g, c] = sum[i < n, r < group] (p[i, g * group + r, j] * do[i, g * group + r, c])\n"},
};

// With exact saved tensors, on so many random problems each.
inline void check_known_gradients(std::uint64_t problems) {
  for (const ByHand& one : kByHand) {
    SCOPED_TRACE(one.name);
    const std::vector<OperationText> operations = operations_of(one.text);
    ASSERT_EQ(operations.size(), 2U);
    const auto derived = program_of(operations[1]);
    const auto formula = program_of(operations_of(one.formula).front());
    ASSERT_TRUE(derived && formula);
    EXPECT_EQ(derived->outputs.size(), formula->outputs.size());
    for (std::uint64_t seed = 1; seed <= problems; ++seed) {
      at_precision(512, [&]<typename Number>() {
        Random random(seed);
        Tensors inputs;
        const auto ours = evaluated(derived, kSizes, inputs, random, Definition<Number>());
        const auto theirs = evaluated(formula, kSizes, inputs, random, Definition<Number>());
        for (const auto& [name, values] : theirs) {
          if (!ours.contains(name)) {
            ADD_FAILURE() << "no " << name << "\n" << derived->text.source;
            continue;
          }
          for (std::size_t i = 0; i < values.size(); ++i) {
            using std::abs;
            const Number difference = abs(Number(ours.at(name)[i] - values[i]));
            EXPECT_LE(static_cast<double>(difference), 0x1p-100)
                << name << " " << i << ": " << static_cast<double>(values[i]) << " by hand, "
                << static_cast<double>(ours.at(name)[i]) << "\n"
                << derived->text.source;
          }
        }
        return 0;
      });
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace plumbline::text
