// SPDX-License-Identifier: MIT
// Attention backward cases with their tensors, and a kernel to judge: the contract's arithmetic
// step by step in f32, on the accumulators of oracles/bounds/accumulator/model.h, with an ex2 that
// errs as it likes within its limit, sums in any order where the contract allows any, and places to
// go wrong on purpose. It shares no code with the oracle but the masks and the formats.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/bounds/accumulator/model.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/attention_backward/attention_backward.h"

namespace plumbline::testing {

enum class GradientValues : std::uint8_t {
  normal,    // N(0, 1)
  peaked,    // scores eight times as large
  offset,    // all scores near +200
  rising,    // later keys score higher
  zero_q,    // equal probabilities
  equal_v,   // every v the same small integers, q and dO integers: dS = 0
  one_hot,   // one key takes all, in every row
  zero_do,   // no gradient comes in
  wide,      // magnitudes over 2^-12 ... 2^12
  constant,  // every dO about parallel to O: dP - delta cancels
};

inline constexpr GradientValues kGradientValues[] = {
    GradientValues::normal,  GradientValues::peaked,  GradientValues::offset,
    GradientValues::rising,  GradientValues::zero_q,  GradientValues::equal_v,
    GradientValues::one_hot, GradientValues::zero_do, GradientValues::wide,
    GradientValues::constant};

// What elements of Q, K, V and dO stand for, times themselves, and what dS is multiplied by.
struct SampleScales {
  float q = 1, k = 1, v = 1, d_o = 1, ds = 1;

  bool any() const { return q != 1 || k != 1 || v != 1 || d_o != 1 || ds != 1; }
};

struct GradientSetup {
  std::int64_t batch = 1, heads = 2, kv_heads = 1, queries = 24, keys = 40, d = 32, dv = 32;
  AttentionMask mask;
  float scale = 0.25f, softcap = 0;
  bool bias = false, sink = false;
  std::vector<std::int64_t> query_lengths, key_lengths;  // packed sequences; empty: none
  std::int64_t slack = 0;                                // rows after the last sequence
  FormatId input = FormatId::bf16, output = FormatId::bf16;
  bool fp8 = false;  // Q, K and V in e4m3, dO in e5m2, O in bf16
  SampleScales scales;
  GradientValues values = GradientValues::normal;
  std::uint64_t seed = 1;
};

// Owns what an AttentionBackwardProblem points to. Not movable.
struct GradientCase {
  Tensor q, k, v, o, lse, d_o, bias, sink, query_starts, key_starts;
  Tensor q_scale, k_scale, v_scale, do_scale, ds_scale;
  SampleScales scales;
  AttentionBackwardProblem problem;

  explicit GradientCase(const GradientSetup& setup);
  GradientCase(const GradientCase&) = delete;

  Tensor output(int which) const {
    const Tensor& like = which == 0 ? q : which == 1 ? k : v;
    return Tensor(dense_layout(problem.attention.output, like.layout.shape));
  }

  void restore_forward();  // o and lse from what q, k, v... are now
};

inline double normal_number(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * M_PI * random.unit());
}

inline void put(Tensor& tensor, std::int64_t linear, double value) {
  tensor.set_bits(linear,
                  encode(format(tensor.layout.format), value, {.overflow = Overflow::saturate}));
}

inline double at(const Tensor& tensor, std::int64_t linear) {
  return to_double(format(tensor.layout.format), tensor.bits(linear));
}

