// SPDX-License-Identifier: MIT
// One way to add up the products of a sum, with nothing left open: which instructions go to which
// accumulator, and in which order accumulators are added. A contract of a fixed schedule names one;
// `candidate_schedules()` are those that kernels use, to find the one that outputs were made by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracles/bounds/contract/contract.h"

namespace plumbline {

struct SumSchedule {
  // Of the sums of several groups; each addition in f32 to nearest even.
  enum class Tree : std::uint8_t { in_order, reverse, pairwise };

  std::int64_t promote = 0;  // k of an accumulator before it joins an f32 sum; 0: never
  std::int64_t parts = 1;    // groups that each take a range of k ...
  std::int64_t block = 1;    // ... of a whole number of these
  std::int64_t ways = 1;     // groups that take blocks of `grain` in turn (then parts == 1)
  std::int64_t grain = 0;
  Tree tree = Tree::in_order;
  std::int64_t instruction_k = 0;  // k of one instruction's shape; 0: the unit's usual one

  // "sequential", "a fresh accumulator every 128 of k", "split-K of 4, joined in order", ...
  std::string words() const;

  bool operator==(const SumSchedule&) const = default;
};

// The one schedule that a contract allows; none where it leaves an order open, or a step before the
// epilogue may flush subnormal numbers.
std::optional<SumSchedule> fixed_schedule(const Contract& contract);

// What kernels do with sums of k products, the simplest first.
std::vector<SumSchedule> candidate_schedules(const Contract& contract, std::int64_t k);

}  // namespace plumbline
