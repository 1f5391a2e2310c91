// SPDX-License-Identifier: MIT
// Covering of strength 3 among some of the factors: rows in which every three levels of three of
// them meet. Among features three at once are a fault's conditions often enough (a bias, a beta and
// a relu), and few enough for a plan of thousands of cases; shapes and values only meet in pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fuzz/plan/pairwise.h"

namespace plumbline {

// Rows of one level per factor that, together with the rows `known`, hold every three levels of
// three factors from index `first` on. The factors before it have levels at random, any that
// `allowed` accepts. The same arguments give the same rows everywhere.
std::vector<std::vector<int>> triple_rows(std::span<const Factor> factors, int first,
                                          std::span<const std::vector<int>> known,
                                          const PairAllowed& allowed, std::uint64_t seed);

}  // namespace plumbline