inline GradientCase::GradientCase(const GradientSetup& setup) {
  std::int64_t batch = setup.batch, queries = setup.queries, keys = setup.keys;
  if (!setup.query_lengths.empty()) {
    batch = 1;
    const auto starts = [&](const std::vector<std::int64_t>& lengths, Tensor& out) {
      out = Tensor(dense_layout(FormatId::s32, {static_cast<std::int64_t>(lengths.size()) + 1}));
      std::int64_t total = 0;
      for (std::size_t s = 0; s < lengths.size(); ++s) {
        total += lengths[s];
        out.set_bits(static_cast<std::int64_t>(s) + 1, static_cast<std::uint64_t>(total));
      }
      return total + setup.slack;
    };
    queries = starts(setup.query_lengths, query_starts);
    keys = starts(setup.key_lengths, key_starts);
  }
  const FormatId input = setup.fp8 ? FormatId::e4m3 : setup.input;
  q = Tensor(dense_layout(input, {batch, setup.heads, queries, setup.d}));
  k = Tensor(dense_layout(input, {batch, setup.kv_heads, keys, setup.d}));
  v = Tensor(dense_layout(input, {batch, setup.kv_heads, keys, setup.dv}));
  o = Tensor(dense_layout(setup.input, {batch, setup.heads, queries, setup.dv}));
  d_o = Tensor(dense_layout(setup.fp8 ? FormatId::e5m2 : setup.input,
                            {batch, setup.heads, queries, setup.dv}));
  lse = Tensor(dense_layout(FormatId::f32, {batch, setup.heads, queries}));
  Random random(setup.seed);
  const auto fill = [&](Tensor& tensor, auto&& value) {
    const std::int64_t width = tensor.layout.shape[3], rows = tensor.layout.shape[2];
    for (std::int64_t p = 0; p < tensor.layout.count(); ++p)
      put(tensor, p, value(p / width % rows, p % width));
  };
  const auto draw = [&](std::int64_t, std::int64_t) { return normal_number(random); };
  const auto integer = [&](std::int64_t, std::int64_t) {
    return static_cast<double>(random.between(-3, 3));
  };
  for (Tensor* tensor : {&q, &k, &v, &d_o}) fill(*tensor, draw);
  switch (setup.values) {
    case GradientValues::normal:
      break;
    case GradientValues::peaked:
      fill(q, [&](auto, auto) { return 8 * normal_number(random); });
      break;
    case GradientValues::offset:
      fill(q, [&](auto, std::int64_t x) { return x == 0 ? 40.0 : normal_number(random); });
      fill(k, [&](auto, std::int64_t x) {
        return x == 0 ? 5 / static_cast<double>(setup.scale) : normal_number(random);
      });
      break;
    case GradientValues::rising:
      fill(q, [&](auto, std::int64_t x) { return x == 0 ? 2.0 : normal_number(random); });
      fill(k, [&](std::int64_t j, std::int64_t x) {
        return x == 0 ? static_cast<double>(j) : normal_number(random);
      });
      break;
    case GradientValues::zero_q:
      fill(q, [&](auto, auto) { return 0.0; });
      break;
    case GradientValues::equal_v:
      for (Tensor* tensor : {&q, &k, &d_o}) fill(*tensor, integer);
      fill(v, [&](auto, std::int64_t x) { return static_cast<double>(x % 5) - 2; });
      break;
    case GradientValues::one_hot:
      fill(q, [&](auto, std::int64_t x) { return x == 0 ? 64.0 : 0.0; });
      fill(k, [&](std::int64_t j, std::int64_t x) { return x == 0 ? (j == 0 ? 32.0 : 0.0) : 1.0; });
      break;
    case GradientValues::zero_do:
      fill(d_o, [&](auto, auto) { return 0.0; });
      break;
    case GradientValues::wide:
      for (Tensor* tensor : {&q, &k, &v, &d_o}) {
        fill(*tensor, [&](auto, auto) {
          return std::ldexp(normal_number(random), static_cast<int>(random.between(-12, 3)));
        });
      }
      break;
    case GradientValues::constant:
      fill(v, [&](auto, std::int64_t x) {
        return 1 + static_cast<double>(x % 3) + 0x1p-6 * normal_number(random);
      });
      fill(d_o, [&](auto, std::int64_t x) {
        return 1 + static_cast<double>(x % 3) + 0x1p-6 * normal_number(random);
      });
      break;
  }
  AttentionProblem& attention = problem.attention;
  attention.q = &q;
  attention.k = &k;
  attention.v = &v;
  if (setup.bias) {
    bias = Tensor(dense_layout(FormatId::f32, {setup.heads, queries, keys}));
    for (std::int64_t p = 0; p < bias.layout.count(); ++p) put(bias, p, normal_number(random));
    attention.bias = &bias;
  }
  if (setup.sink) {
    sink = Tensor(dense_layout(FormatId::f32, {setup.heads}));
    for (std::int64_t p = 0; p < setup.heads; ++p) put(sink, p, normal_number(random));
    attention.sink = &sink;
  }
  if (!setup.query_lengths.empty()) {
    attention.query_starts = &query_starts;
    attention.key_starts = &key_starts;
  }
  attention.output = setup.output;
  attention.scale = setup.scale;
  attention.softcap = setup.softcap;
  attention.mask = setup.mask;
  problem.o = &o;
  problem.lse = &lse;
  problem.d_o = &d_o;
  scales = setup.scales;
  if (scales.any()) {
    const auto scale = [](Tensor& tensor, float value) {
      tensor = Tensor(dense_layout(FormatId::f32, {1}));
      put(tensor, 0, static_cast<double>(value));
      return &tensor;
    };
    attention.q_scale = scale(q_scale, scales.q);
    attention.k_scale = scale(k_scale, scales.k);
    attention.v_scale = scale(v_scale, scales.v);
    problem.do_scale = scale(do_scale, scales.d_o);
    problem.ds_scale = scale(ds_scale, scales.ds);
  }
  restore_forward();
}

