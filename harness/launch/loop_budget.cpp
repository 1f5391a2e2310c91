// SPDX-License-Identifier: MIT
#include "harness/launch/loop_budget.h"

#include <algorithm>

namespace plumbline {
namespace {

// One endless case may be a single bad shape; the second one shows that there will be more.
constexpr int kEndlessCases = 2;
// A warp that executes more than so many times what all warps of the longest case did is given up.
constexpr std::uint64_t kMultiple = 8;
// Bounds of that number, in warp instructions. kLeast is less than 10 ms of emulation.
constexpr std::uint64_t kLeast = 200'000, kMost = 20'000'000;

}  // namespace

std::uint64_t LoopBudget::of(const std::string& kernel) const {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(kernel);
  if (found == seen_.end() || found->second.endless < kEndlessCases) return 0;
  const std::uint64_t longest = std::min(found->second.longest, kMost);
  return std::clamp(kMultiple * longest, kLeast, kMost);
}

void LoopBudget::completed(const std::string& kernel, std::uint64_t instructions) {
  const std::lock_guard lock(mutex_);
  Seen& seen = seen_[kernel];
  seen.longest = std::max(seen.longest, instructions);
}

void LoopBudget::endless(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  ++seen_[kernel].endless;
}

}  // namespace plumbline
