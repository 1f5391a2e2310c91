// SPDX-License-Identifier: MIT
// Tests of all errors of a case at once, for cases whose inputs have the design they need. They run
// on what has passed element by element. Two are theorems (oracles/population/population.h) and
// fail a case where a conforming kernel is not believable; the others
// (harness/population/envelope.h) only suspect it, and have to be asked again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/case/case.h"
#include "oracles/population/envelope.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

struct PopulationVerdict {
  std::string broken;      // which test failed, where, and how unlikely that is; empty: none
  std::string detectable;  // the smallest effects that would have failed
  std::vector<Suspicion> suspicions;  // what fails if it is there on other inputs too
};

// nullopt for cases that no test applies to: other values than normal ones (which have random signs
// and are drawn alike everywhere), something added to a product, outputs that are neither GEMMs nor
// attention's O, integers, no error at all. The theorems want 131072 outputs
// (harness/population/design.h), the others 4096.
std::optional<PopulationVerdict> test_population(const Case& test_case, const CaseTensors& tensors,
                                                 const CaseOracle& oracle, int threads);

// Other draws of inputs on which a suspicion has to come up again, each time.
inline constexpr int kFreshDraws = 3;

// Those that are there on other inputs too.
std::vector<Suspicion> confirmed(const std::vector<Suspicion>& suspicions,
                                 const std::vector<Suspicion>& on_other_inputs);

// The reason of a failure.
std::string words_of(const std::vector<Suspicion>& confirmed);

}  // namespace plumbline