// In plain double, rounded at the end: about what a forward kernel leaves.
inline void GradientCase::restore_forward() {
  for (const HeadPlace& place : head_places(problem.attention)) {
    const AttentionHead head = attention_head(problem.attention, place);
    for (std::int64_t i = 0; i < head.queries; ++i) {
      const KeyRange visible = head.visible(i);
      std::vector<double> logits;
      double largest = -std::numeric_limits<double>::infinity();
      if (head.has_sink) largest = static_cast<double>(head.sink);
      for (std::int64_t j = visible.first; j < visible.end; ++j) {
        double s = 0;
        for (std::int64_t x = 0; x < head.d; ++x) {
          s += static_cast<double>(head.q[static_cast<std::size_t>(i * head.d + x)]) *
               static_cast<double>(head.k[static_cast<std::size_t>(j * head.d + x)]);
        }
        s *= static_cast<double>(head.scale);
        if (head.softcap != 0) {
          const auto cap = static_cast<double>(head.softcap);
          s = cap * std::tanh(s / cap);
        }
        if (!head.bias.empty())
          s += static_cast<double>(head.bias[static_cast<std::size_t>(i * head.keys + j)]);
        logits.push_back(s);
        largest = std::max(largest, s);
      }
      std::vector<double> out(static_cast<std::size_t>(head.dv));
      double sum = head.has_sink ? std::exp(static_cast<double>(head.sink) - largest) : 0;
      for (std::size_t t = 0; t < logits.size(); ++t) {
        const double p = std::exp(logits[t] - largest);
        sum += p;
        for (std::int64_t x = 0; x < head.dv; ++x) {
          out[static_cast<std::size_t>(x)] +=
              p * static_cast<double>(head.v[static_cast<std::size_t>(
                      (visible.first + static_cast<std::int64_t>(t)) * head.dv + x)]);
        }
      }
      const std::int64_t rows = q.layout.shape[2];
      const std::int64_t row =
          (place.batch * q.layout.shape[1] + place.head) * rows + place.first_query + i;
      const bool any = std::isfinite(largest);
      put(lse, row, any ? largest + std::log(sum) : -std::numeric_limits<double>::infinity());
      if (!any) lse.set_bits(row, 0xff800000u);
      for (std::int64_t x = 0; x < head.dv; ++x)
        put(o, row * head.dv + x,
            any ? out[static_cast<std::size_t>(x)] / sum * static_cast<double>(scales.v) : 0);
    }
  }
}

// What may go wrong.
enum class Mistake : std::uint8_t {
  none,
  no_delta,
  delta_of_other_row,
  no_scale_on_dq,
  no_scale_on_dk,
  extra_ln2,
  no_softcap_slope,
  one_head_of_group,
  causal_other_way,
  diagonal_one_right,
  diagonal_one_left,
  window_one_wider,
  last_query_missing,
  last_key_missing,
  narrow_v,  // dP over the first few columns only
  p_not_rounded,
  ds_not_rounded,
  d_o_of_next_row,
  score_in_bf16,
  scale_in_bf16,
  lse_in_bf16,
  truncated_ds,
  output_truncated,
  // Of kernels with scales and narrow formats.
  delta_without_scale,
  dp_without_scales,
  ds_scale_not_taken_back,
  q_and_k_scale_swapped,
  no_do_scale_on_dv,
  p_shift_not_taken_back,
  p_without_shift,
};

struct GradientModel {
  AttentionBackwardContract contract;
  int sm = 90;
  std::uint64_t seed = 1;
  bool extreme = false;  // ex2 errs as far as it may
  Mistake mistake = Mistake::none;
};

