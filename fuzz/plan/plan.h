// SPDX-License-Identifier: MIT
// The plan: which cases a run tries, in order: corpus first, then designed cases, then generated
// ones that cross shape classes, layout classes and value classes pairwise, then single sizes that
// these do not reach. The same (kernel, its code, profile, seed) gives the same plan everywhere.
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
  // Numbers that the kernel's code compares sizes with, those worth trying first first.
  std::vector<std::int64_t> code_sizes{};
};

// Designed and generated cases of one kernel (the corpus is read by the caller, corpus.h).
std::vector<Case> plan_cases(const Manifest& manifest, const PlanOptions& options);

// One random case: for `fuzz`. RapidCheck generators underneath.
Case random_case(const Manifest& manifest, std::uint64_t seed);

}  // namespace plumbline
