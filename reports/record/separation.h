// SPDX-License-Identifier: MIT
// What tells the failing cases of a kernel from the others: one property of one field, a decision
// stump. A property that all failing cases have and no other one does comes first, else the one
// that all failing cases have and fewest others do. Nothing is said where that would be many: the
// search does not guess, and it does not combine fields.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reports/record/record.h"

namespace plumbline {

// A case as the search sees it. A field that is left out has its default.
struct SortedCase {
  std::vector<std::pair<std::string, std::string>> fields;  // name and value
  bool failed = false;
};

// "all 146 have k > 64, and no other case does"; empty where nothing separates clearly, or where
// there are too few cases to tell.
std::string what_separates(const std::vector<SortedCase>& cases);

// Problem, value class and device of a case that passed or failed.
SortedCase sorted_case(const CaseRecord& test_case);

// "146 of 321 cases failed; all 146 have k > 64, and no other case does"; empty without
// failures, and for a single case.
std::string failures_line(const KernelRecord& kernel);

}  // namespace plumbline
