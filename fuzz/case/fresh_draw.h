// SPDX-License-Identifier: MIT
// The same case with other inputs.
#pragma once

#include <cstdint>

#include "fuzz/case/case.h"
#include "oracles/base/random.h"

namespace plumbline {

// The case with its i-th other draw of inputs. Seeds have 32 bits, like those of a plan.
inline Case with_fresh_draw(const Case& test_case, int i) {
  Case fresh = test_case;
  fresh.recipe.seed =
      Random(test_case.recipe.seed).fork(static_cast<std::uint64_t>(i)).next() >> 32;
  return fresh;
}

}  // namespace plumbline
