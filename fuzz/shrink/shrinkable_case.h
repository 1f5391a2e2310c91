// SPDX-License-Identifier: MIT
// Cases as RapidCheck Shrinkables. The lists of simpler cases are lazy: nothing is built before it
// is asked for.
#pragma once

#include "fuzz/shrink/pass.h"

namespace rc {
template <typename T>
class Seq;
template <typename T>
class Shrinkable;
}  // namespace rc

namespace plumbline {

// A case and the move of its pass to go on with.
struct Candidate {
  Case test_case;
  std::int64_t next_move = 0;
};

rc::Shrinkable<Candidate> shrinkable_candidate(const ShrinkPass& pass, Candidate candidate);

// Simpler cases by every pass that keeps the recipe: for rc::Gen<Case>.
rc::Seq<Case> simpler_cases(const Case& test_case);

}  // namespace plumbline