struct Gradients {
  Tensor dq, dk, dv;
};

Gradients model_gradients(const GradientCase& example, const GradientModel& model);

namespace gradient_model {

// 8 bits saturate.
inline float as(FormatId to, float x) {
  const Overflow overflow =
      format(to).storage_bits == 8 ? Overflow::saturate : Overflow::to_special;
  return static_cast<float>(
      to_double(format(to), encode(format(to), static_cast<double>(x), {.overflow = overflow})));
}

inline float truncated(FormatId to, float x) {
  return static_cast<float>(to_double(
      format(to), encode(format(to), static_cast<double>(x), {.rounding = Rounding::toward_zero})));
}

// One result of ex2.approx.ftz within its error.
inline float ex2(float t, Random& random, bool extreme) {
  if (t == 0) return 1;
  const double exact = std::exp2(static_cast<double>(t));
  if (exact < 0x1p-127) return 0;
  if (exact >= 0x1p127) return std::exp2(t);
  const double side = extreme ? (random.below(2) == 0 ? -1.0 : 1.0) : 2 * random.unit() - 1;
  float result = static_cast<float>(exact * (1 + side * kEx2Error));
  while (std::fabs(static_cast<double>(result) - exact) > kEx2Error * exact)
    result = std::nextafterf(result, static_cast<float>(exact));
  return result < 0x1p-126f ? 0 : result;
}

inline float tanh(float x, Random& random, bool extreme) {
  const float e = ex2(x * static_cast<float>(2 * M_LOG2E), random, extreme);
  return 1 - 2 / (1 + e);
}

}  // namespace gradient_model

