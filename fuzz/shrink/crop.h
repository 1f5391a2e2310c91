// SPDX-License-Identifier: MIT
// Smaller problems with the same data: when a size shrinks, literal inputs lose the slices that no
// longer exist. Which tensor dimensions a size reaches is read off the operation's layouts of both
// problems, so this knows no operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/case/case.h"

namespace plumbline {

// Which indices of a dimension stay: all but [first, first + count).
struct Removal {
  std::string_view field;  // a size of the problem
  std::int64_t first = 0, count = 0;
};

// nullopt when the kernel does not accept the smaller problem. A case without literals keeps its
// recipe.
std::optional<Case> remove_slices(const Case& test_case, const std::vector<Removal>& removals);

// The same case with another problem of the same sizes (layouts, features); literals the problem no
// longer has are dropped.
std::optional<Case> with_problem(const Case& test_case, const Problem& problem);

}  // namespace plumbline
