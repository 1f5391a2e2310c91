// SPDX-License-Identifier: MIT
// Metamorphic relations: a second problem whose outputs follow from the first one's bit for bit, in
// every arithmetic. Negating A negates D; reversing rows of A reverses rows of D; zeros appended
// along k change nothing. They need no oracle, and they see faults that stay inside the bound: a
// lane that rounds differently, an order that depends on the position.
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

#include "fuzz/case/case.h"

namespace plumbline {

// How an output of the second run follows from that of the first.
struct Follow {
  std::string output;
  double factor = 1;  // what the first run's elements are multiplied by: 1, -1, 2 or 1/2
  // Where in the first output an element of the second lies; empty: where it lies itself.
  std::function<std::int64_t(std::int64_t)> source = {};
};

// A second run, and what it has to give. Outputs that do not follow are not named.
struct RelatedRun {
  Case test_case;
  CaseTensors tensors;
  std::vector<Follow> outputs;
};

struct Relation {
  std::string_view id;     // "G1"
  std::string_view words;  // "negating A negates every output"
  // nullopt where the relation does not bind this case.
  std::function<std::optional<RelatedRun>(const Case& test_case, const CaseTensors& tensors)> make;
};

// The relations of an operation; none for operations without any.
std::vector<Relation> relations_of(const Operation& operation);

// Whether `bits`, element `index` of the second run's output, follow from the first run's. NaN
// follows from NaN, and zeros have no sign. Doubling commutes with roundings away from the ends of
// the format and of f32 only: elements close to them are not asked about.
bool follows(const Follow& follow, const Tensor& first, std::int64_t index, std::uint64_t bits);

}  // namespace plumbline
