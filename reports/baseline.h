// SPDX-License-Identifier: MIT
// Baseline: how far from exact the kernels were, small enough to be committed and read in a diff.
// One row of figures for each kernel, device and value class.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "oracles/base/result.h"
#include "reports/record/record.h"

namespace plumbline {

struct BaselineRow {
  std::string kernel, device, value_class;
  std::int64_t cases = 0, failed = 0;
  double worst_share = 0;  // of the admissible error, over all outputs of all cases
  // Mean |error| in ulp of the output, from cells an eighth wide: larger ones count as 4, exact
  // outputs as a sixteenth (mean_error() has them as 0).
  double mean_ulp = 0;
  std::optional<double> exact;  // the share of exact outputs; older files have none
  std::string inputs;           // fingerprint of the cases' texts: equal means the same cases
  std::string outputs;          // of their output bits

  // The mean error with exact outputs as 0; only where `exact` is known.
  double mean_error() const;

  auto key() const { return std::tie(kernel, device, value_class); }
};

struct Baseline {
  std::string from;               // where the rows come from: "plumbline 0.1.0, quick, seed 0x1"
  std::vector<BaselineRow> rows;  // sorted by key()
  std::string incomplete;         // of a run: why it is not all of its plan; else empty
  std::string filter = {};        // of a run: RunRecord::filter
  // Of a run: cases that could not run, by kernel. These are in no row.
  std::map<std::string, std::int64_t> errors = {};
};

Baseline baseline_of(const RunRecord& record);

// A line of JSON per row.
std::string baseline_json(const Baseline& baseline);

// A baseline file, a record.json, or a run's folder. Errors (bad_input) name the file and the row.
Result<Baseline> read_baseline(const std::string& path);

}  // namespace plumbline
