// SPDX-License-Identifier: MIT
// A warp-wide mma with block scales (MmaKind::scale) worked out once and run many times: the bits
// of mma_spec(), faster.
//
// FP8: a node of products times 2^s on an accumulator c is 2^s times the node of the products on
// c 2^-s, as long as nothing comes near the ends of f32's range; so the vector path without scales
// does it. FP4: products are small integers, whose sums of 16 are added up for all outputs at once.
// What is neither, and unusual inputs (NaN, infinities, scales or sums near the ends of the range),
// goes to the specification.
#pragma once

#include <optional>

#include "oracles/models/mma_plan.h"

namespace plumbline {

class ScaledMma {
 public:
  explicit ScaledMma(const MmaKind& kind);

  void run(const LaneRegister* a, const LaneRegister* b, const LaneRegister* c, LaneRegister* d,
           const MmaScales& scales) const;

  // False when it leaves the mma to the specification; d is then untouched.
  bool run_fast(const LaneRegister* a, const LaneRegister* b, const LaneRegister* c,
                LaneRegister* d, const MmaScales& scales) const;

 private:
  MmaKind kind_;
  std::optional<MmaPlan> products_;  // of FP8: the same without scales
};

}  // namespace plumbline
