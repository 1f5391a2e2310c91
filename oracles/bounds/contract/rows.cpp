// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/rows.h"

#include <algorithm>
#include <bit>

#include "oracles/base/numbers.h"

namespace plumbline {

std::int64_t RowContract::row_additions(std::int64_t n) const {
  const auto joins =
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(lanes - 1)));
  return ceil_div(n, lanes * vector) * vector + joins;
}

std::int64_t RowContract::column_additions(std::int64_t m) const {
  return ceil_div(m, stripes) + std::min(m, stripes);
}

}  // namespace plumbline
