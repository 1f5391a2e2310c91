// SPDX-License-Identifier: MIT
// Mutation operators: the faults people make, each as one small function from an instruction to the
// texts that may take its place. A new operator is one function and one row in its file's table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutation/site.h"

namespace plumbline {

// Where an operator puts its texts: an empty edit (one that does not apply) is dropped; an
// instruction that is left out altogether is kRemoved.
class Replacements {
 public:
  static constexpr std::string_view kRemoved = "/* removed */";

  void add(std::string text) {
    if (!text.empty()) texts_.push_back(std::move(text));
  }

  void remove() { texts_.emplace_back(kRemoved); }

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

struct FaultOperator {
  std::string_view name;   // "comparison"
  std::string_view about;  // "< becomes <=, == becomes !="
  void (*apply)(const Site& site, Replacements& out);
};

std::span<const FaultOperator> control_operators();  // decisions: comparisons, predicates, branches
std::span<const FaultOperator> arithmetic_operators();  // operations, operands, constants, rounding
std::span<const FaultOperator> memory_operators();      // loads, stores, addresses
std::span<const FaultOperator> order_operators();       // barriers, fences, arrivals, waits
std::span<const FaultOperator> fragment_operators();    // matrix units and shuffles

// All of them, in the order of the tables.
std::vector<FaultOperator> fault_operators();

}  // namespace plumbline
