// SPDX-License-Identifier: MIT
// Random rows through the nodes of every generation: what another model of them is compared with
// (nodes_by_mmasim.py), and what that model said of them (nodes_of_mmasim_test.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/models/generation.h"

namespace plumbline {

struct NodeKind {
  int sm;
  Instruction instruction;
  FormatId a, b, accumulator;
  std::size_t k;
  std::size_t blocks = 0;  // 0: without scales
  FormatId scale = FormatId::ue8m0;
};

// What is hard for a node: any bits, terms of one size, sums that cancel, the bottom of the range,
// and values that are no finite numbers among others.
enum class NodeRegime : std::uint8_t { bits, middle, cancelling, bottom, specials };

inline std::uint32_t sample_code(const Format& f, NodeRegime regime, Random& random) {
  const auto bits = static_cast<std::uint32_t>(random.next());
  const std::uint32_t all = f.code_bits() == 32 ? ~0u : (1u << f.code_bits()) - 1;
  if (regime == NodeRegime::bits || (regime == NodeRegime::specials && random.below(8) == 0))
    return (bits & all) << f.padding_bits;
  const bool bottom = regime == NodeRegime::bottom;
  const std::int64_t least = bottom ? 0 : std::max(0, f.bias - 3),
                     exponent =
                         std::min<std::int64_t>(random.between(least, least + (bottom ? 2 : 5)),
                                                (1 << f.exponent_bits) - 1);
  const auto sign = static_cast<std::uint32_t>(random.below(2));
  const std::uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1);
  return ((sign << f.exponent_bits | static_cast<std::uint32_t>(exponent)) << f.mantissa_bits |
          mantissa)
         << f.padding_bits;
}

struct NodeRows {
  std::vector<std::uint32_t> a, b, a_scales, b_scales, c, d;
};

