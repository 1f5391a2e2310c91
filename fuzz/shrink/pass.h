// SPDX-License-Identifier: MIT
// A pass of shrinking: an ordered list of moves, each from a case to a simpler one. Passes are
// small and know one kind of simplification; shrink.cpp walks them as RapidCheck Shrinkables.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuzz/case/case.h"

namespace plumbline {

class ShrinkPass {
 public:
  virtual ~ShrinkPass() = default;

  // How many moves there are from this case; the earlier ones simplify more.
  virtual std::int64_t moves(const Case& test_case) const = 0;

  // The simpler case, or nothing where the move does not apply or the kernel would not accept the
  // result.
  virtual std::optional<Case> apply(const Case& test_case, std::int64_t move) const = 0;

  // The move to go on with once `move` was taken.
  virtual std::int64_t resume(std::int64_t move) const = 0;

  // Rejected moves in a row after which the pass gives up.
  virtual int patience() const { return 1 << 20; }
};

// shrink/sizes.cpp: sizes towards 1, alone and, where equal, together; literal data is cropped at
// either end or in between.
const ShrinkPass& shrink_sizes();
// shrink/features.cpp
const ShrinkPass& shrink_layout();    // strides to tight, layouts to the default
const ShrinkPass& shrink_features();  // epilogue fields to their simplest values
// shrink/values.cpp
const ShrinkPass& shrink_to_literals();  // one move: the bits themselves instead of a recipe
const ShrinkPass& shrink_nonzeros();     // zeros in ever smaller chunks
const ShrinkPass& shrink_values();       // ones, powers of two, fewer significant bits

}  // namespace plumbline
