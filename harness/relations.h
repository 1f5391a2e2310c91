// SPDX-License-Identifier: MIT
// Metamorphic relations: a second problem whose outputs follow from the first one's bit for bit,
// whatever the arithmetic. Negating A negates D; reversing rows of A reverses rows of D; zeros
// appended along k change nothing. They need no oracle, and they see faults that stay inside the
// bound: a lane that rounds differently, an order that depends on the position.
//
// Which relations a kernel must keep follows from its contract: odd_symmetric,
// position_independent, one schedule for all of k. Relations that hold only to within bounds (k
// permuted or cut in two) say no more than the bounds themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/case.h"

namespace plumbline {

// A second run, and what it has to give.
struct RelatedRun {
  Case test_case;
  CaseTensors tensors;
  // Whether `second`, an element of the related output at `index`, follows from the first run's
  // output `first`.
  std::function<bool(const Tensor& first, std::int64_t index, std::uint64_t second)> follows;
};

struct Relation {
  std::string_view id;     // "G1"
  std::string_view words;  // "negating A negates every output"
  // Nothing where the relation does not bind this case.
  std::optional<RelatedRun> (*make)(const Case& test_case, const CaseTensors& tensors);
};

// The relations of an operation; none for operations without any.
std::vector<Relation> relations_of(const Operation& operation);

}  // namespace plumbline
