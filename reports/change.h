// SPDX-License-Identifier: MIT
// What changed between two baselines, kernel by kernel: better, worse, same or unclear.
//
// Value classes are compared one by one. Where both sides ran the same cases, a change of the worst
// share or of the mean error by more than 1 % of itself is a fact. Where they ran other cases
// (another seed), figures differ by chance: only if nearly all classes moved in one direction (a
// sign test at 5 %) that is called a change, else it is unclear. Of another profile, with many more
// or fewer cases, it is always unclear: the worst of more cases is worse.
#pragma once

#include <string>
#include <vector>

#include "reports/baseline.h"

namespace plumbline {

enum class Change : std::uint8_t { better, worse, unclear, same, added, removed, error };

std::string_view name(Change change);  // "better", ...

struct KernelChange {
  std::string kernel;
  Change change = Change::same;
  bool broke = false;  // it breaks a promise that it kept before, or more often than before
  bool grew = false;   // the error of some class grew on the same cases, also where others shrank
  std::string words;   // "58 % -> 71 % of the admissible error with class cancelling"
};

// By kernel name; every kernel of either side.
std::vector<KernelChange> changes(const Baseline& before, const Baseline& after);

// How a run ends for a change: `fail` when a promise broke that held before, `error` when the
// kernel could not run. `strict`: also `fail` when an error grew, and `mistrusted` where it may
// have grown, since it cannot be compared.
Verdict verdict_of(const KernelChange& change, bool strict);

// One line of JSON, no newline at its end.
std::string change_json_line(const KernelChange& change);

// The chance that at least this many of n fair coins fall on one side, whichever.
double sign_test(int up, int down);

}  // namespace plumbline
