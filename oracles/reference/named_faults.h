// SPDX-License-Identifier: MIT
// The simple faults that would give what a kernel stored. Each operation tries its own faults on
// its own outputs; which of those that fit are named, in which order and in which words, is the
// same for all of them and is decided here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plumbline {

inline constexpr const char* kNoFaultFits = "none of the simple faults known here fits";
inline constexpr const char* kCloseToRight =
    "as a whole this is close to right: no simple fault is this small";

struct NamedFaults {
  std::vector<std::string> names;  // the most telling first
  std::string evidence;            // what else speaks for the first one; may be empty
  std::string unnamed;             // what is said where none is named; empty: nothing

  static NamedFaults none(std::string because);

  bool operator==(const NamedFaults&) const = default;

  bool empty() const { return names.empty(); }

  // Those that are not among them yet, after them.
  void add(const NamedFaults& more);

  // Evidence for a fault that is not the first any more is dropped.
  void keep_if(const std::function<bool(const std::string&)>& is_kept);
  void sort_by(const std::function<std::int64_t(const std::string&)>& place);

  // Sentences: "fits: ..." for the first three, how many others fit as well.
  std::vector<std::string> sentences() const;
};

// A fault that gives what is stored in the place that is explained.
struct FittingFault {
  std::string words;
  // How well it agrees with other places, the first number counting first.
  std::array<std::int64_t, 2> agreement{};
  bool unlikely = false;  // told after all others, however well it agrees
  std::string evidence = {};
};

class FaultRanking {
 public:
  // Of two with the same words the one that agrees better counts.
  void add(FittingFault fault);

  bool empty() const { return faults_.empty(); }

  // The best first, equal ones in the order in which they were added. Named are those that are as
  // good as the best one in the first `decisive` numbers of their agreement.
  NamedFaults named(std::size_t decisive) &&;

 private:
  std::vector<FittingFault> faults_;
};

}  // namespace plumbline
