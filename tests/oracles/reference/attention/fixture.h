// SPDX-License-Identifier: MIT
// Small attention problems with their tensors, in the value regimes that matter to a softmax, and
// the outputs a conforming (or a broken) kernel gives on them.
#pragma once

#include <numbers>
#include <optional>
#include <string>

#include "oracles/formats/encode.h"
#include "oracles/reference/attention/oracle.h"
#include "tests/oracles/reference/attention/model.h"

namespace plumbline::testing {

enum class Scores {
  normal,
  peaked,
  far_negative,
  hundreds,
  rising,
  one_hot,
  equal,
  constant_keys,
  integers,
  tiny,
  enormous  // beyond what f32 knows to within one: the rounding of m c alone moves p
};
enum class Values { normal, positive, cancelling, integers, wide, sparse, vanishing };

inline constexpr Scores kAllScores[] = {
    Scores::normal,   Scores::peaked,  Scores::far_negative, Scores::hundreds,
    Scores::rising,   Scores::one_hot, Scores::equal,        Scores::constant_keys,
    Scores::integers, Scores::tiny,    Scores::enormous};
inline constexpr Values kAllValues[] = {Values::normal,   Values::positive, Values::cancelling,
                                        Values::integers, Values::wide,     Values::sparse,
                                        Values::vanishing};

struct AttentionSetup {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 6, keys = 70, d = 16, dv = 8;
  AttentionMask mask = {};
  bool bias = false, sink = false, scales = false;
  // Rows of Q, K and an 8-bit V that share a scale; 0: none do.
  std::int64_t scale_block = 0;
  double sink_size = 2;  // of normal numbers
  float softcap = 0;
  std::optional<float> scale = {};  // else 1 / sqrt(d)
  LseKind lse = LseKind::natural;
  FormatId output = FormatId::f32, format = FormatId::bf16;
  std::optional<FormatId> value_format = {};  // of V; else the same

  FormatId of_values() const { return value_format.value_or(format); }

  double largest() const {
    const Format& row = plumbline::format(format);
    return to_double(row, row.max_finite());
  }

  // What Q and K are stored times, so that 8-bit integers have use of their bits.
  double units() const { return plumbline::format(format).is_integer ? 16 : 1; }

  Scores scores = Scores::normal;
  Values values = Values::normal;
  std::uint64_t seed = 1;
};

// The elements times 2^exponent, as the format rounds them; none becomes infinite.
inline void scale(Tensor& tensor, int exponent) {
  const Format& f = format(tensor.layout.format);
  for (std::int64_t n = 0; n < tensor.layout.count(); ++n)
    tensor.set_bits(n, encode(f, std::ldexp(to_double(f, tensor.bits(n)), exponent),
                              {.overflow = Overflow::saturate}));
}

inline double normal(Random& random) {
  return std::sqrt(-2 * std::log(1 - random.unit())) *
         std::cos(2 * std::numbers::pi * random.unit());
}

// Owns what an AttentionProblem points to. Not movable.
struct Attention {
  Tensor q, k, v, bias, sink, q_scale, k_scale, v_scale, o, lse;
  AttentionProblem problem;

