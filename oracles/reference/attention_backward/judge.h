// SPDX-License-Identifier: MIT
// GradientJudge: the verdict on one group's part of dQ, dK or dV. In steps, as for GEMM:
//   1. every element by what is cheap: its class, and the roundings on both sides of the enclosure
//      of its sum (ElementRule::surely_admissible);
//   2. for the rest the weights a kernel may have, line by line, and the bound of each element;
//      where not all may be bounded, a chosen sample, the others by a coarse bound;
//   3. the definition for what the enclosures leave open, and for a sample.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oracles/reference/attention_backward/block.h"
#include "oracles/reference/attention_backward/element.h"
#include "oracles/reference/attention_backward/prepared.h"
#include "oracles/reference/attention_backward/special.h"
#include "oracles/reference/output_tally.h"

namespace plumbline {

class GradientJudge {
 public:
  GradientJudge(const GradientWork& work, GradientOutput output, const Tensor& got,
                const JudgeOptions& options);

  // Which elements, by index in the output.
  struct Wish {
    bool all_bounds = true;             // all that need a bound get one; else they become `pending`
    std::vector<std::int64_t> bounded;  // with all_bounds false and this not empty: only these
    std::vector<std::int64_t> refereed;  // increasing
  };

  struct Findings {
    OutputTally tally;
    std::int64_t refereed = 0;
  };

  Findings run(const Wish& wish, int threads) const;

  // A line looked at closely: its sums by the definition.
  struct CloseLine {
    std::int64_t line = -1;
    std::vector<Due> due;  // empty: all regular
    std::unique_ptr<GradientBlock> block;
    std::vector<Dyadic> exact;
  };

  CloseLine close_line(std::int64_t line) const;
  ElementVerdict element(CloseLine& line, std::int64_t index, std::uint64_t got) const;

  // The group's part of CaseOracle::reference_values(), into its places in `all`.
  void put_values(Reference reference, std::vector<double>& all, int threads) const;

  // Where an element lies; nullopt if it is another group's.
  struct Place {
    std::int64_t line, x;
  };

  std::optional<Place> place(std::int64_t index) const;
  std::int64_t index(std::int64_t line, std::int64_t x) const;

  const GradientRule& rule() const { return rule_; }

 private:
  struct Block {
    std::int64_t first, lines;
  };

  std::vector<Block> blocks() const;

  // A line at its first look: what needs no more than the survey is decided.
  struct Glance {
    std::int64_t line = 0, first_index = 0, storage = 0;
    const GradientSurvey* survey = nullptr;       // null: sums are `defined`
    bool asked = true;                            // some of its elements are
    std::vector<Due> due;                         // empty: all regular
    std::vector<Dyadic> defined;                  // sums by the definition, if all are to be
    std::vector<std::uint8_t> surely_admissible;  // of each column: surely admissible
    bool closer = false;                          // some column needs the weights a kernel may have
  };

  // The sums of all columns of a line by the definition.
  std::vector<Dyadic> defined_line(std::int64_t line, int bits) const;
  Glance glance(std::int64_t line, const GradientSurvey* survey, const Wish& wish) const;
  static SumEnclosure sum(const Glance& line, GradientOutput output, std::int64_t x);
  bool by_class(const Glance& line, std::int64_t x, std::uint64_t code) const;
  bool close(std::int64_t index, const Wish& wish) const;
  void judge_block(const Block& block, const Wish& wish, Findings& findings) const;
  // `place`: of the line in the block, if it needs a closer look.
  void judge_line(const Glance& line, GradientBlock& block, std::int64_t place, const Wish& wish,
                  Findings& findings) const;

  // An element that the definition is asked about as well, and what was found without it.
  struct Refereed {
    std::int64_t x;
    GradientKnowledge known;
    bool passes;
    std::uint64_t got;
  };

  // Whether the definition's sum lies in the enclosure and leads to the same verdict.
  bool definition_agrees(const Refereed& element, const Dyadic& exact) const;
  void record(std::int64_t index, const GradientKnowledge& known, const GradientDecision& decision,
              std::uint64_t got, OutputTally& tally) const;

  const GradientWork& work_;
  const GradientOperands& operands_;
  const GradientWeights64& weights_;
  const GradientOutput output_;
  const Tensor& got_;
  const std::int64_t elements_;  // of it
  const JudgeOptions options_;
  const GradientSpecials specials_;
  const GradientRule rule_;
};

}  // namespace plumbline