inline Gradients model_gradients(const GradientCase& example, const GradientModel& model) {
  using namespace gradient_model;
  const AttentionBackwardProblem& problem = example.problem;
  const AttentionBackwardContract& contract = model.contract;
  const Mistake mistake = model.mistake;
  const auto& shape_q = example.q.layout.shape;
  const auto& shape_k = example.k.layout.shape;
  const FormatId in = example.q.layout.format, in_do = example.d_o.layout.format;
  const std::int64_t step = format(in).storage_bits == 8 ? 32 : 16;  // of an instruction
  const SampleScales& scales = example.scales;
  const float shift = std::ldexp(1.0f, mistake == Mistake::p_without_shift ? 0 : contract.p_shift);
  const std::int64_t d = shape_q[3], dv = example.v.layout.shape[3];
  Gradients out{example.output(0), example.output(1), example.output(2)};
  Random random(model.seed);
  const auto run = [&](const Contract& sum, FormatId a, FormatId b, const std::vector<float>& row,
                       const std::vector<float>& column) {
    if (row.empty()) return 0.0f;
    AccumulatorOptions options;
    if (sum.join == Join::f32_atomic) {
      for (std::int64_t p = 0; p < sum.parts; ++p) options.join_order.push_back(p);
      for (std::int64_t p = sum.parts - 1; p > 0; --p) {
        std::swap(options.join_order[static_cast<std::size_t>(p)],
                  options.join_order[random.below(static_cast<std::uint64_t>(p) + 1)]);
      }
    }
    return run_accumulator(sum, model.sm, a, b, row.data(), column.data(),
                           static_cast<std::int64_t>(row.size()), options)
        .value;
  };
  const auto store = [&](Tensor& tensor, std::int64_t linear, float value) {
    const Format& f = format(tensor.layout.format);
    EncodeOptions options;
    if (mistake == Mistake::output_truncated) options.rounding = Rounding::toward_zero;
    tensor.set_bits(linear, encode(f, static_cast<double>(value), options));
  };
  // What sums of dS are multiplied by.
  const auto factor_of = [&](float element_scale) {
    const float own = problem.attention.scale;
    const float scale = mistake == Mistake::scale_in_bf16 ? as(FormatId::bf16, own) : own;
    const float factor = scale * element_scale;
    return mistake == Mistake::ds_scale_not_taken_back ? factor : factor / scales.ds;
  };
  const auto part = [](const std::vector<float>& rows, std::int64_t row, std::int64_t width) {
    return std::vector<float>(rows.begin() + row * width, rows.begin() + (row + 1) * width);
  };

  for (const auto& places : gradient_groups(problem)) {
    const GradientGroup group = gradient_group(problem, places);
    const AttentionHead& any = group.heads[0].head;
    const std::int64_t keys = any.keys, queries = any.queries,
                       padded = (queries + step - 1) / step * step;
    const auto heads = static_cast<std::int64_t>(group.heads.size());
    // [key][head * padded + query]
    std::vector<std::vector<float>> p_lines(static_cast<std::size_t>(keys)), ds_lines(p_lines);
    for (auto* lines : {&p_lines, &ds_lines})
      for (auto& line : *lines) line.resize(static_cast<std::size_t>(heads * padded));
    for (std::int64_t h = 0; h < heads; ++h) {
      const GradientHead& one = group.heads[static_cast<std::size_t>(h)];
      AttentionHead head = one.head;
      if (mistake == Mistake::causal_other_way && head.mask.causal != Causal::none) {
        head.mask.causal =
            head.mask.causal == Causal::top_left ? Causal::bottom_right : Causal::top_left;
      }
      if (mistake == Mistake::window_one_wider && head.mask.window_left >= 0)
        ++head.mask.window_left;
      const float log2e = static_cast<float>(M_LOG2E);
      const float scale =
          mistake == Mistake::scale_in_bf16 ? as(FormatId::bf16, head.scale) : head.scale;
      const float c = head.natural_units() ? log2e : scale * log2e;
      for (std::int64_t i = 0; i < queries; ++i) {
        const std::vector<float> q = part(head.q, i, d);
        std::int64_t do_row = i;
        if (mistake == Mistake::d_o_of_next_row) do_row = (i + 1) % queries;
        const std::vector<float> d_o = part(one.d_o, do_row, dv);
        // delta in some order.
        std::int64_t delta_row = i;
        if (mistake == Mistake::delta_of_other_row) delta_row = (i + 1) % queries;
        std::vector<float> terms;
        for (std::int64_t x = 0; x < dv; ++x) {
          const auto at = static_cast<std::size_t>(delta_row * dv + x);
          terms.push_back(one.d_o[at] * one.o[at]);
        }
        while (terms.size() > 1) {
          const std::size_t a = random.below(terms.size());
          const float x = terms[a];
          terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(a));
          terms[random.below(terms.size())] += x;
        }
        float delta = mistake == Mistake::no_delta ? 0 : terms[0];
        if (mistake != Mistake::delta_without_scale) delta *= scales.d_o;
        float lse = one.lse[static_cast<std::size_t>(i)];
        if (mistake == Mistake::lse_in_bf16) lse = as(FormatId::bf16, lse);
        const float r = lse * log2e;
        std::vector<float> ds_row(static_cast<std::size_t>(keys));
        KeyRange visible = head.visible(i);
        if (mistake == Mistake::diagonal_one_right && head.mask.causal != Causal::none)
          visible.end = std::min(keys, visible.end + 1);
        if (mistake == Mistake::diagonal_one_left && head.mask.causal != Causal::none)
          --visible.end;
        if (mistake == Mistake::last_key_missing) visible.end = std::min(visible.end, keys - 1);
        if (mistake == Mistake::last_query_missing && i == queries - 1) visible.end = visible.first;
        for (std::int64_t j = visible.first; j < visible.end && !std::isinf(lse); ++j) {
          float s = run(contract.sum(), in, in, q, part(head.k, j, d));
          if (mistake == Mistake::score_in_bf16) s = as(FormatId::bf16, s);
          float z = s, t = 0;
          if (head.softcap != 0) {
            t = gradient_model::tanh(s * (scale / head.softcap), random, model.extreme);
            z = head.softcap * t;
          } else if (contract.natural_difference || head.natural_units()) {
            z = s * scale;
          }
          if (!head.bias.empty()) z += head.bias[static_cast<std::size_t>(i * keys + j)];
          const float argument =
              contract.natural_difference ? (z - lse) * log2e : std::fmaf(z, c, -r);
          const float p = ex2(argument, random, model.extreme);
          std::vector<float> v = part(head.v, j, dv);
          if (mistake == Mistake::narrow_v)
            std::fill(v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end(), 0.0f);
          float dp = run(contract.sum(), in_do, in, d_o, v);
          if (mistake != Mistake::dp_without_scales) dp *= scales.d_o * scales.v;
          float ds = p * (dp - delta);
          if (head.softcap != 0 && mistake != Mistake::no_softcap_slope) ds = ds * (1 - t * t);
          ds *= scales.ds;
          const auto index = static_cast<std::size_t>(h * padded + i);
          const auto key = static_cast<std::size_t>(j);
          p_lines[key][index] =
              mistake == Mistake::p_not_rounded ? p * shift : as(contract.p, p * shift);
          const float rounded = mistake == Mistake::ds_not_rounded ? ds
                                : mistake == Mistake::truncated_ds ? truncated(contract.ds, ds)
                                                                   : as(contract.ds, ds);
          ds_row[key] = ds_lines[key][index] = rounded;
        }
        std::vector<float> column(static_cast<std::size_t>(keys));
        for (std::int64_t x = 0; x < d; ++x) {
          for (std::int64_t j = 0; j < keys; ++j)
            column[static_cast<std::size_t>(j)] = head.k[static_cast<std::size_t>(j * d + x)];
          float dq = 0;
          if (mistake == Mistake::ds_not_rounded) {
            for (std::size_t j = 0; j < column.size(); ++j)
              dq = std::fmaf(ds_row[j], column[j], dq);
          } else {
            dq = run(contract.sum_of_dq(keys), contract.ds, in, ds_row, column);
          }
          const float of_k = mistake == Mistake::q_and_k_scale_swapped ? scales.q : scales.k;
          if (mistake != Mistake::no_scale_on_dq) dq *= factor_of(of_k);
          if (mistake == Mistake::extra_ln2) dq *= static_cast<float>(M_LN2);
          const HeadPlace& place = places[static_cast<std::size_t>(h)];
          const std::int64_t row =
              (place.batch * shape_q[1] + place.head) * shape_q[2] + place.first_query + i;
          store(out.dq, row * d + x, dq);
        }
      }
    }
    for (std::int64_t j = 0; j < keys; ++j) {
      const auto gradient = [&](const std::vector<float>& line, FormatId weights, bool of_q,
                                std::int64_t x, bool rounded) {
        std::vector<float> column(line.size());
        std::vector<float> mine = line;
        for (std::int64_t h = 0; h < heads; ++h) {
          const GradientHead& one = group.heads[static_cast<std::size_t>(h)];
          for (std::int64_t i = 0; i < queries; ++i) {
            std::int64_t row = i;
            if (!of_q && mistake == Mistake::d_o_of_next_row) row = (i + 1) % queries;
            column[static_cast<std::size_t>(h * padded + i)] =
                of_q ? one.head.q[static_cast<std::size_t>(i * d + x)]
                     : one.d_o[static_cast<std::size_t>(row * dv + x)];
            if (mistake == Mistake::one_head_of_group && h > 0)
              mine[static_cast<std::size_t>(h * padded + i)] = 0;
          }
        }
        if (rounded) return run(contract.sum(), weights, of_q ? in : in_do, mine, column);
        float sum = 0;
        for (std::size_t t = 0; t < mine.size(); ++t) sum = std::fmaf(mine[t], column[t], sum);
        return sum;
      };
      const HeadPlace& place = places[0];
      const std::int64_t row =
          (place.batch * shape_k[1] + place.kv_head) * shape_k[2] + place.first_key + j;
      const auto key = static_cast<std::size_t>(j);
      for (std::int64_t x = 0; x < d; ++x) {
        float dk =
            gradient(ds_lines[key], contract.ds, true, x, mistake != Mistake::ds_not_rounded);
        const float of_q = mistake == Mistake::q_and_k_scale_swapped ? scales.k : scales.q;
        if (mistake != Mistake::no_scale_on_dk) dk *= factor_of(of_q);
        store(out.dk, row * d + x, dk);
      }
      for (std::int64_t x = 0; x < dv; ++x) {
        const float dv_sum =
            gradient(p_lines[key], contract.p, false, x, mistake != Mistake::p_not_rounded);
        const float taken_back =
            mistake == Mistake::p_shift_not_taken_back ? 1 : std::ldexp(1.0f, -contract.p_shift);
        const float d_o_scale = mistake == Mistake::no_do_scale_on_dv ? 1 : scales.d_o;
        store(out.dv, row * dv + x, dv_sum * (d_o_scale * taken_back));
      }
    }
  }
  return out;
}

}  // namespace plumbline::testing
