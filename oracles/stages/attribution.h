// SPDX-License-Identifier: MIT
// Attribution: which stage of a computation its error comes from. With f(S) the outputs when the
// stages in S are low and the others exact, and Delta = f(all) - f(none), a vector,
//
//   alone       ||f({i}) - f(none)||, what the stage does by itself
//   without     ||f(all) - f(all but i)||, what making it exact would change
//   telescoped  <f({1..i}) - f({1..i-1}), Delta> / ||Delta||^2, in the order of the pipeline
//   share       the same of the stage's mean contribution over all orders (Shapley): exact up to
//               six stages, else the mean over random orders, with its standard error
//
// Telescoped and shares add up to 1 each; a negative one says that the stage's error takes away
// from what others do. Instead of f(all) the target may be what a kernel really gave: then the
// shares add up to 1 together with `unexplained`, the share of target - f(all).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "oracles/stages/staged.h"

namespace plumbline {

// f(S) of one computation, each evaluated once. The fault is part of the computation.
class StagedEvaluations {
 public:
  explicit StagedEvaluations(const StagedComputation& computation, int fault = -1)
      : computation_(computation), fault_(fault) {}

  const std::vector<double>& operator()(StageSet low, int output);

  const StagedComputation& computation() const { return computation_; }

 private:
  const StagedComputation& computation_;
  int fault_;
  std::map<StageSet, StagedValues> values_;
};

struct StageShare {
  double share = 0, standard_error = 0;
  double telescoped = 0;
  double alone = 0, without = 0;  // relative to ||f(none)||
};

struct Attribution {
  double magnitude = 0;            // root mean square of the exact output
  double error = 0;                // ||target - f(base)|| / ||f(none)||
  std::vector<StageShare> stages;  // zeros for those in `base`
  double unexplained = 0;          // share of target - f(all)
  double remainder = 0;            // ||target - f(all)|| / ||f(none)||
  // Of the stages outside `base`: 1 - sum of alone^2 / ||f(all) - f(base)||^2, about 0 where errors
  // are independent; and the root of that sum of squares over the norm.
  double interaction = 0, root_sum_square = 0;
};

struct AttributionOptions {
  StageSet base = 0;                            // stages low throughout: not part of the question
  const std::vector<double>* target = nullptr;  // f(all) where there is none
  int orders = 64;                              // random orders beyond six stages
  std::uint64_t seed = 1;
};

Attribution attribute(StagedEvaluations& evaluations, int output,
                      const AttributionOptions& options = {});

// One part of an error that was cut into pieces, one after the other.
struct ErrorPart {
  double relative = 0;  // its norm / ||f(none)||
  double share = 0;     // <part, whole> / ||whole||^2; shares add up to 1
};

// target - f(none) as quantization + mandated roundings + arithmetic + output rounding + what no
// stage explains.
struct ErrorSplit {
  ErrorPart quantization, mandated, arithmetic, output, unexplained;
  double largest_cosine = 0;  // of two of the first four; about 0 where they are independent
};

ErrorSplit split_error(StagedEvaluations& evaluations, int output,
                       const std::vector<double>& target);

// The fault that leaves least of target - f(all) unexplained.
struct FaultFit {
  int fault = -1;        // none where the remainder is 0 or no fault reduces it
  double explained = 0;  // 1 - ||target - f(all, fault)||^2 / ||target - f(all)||^2
};

FaultFit best_fault(const StagedComputation& computation, int output,
                    const std::vector<double>& target);

}  // namespace plumbline
