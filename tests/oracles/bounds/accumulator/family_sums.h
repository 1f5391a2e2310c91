// SPDX-License-Identifier: MIT
// Sums as kernels of Schedule::runs make them: k in runs, promoted, split, sliced, joined in any
// order. Written on the models of the units, without anything of the bounds.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/bounds/contract/contract.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/models/generation.h"
#include "oracles/models/node.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"

namespace plumbline::testing {

struct FamilyUnit {
  const char* name;
  Contract contract;
  int sm;
  FormatId format;
};

inline const FamilyUnit kFamilyUnits[] = {
    {"bf16 on sm_80", tensor_core_contract(), 80, FormatId::bf16},
    {"bf16 on sm_90", tensor_core_contract(), 90, FormatId::bf16},
    {"e4m3 on sm_89", tensor_core_contract(), 89, FormatId::e4m3},
    {"e5m2 on sm_90", tensor_core_contract(), 90, FormatId::e5m2},
    {"e5m2 by wgmma", tensor_core_contract(Instruction::wgmma), 90, FormatId::e5m2},
    {"f16 on sm_75", tensor_core_contract(), 75, FormatId::f16},
    {"fma", Contract{.unit = Unit::fma_f32}, 80, FormatId::bf16},
};

struct Operands {
  std::vector<float> a, b;
};

inline float as_stored(FormatId id, double x) {
  return static_cast<float>(to_double(format(id), encode(format(id), x)));
}

// kind 0: within two binades, 1: within nine (of e5m2 14), 2: of one sign.
inline Operands operands(const FamilyUnit& unit, std::int64_t k, int kind, Random& random) {
  Operands v;
  const auto draw = [&] {
    const std::uint64_t binades = kind != 1 ? 2 : unit.format == FormatId::e5m2 ? 14 : 9;
    const double size = std::ldexp(1 + random.unit(), -static_cast<int>(random.below(binades)));
    return as_stored(unit.format, kind != 2 && random.below(2) == 0 ? -size : size);
  };
  for (std::int64_t p = 0; p < k; ++p) {
    v.a.push_back(draw());
    v.b.push_back(draw());
  }
  return v;
}

inline double normal(Random& random) {
  return std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(6.283185307179586 * random.unit());
}

inline Operands normal_operands(const FamilyUnit& unit, std::int64_t k, Random& random) {
  Operands v;
  for (std::int64_t p = 0; p < k; ++p) {
    v.a.push_back(as_stored(unit.format, normal(random)));
    v.b.push_back(as_stored(unit.format, normal(random)));
  }
  return v;
}

// Elements of k in one instruction.
inline std::int64_t step_of(const FamilyUnit& unit) {
  if (unit.contract.unit == Unit::fma_f32) return 1;
  const DotModel model =
      *dot_model(unit.sm, unit.contract.instruction, unit.format, unit.format, FormatId::f32);
  return model.node.products * (model.chaining == Chaining::hopper_fp8 ? 2 : 1);
}

// Runs of whole instructions, by the first element of each; `groups` of consecutive runs (of one
// residue where k is dealt in turns), or one group per way.
struct FamilySchedule {
  std::int64_t grain = 1, ways = 1;
  std::int64_t promote = 0;        // 0: accumulators end where groups do
  std::vector<std::int64_t> ends;  // of the groups, where k is not dealt

  std::string words() const {
    return "grain " + std::to_string(grain) + " ways " + std::to_string(ways) + " promoted every " +
           std::to_string(promote) + ", groups " + std::to_string(ends.size());
  }
};

inline FamilySchedule family_schedule(const FamilyUnit& unit, std::int64_t k, std::int64_t parts,
                                      Random& random) {
  FamilySchedule schedule;
  const std::int64_t step = step_of(unit);
  if (random.below(2) == 0) schedule.promote = step << random.below(5);
  if (random.below(3) == 0) {
    schedule.ways = std::int64_t{2} << random.below(3);
    schedule.grain = unit.contract.unit == Unit::fma_f32
                         ? std::int64_t{1} << random.below(4)
                         : std::max(step, std::int64_t{16} << random.below(3));
    schedule.ends = {k};
    return schedule;
  }
  const std::int64_t steps = (k + step - 1) / step;
  const std::int64_t groups =
      1 +
      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(std::min(steps, parts))));
  for (std::int64_t g = 1; g < groups; ++g)
    schedule.ends.push_back(std::min(
        k, step * static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(steps)))));
  schedule.ends.push_back(k);
  std::ranges::sort(schedule.ends);
  return schedule;
}

// One instruction more.
inline float instruction(const FamilyUnit& unit, const Operands& v, std::int64_t begin,
                         std::int64_t end, float sum) {
  if (unit.contract.unit == Unit::fma_f32) {
    const auto at = static_cast<std::size_t>(begin);
    return std::fma(v.a[at], v.b[at], sum);
  }
  const DotModel model =
      *dot_model(unit.sm, unit.contract.instruction, unit.format, unit.format, FormatId::f32);
  const Format& f = format(unit.format);
  std::vector<std::uint32_t> x, y;
  for (auto p = static_cast<std::size_t>(begin); p < static_cast<std::size_t>(end); ++p) {
    x.push_back(static_cast<std::uint32_t>(encode(f, static_cast<double>(v.a[p]))));
    y.push_back(static_cast<std::uint32_t>(encode(f, static_cast<double>(v.b[p]))));
  }
  return std::bit_cast<float>(
      dot(model, f, f, std::span<const std::uint32_t>(x), y, std::bit_cast<std::uint32_t>(sum)));
}

// Of the instructions that begin at these elements of k, in order, promoted as the schedule says.
inline float group_sum(const FamilyUnit& unit, const Operands& v,
                       const std::vector<std::int64_t>& starts, std::int64_t promote) {
  const std::int64_t step = step_of(unit), k = std::ssize(v.a);
  float total = 0, run = 0;
  std::int64_t taken = 0;
  for (const std::int64_t begin : starts) {
    run = instruction(unit, v, begin, std::min(k, begin + step), run);
    taken += step;
    if (promote == 0 || taken < promote) continue;
    total += run;
    run = 0;
    taken = 0;
  }
  return promote == 0 ? run : total + run;
}

inline float family_sum(const FamilyUnit& unit, const Operands& v, const FamilySchedule& schedule,
                        Random& random) {
  const std::int64_t step = step_of(unit), k = std::ssize(v.a);
  std::vector<std::vector<std::int64_t>> groups(
      std::max(schedule.ends.size(), static_cast<std::size_t>(schedule.ways)));
  for (std::int64_t begin = 0, group = 0; begin < k; begin += step) {
    while (schedule.ways == 1 && begin >= schedule.ends[static_cast<std::size_t>(group)]) ++group;
    const std::int64_t to = schedule.ways == 1 ? group : begin / schedule.grain % schedule.ways;
    groups[static_cast<std::size_t>(to)].push_back(begin);
  }
  std::vector<float> sums;
  for (const auto& starts : groups) {
    if (!starts.empty()) sums.push_back(group_sum(unit, v, starts, schedule.promote));
  }
  while (sums.size() > 1) {  // in a random tree
    std::swap(sums[random.below(sums.size())], sums.back());
    const float last = sums.back();
    sums.pop_back();
    sums[random.below(sums.size())] += last;
  }
  return sums.empty() ? 0 : sums[0];
}

}  // namespace plumbline::testing
