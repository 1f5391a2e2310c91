// SPDX-License-Identifier: MIT
// The findings of one CTA, each kind once per instruction, later ones only counted. Of a kind at
// most kMostFindings instructions are described; one more entry counts what the others do, so that
// no kind is lost because of another, and none without a word. Logs of all CTAs are joined in CTA
// order, so that a launch reports the same list for any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "harness/device/finding.h"
#include "harness/emulator/decode/program.h"

namespace plumbline::emulator {

constexpr std::int64_t kMostFindings = 64;

// The other access of a finding, by the instruction that made it.
OtherAccess describe_access(const Program& program, std::uint32_t index, const char* access_kind,
                            const std::array<std::int64_t, 3>& cta, int warp, int lane);

class FindingLog {
 public:
  struct Entry {
    Finding finding;
    std::uint32_t index = 0;  // the instruction, in Program::code; or kOthers
    // Another of the kind at this instruction says more: a race between warps, of one between the
    // lanes of a warp, which __syncwarp() would not mend.
    bool yields = false;
  };

  void clear() { entries_.clear(); }

  bool empty() const { return entries_.empty(); }

  // The finding, until the next one is added; null where it was only counted.
  Finding* add(FindingKind kind, const Program& program, std::uint32_t index,
               const std::array<std::int64_t, 3>& cta, int warp, int lane,
               const std::function<std::string()>& words, bool yields = false);

  // Drops what was found at these instructions.
  void erase(const std::set<std::uint32_t>& indices);

  // Adds the entries of a later CTA.
  void join(const FindingLog& later);

  std::vector<Finding> findings() const;

 private:
  static constexpr std::uint32_t kOthers = ~std::uint32_t{0};

  // The entry that counts what this instruction does; null where it needs one.
  Entry* known(FindingKind kind, std::uint32_t index);
  bool describes_enough(FindingKind kind) const;
  void add_others(Finding finding);

  std::vector<Entry> entries_;
};

}  // namespace plumbline::emulator
