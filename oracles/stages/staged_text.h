// SPDX-License-Identifier: MIT
// The steps of an operation text as stages: each real step exact, or as a kernel computes it, one
// f32 rounding for each operation. Of what a contract leaves open one kernel is taken: sums of
// lanes that are joined in pairs, factors and terms from left to right, functions rounded
// correctly, and products on tensor cores in one accumulator.
#pragma once

#include <memory>
#include <vector>

#include "oracles/reference/text/oracle.h"
#include "oracles/stages/staged.h"

namespace plumbline {

struct StagedText {
  text::Instance instance;
  text::Inputs stored, sources;  // the inputs, and what they were before they were rounded
  text::Arithmetic arithmetic;
  std::vector<text::TextOracle::Output> outputs;
};

// Whether a program has few enough steps to be stages.
bool has_stages(const text::Program& program);

std::unique_ptr<StagedComputation> staged_text(StagedText text);

}  // namespace plumbline
