// SPDX-License-Identifier: MIT
// Search: fuzzing that climbs. It remembers the cases that showed something new of a kernel and
// tries variations of them beside random ones. A case shows something new when it
//   - executes an instruction no case did, or an order of magnitude more often (which covers both
//     ways of every branch),
//   - crosses a value class with a shape class for the first time, or
//   - uses more of the admissible error than any other case of its value class.
// All choices follow from the seed and from what was learned, in order.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "fuzz/case/case.h"
#include "oracles/base/random.h"

namespace plumbline {

class Search {
 public:
  explicit Search(const Manifest& kernel) : kernel_(&kernel) {}

  // The case of this seed: at random or a variation of a remembered one.
  Case next(std::uint64_t seed) const;

  // What running a case showed: the share of the admissible error, and which instructions ran how
  // often (any codes that say so). True when it was something new; the case is remembered then.
  bool learn(const Case& test_case, double share, std::span<const std::uint32_t> reached);

  const std::vector<Case>& remembered() const { return remembered_; }

  std::size_t reached() const { return reached_.size(); }

  std::size_t cells() const { return cells_.size(); }

 private:
  const Manifest* kernel_;
  std::vector<Case> remembered_;
  std::unordered_set<std::string> texts_;  // of the remembered
  std::unordered_set<std::uint32_t> reached_;
  std::unordered_set<std::string> cells_;  // value class x shape class
  std::map<std::string, double> shares_;   // the largest of each value class
};

// A case near another one: other bits of the same class, another class, a size a little off, or
// some fields of a third case. Always one the kernel accepts.
Case varied(const Case& from, Random random);

// The fewest of these cases, small ones first, that together show as much as all of them: for
// each, in the same order, what learn() wants to know.
struct Shown {
  Case test_case;
  double share = 0;
  std::vector<std::uint32_t> reached;
};

std::vector<Case> minimized(std::vector<Shown> cases);

}  // namespace plumbline