inline void add_row(const NodeKind& kind, Random& random, NodeRows& rows) {
  const auto regime = static_cast<NodeRegime>(random.below(5));
  const Format &a_format = format(kind.a), &b_format = format(kind.b),
               &c_format = format(kind.accumulator), &s_format = format(kind.scale);
  std::vector<std::uint32_t> a, b, sa, sb;
  for (std::size_t k = 0; k < kind.k; ++k) {
    a.push_back(sample_code(a_format, regime, random));
    b.push_back(sample_code(b_format, regime, random));
    if (regime == NodeRegime::cancelling && k % 2 == 1 && random.below(8) != 0) {
      a[k] = a[k - 1] ^ 1u << (a_format.code_bits() + a_format.padding_bits - 1);
      b[k] = b[k - 1];
    }
  }
  for (std::size_t i = 0; i < kind.blocks; ++i) {
    const auto scale = [&] {
      if (regime == NodeRegime::bits) return static_cast<std::uint32_t>(random.below(256));
      if (regime == NodeRegime::bottom) return static_cast<std::uint32_t>(random.below(24));
      const bool special = regime == NodeRegime::specials && random.below(16) == 0;
      const auto one = static_cast<std::uint32_t>(s_format.bias) << s_format.mantissa_bits;
      return special ? 0xffu : one - 8 + static_cast<std::uint32_t>(random.below(17));
    };
    sa.push_back(scale());
    sb.push_back(scale());
  }
  const std::uint32_t c = random.below(8) == 0 ? 0 : sample_code(c_format, regime, random);
  std::vector<Decoded> x, y, xs, ys;
  for (const std::uint32_t one : a) x.push_back(decode(a_format, one));
  for (const std::uint32_t one : b) y.push_back(decode(b_format, one));
  const std::uint32_t mask = kind.scale == FormatId::e4m3 ? 0x7f : 0xff;
  for (const std::uint32_t one : sa) xs.push_back(decode(s_format, one & mask));
  for (const std::uint32_t one : sb) ys.push_back(decode(s_format, one & mask));
  if (kind.blocks > 0) {
    rows.d.push_back(
        scaled_node(*scaled_node_model(kind.sm, kind.instruction, static_cast<int>(kind.k)),
                    a_format, b_format, x, y, {kind.scale, xs, ys}, c));
  } else {
    rows.d.push_back(dot(*dot_model(kind.sm, kind.instruction, kind.a, kind.b, kind.accumulator),
                         a_format, b_format, std::span<const Decoded>(x),
                         std::span<const Decoded>(y), c));
  }
  const auto append = [](std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  append(rows.a, a);
  append(rows.b, b);
  append(rows.a_scales, sa);
  append(rows.b_scales, sb);
  rows.c.push_back(c);
}

inline std::vector<NodeKind> node_kinds() {
  using enum FormatId;
  using enum Instruction;
  std::vector<NodeKind> all;
  for (const int sm : {70, 75, 80, 89, 90, 100, 120}) {
    for (const FormatId d : {f32, f16})
      all.push_back({sm, mma_sync, f16, f16, d, sm == 70 ? 4u : sm == 75 ? 8u : 16u});
    if (sm < 80) continue;
    all.push_back({sm, mma_sync, bf16, bf16, f32, 16});
    all.push_back({sm, mma_sync, tf32, tf32, f32, 8});
  }
  const FormatId narrow[] = {e4m3, e5m2, e3m2, e2m3, e2m1};
  for (const FormatId a : {e4m3, e5m2}) {
    for (const FormatId b : {e4m3, e5m2}) {
      for (const FormatId d : {f32, f16}) {
        all.push_back({89, mma_sync, a, b, d, 32});
        all.push_back({90, wgmma, a, b, d, 32});
      }
    }
  }
  for (const FormatId d : {f32, f16}) all.push_back({90, wgmma, f16, f16, d, 16});
  all.push_back({90, wgmma, bf16, bf16, f32, 16});
  all.push_back({90, wgmma, tf32, tf32, f32, 8});
  for (const FormatId a : narrow) {
    for (const FormatId b : narrow) {
      for (const FormatId d : {f32, f16}) {
        all.push_back({120, mma_sync, a, b, d, 32});
        all.push_back({100, tcgen05, a, b, d, 32});
      }
      all.push_back({120, mma_sync, a, b, f32, 32, 1});
      all.push_back({100, tcgen05, a, b, f32, 32, 1});
    }
  }
  for (const auto& [sm, instruction] : {std::pair{120, mma_sync}, std::pair{100, tcgen05}}) {
    all.push_back({sm, instruction, e2m1, e2m1, f32, 64, 2});
    all.push_back({sm, instruction, e2m1, e2m1, f32, 64, 4});
    all.push_back({sm, instruction, e2m1, e2m1, f32, 64, 4, e4m3});
  }
  return all;
}

// `count` rows of kind number `which`.
inline NodeRows node_rows(const NodeKind& kind, std::size_t which, std::int64_t count,
                          std::uint64_t seed) {
  Random random = Random(seed).fork(which + 1);
  NodeRows rows;
  for (std::int64_t i = 0; i < count; ++i) add_row(kind, random, rows);
  return rows;
}

// "120 mma e2m1 e2m1 f32 ue8m0 64 2": the last are k, and how many scales a row has.
inline std::string name(const NodeKind& kind) {
  const auto word = [](FormatId id) { return std::string(format(id).name); };
  const std::string instruction = kind.instruction == Instruction::mma_sync ? "mma"
                                  : kind.instruction == Instruction::wgmma  ? "wgmma"
                                                                            : "tcgen05";
  return std::to_string(kind.sm) + " " + instruction + " " + word(kind.a) + " " + word(kind.b) +
         " " + word(kind.accumulator) + " " + (kind.blocks > 0 ? word(kind.scale) : "-") + " " +
         std::to_string(kind.k) + " " + std::to_string(kind.blocks);
}

}  // namespace plumbline
