// SPDX-License-Identifier: MIT
// Shrinking: from a failing case to the smallest one that still fails: dimensions, layout,
// features, then non-zeros, then values. Built on RapidCheck Shrinkables of our own: each case
// offers simpler ones, the first that still fails is taken, until none fails.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/case/case.h"

namespace plumbline {

struct ShrinkResult {
  Case smallest;
  int tried = 0;
  int steps = 0;                   // accepted simplifications
  std::vector<std::string> trail;  // case texts, from the original to the smallest
};

// `fails` runs a case and says whether it shows the same kind of failure. It is called at most
// `budget` times; `stop` is asked between calls (Ctrl-C, time box).
ShrinkResult shrink(const Case& failing, const std::function<bool(const Case&)>& fails,
                    int budget = 2000, const std::function<bool()>& stop = {});

}  // namespace plumbline
