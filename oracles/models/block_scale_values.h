// SPDX-License-Identifier: MIT
// The scales of an mma (MmaKind::scale), taken out of their registers for the vector path.
#pragma once

#include <cstdint>

#include "oracles/models/mma.h"
#include "oracles/models/mma_layout.h"

namespace plumbline {

// Of the rows of A and the columns of B, one block of k after the other.
struct BlockScaleValues {
  alignas(64) double rows[kMostScaleBlocks][kMmaRows];
  double columns[kMostScaleBlocks][kMmaColumns];
  // As the model counts them, from the fields; kNoExponent where the scale is 0, or NaN.
  alignas(64) std::int32_t row_exponents[kMostScaleBlocks][kMmaRows];
  std::int32_t column_exponents[kMostScaleBlocks][kMmaColumns];

  // A bit for each row and column that has a scale of NaN.
  std::uint32_t nan_rows = 0, nan_columns = 0;

  static constexpr std::int32_t kNoExponent = -4096;

  BlockScaleValues(const MmaKind& kind, const MmaScales& scales);
};

}  // namespace plumbline
