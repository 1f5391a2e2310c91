// SPDX-License-Identifier: MIT
// HiddenJudge: one pass over all elements of h. In steps, as GemmJudge:
//   1. every element by what is cheap: some conforming kernel has accumulators next to the exact
//      sums, so what all four pairs of neighbors may give is admissible for all bounds;
//   2. the running bounds of both sums for the rest, and for a small fixed sample to have figures;
//   3. exact sums where the enclosures of the fast ones leave the decision open, and MPFR for a
//      sample.
// Work is cut into fixed blocks and put together in order: the verdict is the same for any number
// of threads.
#pragma once

#include <optional>
#include <vector>

#include "oracles/reference/output_tally.h"
#include "oracles/reference/swiglu/hidden.h"

namespace plumbline {

class HiddenJudge {
 public:
  // `sums`: from hidden.sums() or, with options.mpfr_bits > 0, from the definition.
  HiddenJudge(const SwigluHidden& hidden, const SwigluHidden::Sums& sums, const Tensor& got,
              const JudgeOptions& options);

  OutputVerdict run();

 private:
  GemmBlock block(std::int64_t number) const;

  GemmPlace place(std::int64_t index) const { return hidden_.gate().place(index); }

  SumEnclosure gate_sum(std::int64_t index) const { return at(sums_.gate, index); }

  SumEnclosure up_sum(std::int64_t index) const { return at(sums_.up, index); }

  static SumEnclosure at(const SumEnclosures& sums, std::int64_t index);

  void first_look(std::int64_t index, OutputTally& tally) const;
  bool surely_admissible(std::int64_t index) const;
  ElementVerdict a_priori(std::int64_t index, const Certified& exact) const;
  void look_closely(const GemmBlock& where, OutputTally& tally) const;
  void judge_with_bound(std::int64_t index, const RunningBound& gate, const RunningBound& up,
                        OutputTally& tally) const;
  void referee(OutputVerdict& verdict) const;

  const SwigluHidden& hidden_;
  const SwigluHidden::Sums& sums_;
  const Tensor& got_;
  const Format& format_;
  const JudgeOptions options_;
  const GemmBlockBounds gate_bounds_, up_bounds_;
};

}  // namespace plumbline
