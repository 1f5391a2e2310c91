// SPDX-License-Identifier: MIT
// The plan: which cases a run tries, in order: corpus first, then designed cases, then generated
// ones that cross shape classes, layout classes and value classes pairwise. The same (kernel,
// profile, seed) gives the same plan everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/case/case.h"
#include "fuzz/case/profile.h"
#include "kernels/manifest/manifest.h"

namespace plumbline {

struct PlanOptions {
  Profile profile = Profile::standard;
  std::uint64_t seed = 1;
};

// Designed and generated cases of one kernel (the corpus is read by the caller, corpus.h).
std::vector<Case> plan_cases(const Manifest& manifest, const PlanOptions& options);

// One random case: for `fuzz`. RapidCheck generators underneath.
Case random_case(const Manifest& manifest, std::uint64_t seed);

}  // namespace plumbline
