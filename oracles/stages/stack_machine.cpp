// SPDX-License-Identifier: MIT
#include "oracles/stages/stack_machine.h"

#include <cmath>

#include "oracles/stages/stack_products.h"
#include "oracles/stages/staged_attention_backward.h"
#include "oracles/stages/staged_sum.h"

namespace plumbline {
namespace {

using Rows = StackMachine::Rows;

// The rows of all heads, [tokens, width], as [1, heads, tokens, d].
Tensor tensor_of(FormatId id, const Rows& rows, const StackShape& shape) {
  const auto tokens = static_cast<std::int64_t>(rows.size()) / shape.width;
  const std::int64_t d = shape.head_width();
  Tensor tensor({id, {1, shape.heads, tokens, d}, {tokens * shape.width, d, shape.width, 1}, 0});
  for (std::size_t at = 0; at < rows.size(); ++at)
    tensor.set_bits_at(static_cast<std::int64_t>(at), encode(format(id), rows[at]));
  return tensor;
}

// One head's operand of attention in FP8: in units of its scale, which is returned.
double quantize_head(Rows& values, FormatId id) {
  const StackFactors factors = stack_factors(values, values.size(), id, StackScales::tensor, false);
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = factors.values.values[n];
  return factors.scale(0, 0);
}

}  // namespace

template <typename Term>
double StackMachine::mean_of(const Term& term) const {
  double lanes[32] = {}, sum = 0;
  for (std::size_t p = 0; p < width(); ++p) lanes[p % 32] = to_f32(lanes[p % 32] + term(p));
  for (const double lane : lanes) sum = to_f32(sum + lane);
  return to_f32(sum / static_cast<double>(shape_.width));
}

StackMachine::RowMoments StackMachine::moments(const double* row) const {
  RowMoments out;
  if (shape_.adaptive) out.mean = mean_of([&](std::size_t p) { return row[p]; });
  const double squares = mean_of([&](std::size_t p) {
    const double centered = to_f32(row[p] - out.mean);
    return to_f32(centered * centered);
  });
  out.inverse = to_f32(1 / std::sqrt(to_f32(squares + stack_definition::kNormEpsilon)));
  return out;
}

Rows StackMachine::normalized(const StackLayer* layer, std::size_t half, const Rows& x) const {
  Rows h(x.size());
  for (std::size_t row = 0; row < x.size(); row += width()) {
    const RowMoments of = moments(x.data() + row);
    for (std::size_t p = 0; p < width(); ++p) {
      double value = to_f32(to_f32(x[row + p] - of.mean) * of.inverse);
      if (shape_.adaptive && layer != nullptr) {
        value = static_cast<double>(f32_fma(value,
                                            to_f32(1 + static_cast<double>(layer->scale[half][p])),
                                            static_cast<double>(layer->shift[half][p])));
      }
      h[row + p] = arithmetic_.stored(value);
    }
  }
  return h;
}

void StackMachine::add_normalized_gradient(const StackLayer& layer, std::size_t half, const Rows& x,
                                           const Rows& dh, Rows& g) const {
  Rows n(width()), dn(width());
  for (std::size_t row = 0; row < x.size(); row += width()) {
    const RowMoments of = moments(x.data() + row);
    for (std::size_t p = 0; p < width(); ++p) {
      n[p] = to_f32(to_f32(x[row + p] - of.mean) * of.inverse);
      dn[p] = dh[row + p];
      if (shape_.adaptive)
        dn[p] = to_f32(dn[p] * to_f32(1 + static_cast<double>(layer.scale[half][p])));
    }
    const double dn_mean = shape_.adaptive ? mean_of([&](std::size_t p) { return dn[p]; }) : 0;
    const double along = mean_of([&](std::size_t p) { return to_f32(dn[p] * n[p]); });
    for (std::size_t p = 0; p < width(); ++p) {
      const double centered = static_cast<double>(f32_fma(-n[p], along, to_f32(dn[p] - dn_mean)));
      g[row + p] = arithmetic_.stored_residual(
          static_cast<double>(f32_fma(centered, of.inverse, g[row + p])));
    }
  }
}

StackMachine::Attended StackMachine::attention(const Rows& q,
                                               const KeyValues<double>& cache) const {
  const auto d = static_cast<std::size_t>(shape_.head_width());
  const std::size_t tokens = q.size() / width(), keys = cache.keys.size() / width();
  AttentionHead head;
  head.queries = static_cast<std::int64_t>(tokens);
  head.keys = static_cast<std::int64_t>(keys);
  head.d = head.dv = shape_.head_width();
  const float unscaled = 1 / std::sqrt(static_cast<float>(d));
  head.scale = unscaled;
  head.mask.causal = Causal::bottom_right;
  Attended out{Rows(q.size()), {}};
  for (std::size_t first = 0; first < width(); first += d) {
    const auto part = [&](const Rows& of) {
      Rows values;
      for (std::size_t row = first; row < of.size(); row += width())
        values.insert(values.end(), of.begin() + static_cast<std::ptrdiff_t>(row),
                      of.begin() + static_cast<std::ptrdiff_t>(row + d));
      return values;
    };
    Rows q_head = part(q), k_head = part(cache.keys), v_head = part(cache.values);
    AttentionContract contract;
    double v_scale = 1;
    if (arithmetic_.attention != FormatId::bf16) {
      const double q_scale = quantize_head(q_head, arithmetic_.attention),
                   k_scale = quantize_head(k_head, arithmetic_.attention);
      v_scale = quantize_head(v_head, arithmetic_.attention);
      head.scale = static_cast<float>(static_cast<double>(static_cast<float>(q_scale * k_scale)) *
                                      static_cast<double>(unscaled));
      contract.p = arithmetic_.attention;
      contract.p_shift = 8;
    }
    const StagedHead staged(head, contract, arithmetic_.sm, arithmetic_.attention,
                            arithmetic_.attention, arithmetic_.attention, q_head, k_head, v_head);
    const std::vector<double> scores = staged.scores(true);
    Rows& lse = out.lse.emplace_back();
    for (std::size_t i = 0; i < tokens; ++i) {
      const StagedHead::Row row = staged.row(static_cast<std::int64_t>(i), ~StageSet{0},
                                             std::span(scores).subspan(i * keys, keys));
      for (std::size_t p = 0; p < d; ++p)
        out.o[i * width() + first + p] =
            arithmetic_.stored(v_scale == 1 ? row.o[p] : to_f32(row.o[p] * v_scale));
      lse.push_back(row.lse);
    }
  }
  return out;
}

stack_definition::AttentionGradientTensors<double> StackMachine::attention_gradient(
    const Rows& q, const Rows& k, const Rows& v, const Attended& forward, const Rows& d_o) const {
  const auto tokens = static_cast<std::int64_t>(q.size() / width());
  const auto stored = [&](const Rows& rows) { return tensor_of(FormatId::bf16, rows, shape_); };
  const auto source = [&](const Rows& rows) { return tensor_of(FormatId::f32, rows, shape_); };
  const Tensor q_bits = stored(q), k_bits = stored(k), v_bits = stored(v),
               o_bits = stored(forward.o), do_bits = stored(d_o), q_source = source(q),
               k_source = source(k), v_source = source(v), do_source = source(d_o);
  Tensor lse(dense_layout(FormatId::f32, {1, shape_.heads, tokens}));
  std::int64_t at = 0;
  for (const Rows& of_head : forward.lse) {
    for (const double value : of_head) lse.set_bits(at++, encode(format(FormatId::f32), value));
  }
  AttentionBackwardProblem problem;
  problem.attention.q = &q_bits;
  problem.attention.k = &k_bits;
  problem.attention.v = &v_bits;
  problem.attention.output = FormatId::f32;  // stored below, as this arithmetic converts
  problem.attention.scale = 1 / std::sqrt(static_cast<float>(shape_.head_width()));
  problem.attention.mask.causal = Causal::bottom_right;
  problem.o = &o_bits;
  problem.lse = &lse;
  problem.d_o = &do_bits;
  const auto staged = staged_attention_backward(
      problem, {}, arithmetic_.sm, {.q = &q_source, .k = &k_source, .v = &v_source}, do_source);
  const StagedValues gradients = staged->evaluate(staged->all_stages());
  const auto rows = [&](const std::vector<double>& of_heads) {
    Rows out(of_heads.size());
    for (std::size_t i = 0; i < of_heads.size(); ++i)
      out[static_cast<std::size_t>(q_bits.layout.storage_index(static_cast<std::int64_t>(i)))] =
          arithmetic_.stored(of_heads[i]);
    return out;
  };
  return {rows(gradients[0]), rows(gradients[1]), rows(gradients[2])};
}

void StackMachine::add(const StackLayer& layer, std::size_t half, const Rows& y, Rows& x) const {
  const double scale = to_f32(shape_.residual_scale);
  for (std::size_t n = 0; n < x.size(); ++n) {
    double step = y[n];
    if (shape_.adaptive) step = to_f32(step * static_cast<double>(layer.gain[half][n % width()]));
    x[n] = arithmetic_.stored_residual(static_cast<double>(f32_fma(step, scale, x[n])));
  }
}

Rows StackMachine::branch_gradient(const StackLayer& layer, std::size_t half, const Rows& g) const {
  const double scale = to_f32(shape_.residual_scale);
  Rows out;
  for (std::size_t n = 0; n < g.size(); ++n) {
    double step = to_f32(scale * g[n]);
    if (shape_.adaptive) step = to_f32(step * static_cast<double>(layer.gain[half][n % width()]));
    out.push_back(arithmetic_.stored(step));
  }
  return out;
}

}  // namespace plumbline
