// SPDX-License-Identifier: MIT
// Probes: one output element, written as short text. "k0:6c00*6c00 k1..3:3800*0001" puts code 6c00
// at k = 0 of A and of B, and 3800 and 0001 at k = 1, 2 and 3; everything else is zero.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/models/generation.h"
#include "oracles/models/mma.h"
#include "oracles/models/mma_layout.h"

namespace plumbline {

struct ProbeInputs {
  std::vector<std::uint32_t> a, b;
};

inline std::uint32_t probe_number(std::string_view& text, int base) {
  std::uint32_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, base).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

inline ProbeInputs probe_inputs(std::string_view text, int products) {
  ProbeInputs inputs;
  inputs.a.resize(static_cast<std::size_t>(products));
  inputs.b.resize(static_cast<std::size_t>(products));
  while (!text.empty()) {
    text.remove_prefix(text.find('k') + 1);
    const std::uint32_t first = probe_number(text, 10);
    std::uint32_t last = first;
    if (text.starts_with("..")) {
      text.remove_prefix(2);
      last = probe_number(text, 10);
    }
    text.remove_prefix(1);
    const std::uint32_t a = probe_number(text, 16);
    text.remove_prefix(1);
    const std::uint32_t b = probe_number(text, 16);
    for (std::uint32_t k = first; k <= last; ++k) {
      inputs.a.at(k) = a;
      inputs.b.at(k) = b;
    }
  }
  return inputs;
}

// Where an instruction of one chip comes from.
struct ProbeTarget {
  int sm;
  Instruction instruction;
};

// The element by dot() and, where there is such an mma, by mma() in another row and column; both
// must agree.
inline std::uint32_t run_probe(ProbeTarget target, FormatId input, FormatId accumulator, int k,
                               std::uint32_t c, const ProbeInputs& inputs) {
  const auto model = dot_model(target.sm, target.instruction, input, input, accumulator);
  EXPECT_TRUE(model) << "sm_" << target.sm;
  if (!model) return 0;
  const Format& format = plumbline::format(input);
  const std::uint32_t element = dot(*model, format, format, inputs.a, inputs.b, c);

  const MmaKind kind{{16, 8, k}, input, input, accumulator, false, *model};
  if (!mma_exists(kind)) return element;
  constexpr int kRow = 11;
  constexpr int kColumn = 5;
  const int elements = 32 / format.storage_bits;
  LaneRegister fragments_a[4] = {}, fragments_b[2] = {}, fragments_c[4] = {}, d[4] = {};
  for (int lane = 0; lane < 32; ++lane) {
    for (int j = 0; j < elements; ++j) {
      for (int reg = 0; reg < a_registers(kind); ++reg) {
        const FragmentPlace at = a_place(lane, reg, j, elements);
        if (at.row_or_column != kRow) continue;
        fragments_a[reg][lane] |= inputs.a.at(at.k) << (j * format.storage_bits);
      }
      for (int reg = 0; reg < b_registers(kind); ++reg) {
        const FragmentPlace at = b_place(lane, reg, j, elements);
        if (at.row_or_column != kColumn) continue;
        fragments_b[reg][lane] |= inputs.b.at(at.k) << (j * format.storage_bits);
      }
    }
  }
  const int c_elements = accumulator == FormatId::f16 ? 2 : 1;
  const auto for_output = [&](auto visit) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int reg = 0; reg < c_registers(kind); ++reg) {
        for (int j = 0; j < c_elements; ++j) {
          const OutputPlace at = c_place(lane, reg, j, c_elements);
          if (at.row == kRow && at.column == kColumn) visit(reg, lane, j * 32 / c_elements);
        }
      }
    }
  };
  for_output([&](int reg, int lane, int shift) { fragments_c[reg][lane] |= c << shift; });
  mma(kind, fragments_a, fragments_b, fragments_c, d);
  for_output([&](int reg, int lane, int shift) {
    const std::uint32_t mask = c_elements == 2 ? 0xffffu : 0xffffffffu;
    EXPECT_EQ(d[reg][lane] >> shift & mask, element) << "mma() differs from dot()";
  });
  return element;
}

}  // namespace plumbline
