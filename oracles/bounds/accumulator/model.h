// SPDX-License-Identifier: MIT
// What an accumulator that keeps its contract computes, bit for bit: the contract's nodes,
// roundings and joins in order, on the specification of oracles/models. Slow and plain; for
// explanations and for tests of the bounds, which share no code with it. The verdict never depends
// on it: a contract allows more than one execution.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/bounds/contract/contract.h"

namespace plumbline {

struct AccumulatorStep {
  std::int64_t end;  // elements of k taken so far
  float value;       // the accumulator (of the current part, or the joined sum) after them
};

struct AccumulatorRun {
  float value = 0;  // before the epilogue
  std::vector<AccumulatorStep>
      steps;  // after each node (each fma), in increasing k; empty unless asked for
};

struct AccumulatorOptions {
  bool keep_steps = false;
  std::vector<std::int64_t> join_order;  // of the parts, for joins in any order; empty: increasing
  std::vector<double> factors;           // of a scaled promotion, per interval of k; empty: all 1
  // Of a unit with block scales, per Contract::scale_depth of k; empty: all 1.
  FormatId scale_format = FormatId::ue8m0;
  std::vector<float> scales_a{}, scales_b{};
};

// row and column hold values of the formats. Not for Unit::int32. Asserts that Contract::check()
// passes.
AccumulatorRun run_accumulator(const Contract& contract, int sm, FormatId a, FormatId b,
                               const float* row, const float* column, std::int64_t k,
                               const AccumulatorOptions& options = {});

}  // namespace plumbline
