// SPDX-License-Identifier: MIT
// GemmJudge: one pass over all outputs of a GEMM. In steps:
//   1. every element by what is cheap: its class, exactness known in advance, and the outputs on
//      both sides of the exact sum (ElementRule::surely_admissible), which settles 99.9 % of 16-bit
//      outputs;
//   2. the running bound for the rest, eight elements at a time, and for a small fixed sample to
//      have figures; if there are more than may be bounded, for a stratified sample of them, the
//      others by the a-priori bound;
//   3. the contract's own arithmetic, where it leaves nothing open and all outputs are admissible:
//      bit for bit, of all outputs of small problems and of a stratified sample of large ones;
//   4. exact arithmetic for what the enclosures leave open, and MPFR for that and for a sample.
// Work is cut into fixed blocks and put together in order: the verdict is the same for any number
// of threads.
#pragma once

#include <vector>

#include "oracles/exact/gemm_sums.h"
#include "oracles/reference/gemm/block_bounds.h"
#include "oracles/reference/gemm/element.h"
#include "oracles/reference/gemm/prepared.h"
#include "oracles/reference/oracle.h"
#include "oracles/reference/output_tally.h"

namespace plumbline {

class GemmJudge {
 public:
  // sums: of every output, from gemm_sums() or, with options.mpfr_bits > 0, from the definition.
  GemmJudge(const PreparedGemm& gemm, const SumEnclosures& sums, const Tensor& got,
            const JudgeOptions& options);

  OutputVerdict run();

 private:
  // How much is computed for an element that passes.
  enum class Effort { full, quick, a_priori };

  SumEnclosure sum(std::int64_t index) const;
  GemmBlock block(std::int64_t number) const;
  bool passes(std::int64_t index) const;
  bool surely_wrong(const GemmPlace& at, const ElementKnowledge& known, std::uint64_t code) const;

  void first_look(const GemmPlace& at, OutputTally& tally) const;
  void judge_closely(const GemmBlock& where, const std::vector<std::int64_t>& indices,
                     OutputTally& tally) const;
  void judge_a_priori(std::int64_t index, OutputTally& tally) const;
  void judge_with_bound(std::int64_t index, const RunningBound& quick, OutputTally& tally) const;
  void record(const GemmPlace& at, const ElementKnowledge& known, const ElementDecision& decision,
              std::uint64_t code, Effort effort, OutputTally& tally) const;
  std::vector<std::vector<std::int64_t>> chosen(const std::vector<OutputTally>& tallies,
                                                bool& sampled) const;
  void compare_bits(OutputVerdict& verdict) const;
  void referee(const std::vector<std::int64_t>& undecided, OutputVerdict& verdict) const;

  const PreparedGemm& gemm_;
  const SumEnclosures& sums_;
  const GemmTensorReader got_;
  const JudgeOptions options_;
  const GemmBlockBounds bounds_;
};

}  // namespace plumbline
