// SPDX-License-Identifier: MIT
// The line that shows how far a run is.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

struct Progress {
  std::string kernel;  // whose case ended last
  std::int64_t done = 0, total = 0, failed = 0;
  int shrinking = 0;   // failures that are being made small
  double share = 0;    // of the run's work that is done
  double seconds = 0;  // since it began
};

// "gemm_bf16   120/980 cases, 12 %   2 failed   41/s   21 s left". Where that is longer than `width`,
// it is without the rate, then without the kernel.
std::string progress_text(const Progress& progress, int width);

// "0.4 s", "42 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace plumbline
