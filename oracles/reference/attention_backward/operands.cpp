// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/operands.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/assert.h"

namespace plumbline {
namespace {

BoundModel model_of(const Contract& contract, int sm, FormatId a, FormatId b) {
  const std::optional<BoundModel> model = bound_model(contract, sm, a, b);
  PLUMB_ASSERT(model.has_value());
  return *model;
}

constexpr std::int64_t kInstructionBytes = 32;  // of each row of a factor

float finite_or_zero(float x) { return std::isfinite(x) ? x : 0.0f; }

// Rows of the heads one after the other, each padded with zeros to a whole number of steps.
std::vector<float> stacked(const std::vector<const std::vector<float>*>& heads, std::int64_t padded,
                           std::int64_t width) {
  std::vector<float> rows(heads.size() * static_cast<std::size_t>(padded * width));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    std::copy(heads[h]->begin(), heads[h]->end(),
              rows.begin() + static_cast<std::ptrdiff_t>(h) * padded * width);
  }
  return rows;
}

GradientQuery query_of_row(const GradientHead& head, std::int64_t i) {
  GradientQuery out;
  const float lse = head.lse[static_cast<std::size_t>(i)];
  out.live = std::isfinite(lse);
  if (!out.live) return out;
  out.lse = static_cast<double>(lse);
  out.kernel_lse = lse * static_cast<float>(M_LOG2E);
  F32Sum kernel;
  double magnitude = 0, lowest = std::numeric_limits<double>::infinity();
  const std::int64_t width = head.head.dv;
  for (std::int64_t x = i * width; x < (i + 1) * width; ++x) {
    const float a = finite_or_zero(head.d_o[static_cast<std::size_t>(x)]);
    const float b = finite_or_zero(head.o[static_cast<std::size_t>(x)]);
    const double product = static_cast<double>(a) * static_cast<double>(b);
    kernel.add(product);
    out.delta += product;
    magnitude += std::fabs(product);
    if (product != 0) {
      lowest = std::min(lowest, static_cast<double>(prepare(a, -149 + 23).lowest) *
                                    static_cast<double>(prepare(b, -149 + 23).lowest));
    }
  }
  out.delta_error = magnitude < 0x1p52 * lowest
                        ? 0
                        : static_cast<double>(width + 1) * 0x1p-53 * magnitude * (1 + 0x1p-20);
  // A product is rounded once, then added at most width - 1 times; fused, one rounding less.
  out.kernel_delta = kernel.range(width);
  const float d_o_scale = head.scales.d_o;
  if (d_o_scale == 1) return out;
  out.kernel_delta = out.kernel_delta * F32Range::of(d_o_scale);
  const double unscaled = out.delta, factor = static_cast<double>(d_o_scale);
  out.delta *= factor;
  out.delta_error *= std::fabs(factor) * (1 + 0x1p-50);
  if (std::fma(unscaled, factor, -out.delta) != 0)
    out.delta_error += 0x1p-53 * std::fabs(out.delta);
  return out;
}

}  // namespace

GradientModels::GradientModels(const AttentionBackwardProblem& problem,
                               const AttentionBackwardContract& contract, int sm) {
  const auto format_of = [](const Tensor* tensor) { return tensor->layout.format; };
  const FormatId q = format_of(problem.attention.q), k = format_of(problem.attention.k),
                 v = format_of(problem.attention.v), d_o = format_of(problem.d_o);
  const Contract sum = contract.sum();
  score = model_of(sum, sm, q, k);
  dp = model_of(sum, sm, d_o, v);
  dv = model_of(sum, sm, contract.p, d_o);
  dk = model_of(sum, sm, contract.ds, q);
  dq = model_of(sum, sm, contract.ds, k);
}

GradientRows::GradientRows(const std::vector<float>& values, std::int64_t row_count,
                           std::int64_t row_width, int minimum_exponent)
    : rows(row_count), width(row_width) {
  const auto count = static_cast<std::size_t>(rows * width);
  value.resize(count);
  wide.resize(count);
  transposed.resize(count);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t x = 0; x < width; ++x) {
      const auto at = static_cast<std::size_t>(r * width + x);
      value[at] = finite_or_zero(values[at]);
      wide[at] = transposed[static_cast<std::size_t>(x * rows + r)] =
          static_cast<double>(value[at]);
    }
    size.push_back(vector_size(row(r), width, minimum_exponent));
  }
  std::vector<float> one(static_cast<std::size_t>(rows));
  for (std::int64_t x = 0; x < width; ++x) {
    for (std::int64_t r = 0; r < rows; ++r) one[static_cast<std::size_t>(r)] = row(r)[x];
    column.push_back(vector_size(one.data(), rows, minimum_exponent));
  }
  prepared = PreparedColumns(value.data(), rows, width, minimum_exponent);
}

GradientOperands::GradientOperands(const AttentionBackwardProblem& problem,
                                   const AttentionBackwardContract& contract_of_kernel, int sm,
                                   const std::vector<HeadPlace>& places)
    : contract(contract_of_kernel),
      models(problem, contract_of_kernel, sm),
      group(gradient_group(problem, places)),
      scales(gradient_scales(problem)) {
  const AttentionHead& any = group.heads.front().head;
  queries = any.queries;
  keys = any.keys;
  d = any.d;
  width_v = any.dv;
  const std::int64_t step = kInstructionBytes * 8 / format(contract.p).storage_bits;
  padded = (queries + step - 1) / step * step;
  output = problem.attention.output;
  const auto format_minimum = [](const Tensor* tensor) {
    return format(tensor->layout.format).emin();
  };
  std::vector<const std::vector<float>*> q_heads, do_heads;
  for (const GradientHead& one : group.heads) {
    q_heads.push_back(&one.head.q);
    do_heads.push_back(&one.d_o);
  }
  q = GradientRows(stacked(q_heads, padded, d), heads() * padded, d,
                   format_minimum(problem.attention.q));
  d_o = GradientRows(stacked(do_heads, padded, width_v), heads() * padded, width_v,
                     format_minimum(problem.d_o));
  k = GradientRows(any.k, keys, d, format_minimum(problem.attention.k));
  v = GradientRows(any.v, keys, width_v, format_minimum(problem.attention.v));
  query.resize(static_cast<std::size_t>(heads() * padded));
  for (std::int64_t h = 0; h < heads(); ++h) {
    for (std::int64_t i = 0; i < queries; ++i) {
      query[static_cast<std::size_t>(h * padded + i)] =
          query_of_row(group.heads[static_cast<std::size_t>(h)], i);
    }
  }
  // A sum over keys that atomics join is cut by the number of keys.
  models.dq =
      model_of(contract.sum_of_dq(keys), sm, contract.ds, problem.attention.k->layout.format);
}

float GradientOperands::factor(GradientOutput o) const {
  if (o == GradientOutput::dq) return scales.dq();
  return o == GradientOutput::dk ? scales.dk() : std::ldexp(scales.d_o, -contract.p_shift);
}

}  // namespace plumbline
