// SPDX-License-Identifier: MIT
// Value classes of the row operations: what the elements of X and dY are, as functions of their
// position, and what goes with them in gamma and beta.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "oracles/base/random.h"
#include "oracles/formats/format.h"

namespace plumbline {

struct RowSpot {
  std::int64_t n, row, column;
  Random of_row, of_column;  // the same for all elements of the row or column
  const Format& format;
};

// What a class makes of an input whose values lie in a range: any, those of one sign, 1 or what is
// nearest to it, the ends, or one value for each row.
enum class InRange : std::uint8_t { any, positive, one, ends, equal_rows };

struct RowValueClass {
  std::string_view name;
  double (*element)(const RowSpot& spot, Random& random);
  bool exact = false;     // sums are exact: gamma is a power of two, beta an integer
  bool specials = false;  // gamma has NaN and Inf too
  InRange in_range = InRange::any;
};

std::span<const RowValueClass> row_value_classes();
const RowValueClass& row_value_class(std::string_view name);

double row_weight(const RowValueClass& values, std::int64_t column, Random& random);  // gamma
double row_offset(const RowValueClass& values, Random& random);                       // beta

}  // namespace plumbline
