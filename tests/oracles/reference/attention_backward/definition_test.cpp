// SPDX-License-Identifier: MIT
// The definition of attention's gradients is the derivative of attention: central differences of a
// forward pass written out here, over MPFR numbers, and identities that every gradient obeys.
#include "oracles/reference/attention_backward/definition.h"

#include <gtest/gtest.h>

#include "tests/oracles/reference/attention_backward/samples.h"

namespace plumbline::testing {
namespace {

using Number = RealOf<256>;

struct Variant {
  const char* name;
  AttentionMask mask;
  float softcap;
  bool bias, sink;
  SampleScales scales = {};  // powers of two: no factor is rounded
};

// clang-format off
const Variant kVariants[] = {
    {"plain",         {},                                0, false, false},
    {"bottom right",  {Causal::bottom_right, -1, -1},    0, false, false},
    {"top left",      {Causal::top_left, -1, -1},        0, false, false},
    {"window",        {Causal::none, 2, 1},              0, false, false},
    {"softcap",       {},                             1.5f, false, false},
    {"bias",          {},                                0, true,  false},
    {"sink",          {},                                0, false, true},
    {"everything",    {Causal::bottom_right, 3, -1},  1.5f, true,  true},
    {"scales",        {},                             1.5f, true,  true, {0.5f, 2, 0.25f, 8, 64}},
};

// clang-format on

GradientSetup setup_of(const Variant& variant) {
  GradientSetup setup;
  setup.heads = 3;
  setup.kv_heads = 1;
  setup.queries = 5;
  setup.keys = 6;
  setup.d = 4;
  setup.dv = 3;
  setup.scale = 0.6f;
  setup.mask = variant.mask;
  setup.softcap = variant.softcap;
  setup.bias = variant.bias;
  setup.sink = variant.sink;
  setup.scales = variant.scales;
  return setup;
}

// q of every head; k and v are shared.
struct Inputs {
  std::vector<std::vector<Number>> q;
  std::vector<Number> k, v;
};

std::vector<Number> numbers(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// Sum of dO * O over the group: its derivatives are the gradients.
Number loss(const GradientGroup& group, const Inputs& inputs) {
  Number total = 0;
  for (std::size_t h = 0; h < group.heads.size(); ++h) {
    const AttentionHead& head = group.heads[h].head;
    for (std::int64_t i = 0; i < head.queries; ++i) {
      const KeyRange visible = head.visible(i);
      Number sum = head.has_sink ? Number(exp(Number(head.sink))) : Number(0), weighted = 0;
      for (std::int64_t j = visible.first; j < visible.end; ++j) {
        Number s = 0, gain = 0;
        for (std::int64_t x = 0; x < head.d; ++x) {
          s += inputs.q[h][static_cast<std::size_t>(i * head.d + x)] *
               inputs.k[static_cast<std::size_t>(j * head.d + x)];
        }
        s *= Number(head.scale);
        if (head.softcap != 0) s = Number(head.softcap) * tanh(Number(s / Number(head.softcap)));
        if (!head.bias.empty()) s += Number(head.bias[static_cast<std::size_t>(i * head.keys + j)]);
        for (std::int64_t x = 0; x < head.dv; ++x) {
          gain += Number(group.heads[h].d_o[static_cast<std::size_t>(i * head.dv + x)]) *
                  inputs.v[static_cast<std::size_t>(j * head.dv + x)];
        }
        gain *= Number(group.heads[h].scales.dp());
        const Number weight = exp(s);
        sum += weight;
        weighted += weight * gain;
      }
      if (sum != 0) total += weighted / sum;
    }
  }
  return total;
}

using Rows = std::vector<std::vector<GradientRow<Number>>>;

Rows exact_rows(const GradientGroup& group) {
  Rows rows;
  for (const GradientHead& head : group.heads) {
    rows.emplace_back();
    for (std::int64_t i = 0; i < head.head.queries; ++i)
      rows.back().push_back(exact_row<Number>(head, i));
  }
  return rows;
}

TEST(AttentionBackwardDefinition, IsTheDerivativeOfAttention) {
  const Number step = ldexp(Number(1), -85), allowed = ldexp(Number(1), -150);
  for (const Variant& variant : kVariants) {
    const GradientCase example(setup_of(variant));
    const GradientGroup group =
        gradient_group(example.problem, gradient_groups(example.problem).front());
    Inputs inputs;
    for (const GradientHead& head : group.heads) inputs.q.push_back(numbers(head.head.q));
    inputs.k = numbers(group.heads[0].head.k);
    inputs.v = numbers(group.heads[0].head.v);
    const Rows rows = exact_rows(group);
    // Of an element, which stands for itself times `scale`.
    const auto check = [&](Number& input, const Number& gradient, float scale, const char* what) {
      const Number analytic = gradient * Number(scale);
      const Number here = input;
      input = here + step;
      const Number above = loss(group, inputs);
      input = here - step;
      const Number below = loss(group, inputs);
      input = here;
      const Number off = abs(Number((above - below) / (2 * step) - analytic));
      EXPECT_LT(off, allowed) << variant.name << ", " << what;
    };
    for (const std::int64_t i : {0, 2, 4}) {
      for (std::size_t h = 0; h < 2; ++h) {
        const auto dq =
            defined_dq<Number>(group.heads[h], rows[h][static_cast<std::size_t>(i)], i, nullptr);
        check(inputs.q[h][static_cast<std::size_t>(i * 4 + 1)], dq[1], variant.scales.q, "dq");
      }
    }
    for (const std::int64_t j : {0, 3, 5}) {
      const auto gradients = defined_key_gradients<Number>(group, rows, j, nullptr);
      check(inputs.k[static_cast<std::size_t>(j * 4 + 2)], gradients.dk[2], variant.scales.k, "dk");
      check(inputs.v[static_cast<std::size_t>(j * 3 + 1)], gradients.dv[1], variant.scales.v, "dv");
    }
  }
}

TEST(AttentionBackwardDefinition, ObeysTheIdentitiesOfSoftmax) {
  const Number allowed = ldexp(Number(1), -230);
  for (const Variant& variant : kVariants) {
    const GradientCase example(setup_of(variant));
    const GradientGroup group =
        gradient_group(example.problem, gradient_groups(example.problem).front());
    const Rows rows = exact_rows(group);
    const AttentionHead& any = group.heads[0].head;
    std::vector<Number> dk_sum(static_cast<std::size_t>(any.d), Number(0)),
        dv_sum(static_cast<std::size_t>(any.dv), Number(0)), do_sum(dv_sum);
    Number k_dk = 0, v_dv = 0, q_dq = 0, o_do = 0;
    for (std::int64_t j = 0; j < any.keys; ++j) {
      const auto gradients = defined_key_gradients<Number>(group, rows, j, nullptr);
      for (std::size_t x = 0; x < dk_sum.size(); ++x) {
        dk_sum[x] += gradients.dk[x];
        k_dk += gradients.dk[x] * any.k[static_cast<std::size_t>(j * any.d) + x] *
                Number(variant.scales.k);
      }
      for (std::size_t x = 0; x < dv_sum.size(); ++x) {
        dv_sum[x] += gradients.dv[x];
        v_dv += gradients.dv[x] * any.v[static_cast<std::size_t>(j * any.dv) + x] *
                Number(variant.scales.v);
      }
    }
    for (std::size_t h = 0; h < group.heads.size(); ++h) {
      const GradientHead& head = group.heads[h];
      for (std::int64_t i = 0; i < any.queries; ++i) {
        const GradientRow<Number>& row = rows[h][static_cast<std::size_t>(i)];
        o_do += row.delta;
        const auto dq = defined_dq<Number>(head, row, i, nullptr);
        for (std::size_t x = 0; x < dq.size(); ++x)
          q_dq += dq[x] * head.head.q[static_cast<std::size_t>(i * any.d) + x] *
                  Number(variant.scales.q);
        if (any.visible(i).empty()) continue;
        for (std::size_t x = 0; x < do_sum.size(); ++x)
          do_sum[x] += head.d_o[static_cast<std::size_t>(i * any.dv) + x];
      }
    }
    EXPECT_LT(abs(Number(q_dq - k_dk)), allowed) << variant.name;
    EXPECT_LT(abs(Number(o_do - v_dv)), allowed) << variant.name;
    if (variant.sink) continue;  // it takes a part of every row
    for (std::size_t x = 0; x < dv_sum.size(); ++x)
      EXPECT_LT(abs(Number(dv_sum[x] - do_sum[x])), allowed) << variant.name;
    if (variant.softcap != 0) continue;  // scores may not be shifted
    for (const Number& sum : dk_sum) EXPECT_LT(abs(sum), allowed) << variant.name;
  }
}

}  // namespace
}  // namespace plumbline::testing