  explicit Attention(const AttentionSetup& setup) {
    using Shape = std::vector<std::int64_t>;
    q = Tensor(dense_layout(setup.format, Shape{setup.batch, setup.heads, setup.queries, setup.d}));
    k = Tensor(dense_layout(setup.format, Shape{setup.batch, setup.kv_heads, setup.keys, setup.d}));
    v = Tensor(
        dense_layout(setup.of_values(), Shape{setup.batch, setup.kv_heads, setup.keys, setup.dv}));
    o = Tensor(
        dense_layout(setup.output, Shape{setup.batch, setup.heads, setup.queries, setup.dv}));
    lse = Tensor(dense_layout(FormatId::f32, Shape{setup.batch, setup.heads, setup.queries}));
    Random random(setup.seed);
    const auto put = [&](Tensor& tensor, std::int64_t at, double value) {
      tensor.set_bits(at, encode(format(tensor.layout.format), value));
    };
    const auto width = setup.d;
    for (std::int64_t n = 0; n < q.layout.count(); ++n)
      put(q, n, setup.units() * q_value(setup, n % width, random));
    for (std::int64_t n = 0; n < k.layout.count(); ++n)
      put(k, n, setup.units() * k_value(setup, n / width % setup.keys, n % width, random));
    for (std::int64_t n = 0; n < v.layout.count(); ++n)
      put(v, n, v_value(setup, n / setup.dv % setup.keys, random));
    problem.q = &q;
    problem.k = &k;
    problem.v = &v;
    if (setup.bias) {
      bias = Tensor(dense_layout(FormatId::f32, Shape{setup.heads, setup.queries, setup.keys}));
      for (std::int64_t n = 0; n < bias.layout.count(); ++n) {
        const bool hides = random.below(8) == 0;
        put(bias, n, hides ? -std::numeric_limits<double>::infinity() : 3 * normal(random));
      }
      problem.bias = &bias;
    }
    if (setup.sink) {
      sink = Tensor(dense_layout(FormatId::f32, Shape{setup.heads}));
      for (std::int64_t n = 0; n < setup.heads; ++n) put(sink, n, setup.sink_size * normal(random));
      problem.sink = &sink;
    }
    // Some are powers of two, the others have all bits f32 has.
    const auto fill = [&](Tensor& scales, Shape shape, double unit) {
      scales = Tensor(dense_layout(FormatId::f32, std::move(shape)));
      for (std::int64_t n = 0; n < scales.layout.count(); ++n) {
        const double factor = random.below(3) == 0 ? 1 : 1 + random.unit();
        put(scales, n, std::ldexp(factor, static_cast<int>(random.between(-2, 1))) / unit);
      }
      return &scales;
    };
    if (setup.scale_block > 0) {
      const auto blocks = [&](std::int64_t rows) {
        return (rows + setup.scale_block - 1) / setup.scale_block;
      };
      problem.scale_block = setup.scale_block;
      problem.q_scale =
          fill(q_scale, {setup.batch, setup.heads, blocks(setup.queries)}, setup.units());
      problem.k_scale =
          fill(k_scale, {setup.batch, setup.kv_heads, blocks(setup.keys)}, setup.units());
      if (plumbline::format(setup.of_values()).storage_bits == 8)
        problem.v_scale = fill(v_scale, {setup.batch, setup.kv_heads, blocks(setup.keys)}, 1);
    } else if (setup.scales) {
      problem.q_scale = fill(q_scale, {setup.batch, setup.heads}, setup.units());
      problem.k_scale = fill(k_scale, {setup.batch, setup.kv_heads}, setup.units());
      problem.v_scale = fill(v_scale, {setup.batch, setup.kv_heads}, 1);
    }
    problem.output = setup.output;
    problem.lse = setup.lse;
    problem.scale = setup.scale.value_or(1 / std::sqrt(static_cast<float>(setup.d)));
    if (!problem.q_scale) problem.scale /= static_cast<float>(setup.units() * setup.units());
    problem.softcap = setup.softcap;
    problem.mask = setup.mask;
  }

  Attention(const Attention&) = delete;

  static double q_value(const AttentionSetup& setup, std::int64_t x, Random& random) {
    switch (setup.scores) {
      case Scores::peaked:
        return 8 * normal(random);
      case Scores::far_negative:
        return x == 0 ? 500 : normal(random);
      case Scores::hundreds:
        return x == 0 ? 100 : normal(random);
      case Scores::rising:
        return x == 0 ? 4 : 0.25 * normal(random);
      case Scores::one_hot:
        return x == 0 ? 64 : 0;
      case Scores::equal:
        return 0;
      case Scores::integers:
        return static_cast<double>(random.between(-4, 4));
      case Scores::tiny:
        return 0x1p-60 * normal(random);
      case Scores::enormous:
        return x == 0 ? std::min(
                            std::ldexp(1 + random.unit(), static_cast<int>(random.between(10, 45))),
                            setup.largest() / setup.units())
                      : normal(random);
      default:
        return normal(random);
    }
  }

