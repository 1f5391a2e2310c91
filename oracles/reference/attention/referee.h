// SPDX-License-Identifier: MIT
// The referee of attention: rows recomputed by the definition over MPFR numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/reference/attention/definition.h"
#include "oracles/reference/attention/prepared.h"

namespace plumbline {

// A row of which some outputs are recomputed.
struct RefereedRow {
  std::size_t head = 0;
  std::int64_t query = 0;
  std::vector<std::int64_t> columns;
};

// How many of the row's outputs do not lie where the survey says, or are of another class.
std::int64_t disagreements(const PreparedAttention& attention, int output, const RefereedRow& row);

// A regular row to as many digits as any decision needs.
DefinedRow<Real> exact_row(const AttentionOperands& operands, std::int64_t query);

// Takes the row's numbers from the definition at `bits` bits.
void use_definition(const AttentionOperands& operands, int bits, DetailedRow& row);

}  // namespace plumbline
