// SPDX-License-Identifier: MIT
// Step 9: what failed, in words, with the numbers that prove it.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/case_runner.h"
#include "reports/record/record.h"

namespace plumbline {

// Who stored an element of an output, and where: "cta 0,0,0, warp 1, lane 14 at gemm.cu:88", or by
// the line of PTX. Empty where it is not known (RunnerOptions::keep_writers).
std::string stored_by(const LaunchResult& launch, const std::string& output,
                      const TensorLayout& layout, std::int64_t index);

// A counterexample's card from a failed case that was examined. Fills headline, elements,
// explanation and findings; where it came from is the caller's to add.
Counterexample explain_failure(const Case& test_case, const Examined& examined);

// A result of the wrong class (NaN where a number is due, or the other way round) fits many simple
// faults. Where it fits more than two, none is named: the card counts them. To be called when
// nothing else tells them apart any more.
void drop_faults_of_class(Counterexample& card);

// Simple faults that say something where they all fit.
inline constexpr std::size_t kMostNamedFaults = 2;

}  // namespace plumbline