  static double k_value(const AttentionSetup& setup, std::int64_t j, std::int64_t x,
                        Random& random) {
    switch (setup.scores) {
      case Scores::far_negative:
        return x == 0 ? -1000 : normal(random);
      case Scores::hundreds:
        return x == 0 ? 8 : normal(random);
      case Scores::rising:
        return x == 0 ? 0.25 * static_cast<double>(j) : normal(random);
      case Scores::one_hot:
        return x == 0 ? (j == setup.keys / 2 ? 128 : -128) : 0;
      case Scores::constant_keys:
        return 0.37 * static_cast<double>(x + 1);
      case Scores::integers:
        return static_cast<double>(random.between(-4, 4));
      default:
        return normal(random);
    }
  }

  static double v_value(const AttentionSetup& setup, std::int64_t j, Random& random) {
    switch (setup.values) {
      case Values::positive:
        return 1 + random.unit();
      case Values::cancelling:
        return (j % 2 == 0 ? 1 : -1) * (100 + 0.01 * normal(random));
      case Values::integers:
        return static_cast<double>(random.between(-8, 8));
      case Values::sparse:  // whole tiles of a column are 0
        return random.below(40) == 0 ? normal(random) : 0;
      case Values::vanishing:  // 0, or a product with an f32 subnormal to be
        return random.below(2) == 0 ? 0 : std::ldexp(normal(random), -110);
      case Values::wide:
        return std::ldexp(normal(random), static_cast<int>(random.between(-20, 20)));
      default:
        return normal(random);
    }
  }

  // The outputs of a kernel.
  void run(const AttentionContract& contract, int sm, Errors errors = Errors::random,
           std::uint64_t seed = 1, AttentionFaultSwitches faults = {}) {
    const std::int64_t queries = q.layout.shape[2], dv = v.layout.shape[3];
    for (const HeadPlace& place : head_places(problem)) {
      const AttentionHead head = attention_head(problem, place);
      AttentionModel model(head, contract, sm, q.layout.format, v.layout.format, errors,
                           seed + static_cast<std::uint64_t>(place.head), faults);
      for (std::int64_t i = 0; i < place.queries; ++i) {
        const ModelRow row = model.row(i);
        const std::int64_t at =
            (place.batch * problem.heads() + place.head) * queries + place.first_query + i;
        for (std::int64_t x = 0; x < dv; ++x)
          o.set_bits(at * dv + x,
                     encode(format(o.layout.format), double{row.o[static_cast<std::size_t>(x)]}));
        lse.set_bits(at, std::bit_cast<std::uint32_t>(row.lse));
      }
    }
  }
};

// A little of everything, by a number.
inline AttentionSetup varied_setup(int turn, Scores scores, Values values) {
  AttentionSetup setup;
  setup.scores = scores;
  setup.values = values;
  setup.seed = static_cast<std::uint64_t>(900 + turn);
  setup.queries = 3;
  setup.keys = 1 + turn * 7 % 131;
  setup.d = turn % 3 == 0 ? 40 : 16;
  setup.output = turn % 4 == 0 ? FormatId::bf16 : FormatId::f32;
  setup.bias = turn % 5 == 1;
  setup.sink = turn % 7 == 2;
  setup.scales = turn % 5 == 4;
  setup.softcap = turn % 6 == 3 ? 30.0f : 0.0f;
  if (turn % 3 == 1) setup.mask.causal = Causal::bottom_right;
  if (turn % 3 == 2) setup.mask.window_left = 20;
  return setup;
}

// 8-bit integers in Q and K, the rest in f16: the contract of attention_s8_forward.
inline AttentionContract integer_contract() {
  AttentionContract contract;
  contract.integer_scores = true;
  contract.p = FormatId::f16;
  return contract;
}

inline AttentionContract attention_contract_of(FormatId p = FormatId::bf16) {
  AttentionContract contract;
  contract.tile = 64;
  contract.p = p;
  return contract;
}

}  // namespace plumbline::testing
