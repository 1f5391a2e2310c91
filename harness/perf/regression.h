// SPDX-License-Identifier: MIT
// What grew since a baseline: the totals of a launch decide, and the lines that grew are named. So
// lines of code may move, and work may move from one line to another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/perf/perf_record.h"

namespace plumbline {

// A line that has more of a counter than lines of the same place had.
struct GrownLine {
  std::string words;  // "ldmatrix... at tile.cuh:31: 16 before, 32 now"
  std::string file;   // as in PerfLine
  int line = 0;
};

struct CounterChange {
  // "gemm_bf16 sm_90 m=256 n=256 k=256", and the launch where there are several.
  std::string kernel;
  std::string what;  // "wavefronts of shared memory"
  std::uint64_t before = 0, after = 0;
  std::vector<GrownLine> lines;  // the one that grew most first

  bool grew() const { return after > before; }

  // A whole sentence.
  std::string text() const;
};

struct PerfComparison {
  std::vector<CounterChange> changes;
  std::vector<std::string> unclear;  // sentences: what cannot be compared
  int same = 0;                      // entries in which nothing changed

  bool grew() const;
};

PerfComparison compare_perf(const PerfRecord& before, const PerfRecord& after);

}  // namespace plumbline
