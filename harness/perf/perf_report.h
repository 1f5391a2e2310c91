// SPDX-License-Identifier: MIT
// What a perf run leaves beside perf.json: report.html for people, summary.md for a CI job's page,
// and report.sarif, which puts advice and what grew beside lines of code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/perf/advice.h"
#include "harness/perf/chips.h"
#include "harness/perf/perf_record.h"
#include "harness/perf/regression.h"

namespace plumbline {

// One kernel on one problem.
struct PerfResult {
  PerfEntry entry;
  std::vector<Advice> advice;
  const Chip* chip = nullptr;  // that it is held against; null: none is known here
};

struct PerfReport {
  std::vector<PerfResult> results;
  std::optional<PerfComparison> comparison;  // with a baseline
  bool strict = false;                       // what grew fails
  bool interrupted = false;                  // not all that was asked for was counted
  std::string run_id, version;
  std::string root;  // file names below it are relative to it
};

// "1 kernel counted on 2 problems, 3 pieces of advice".
std::string perf_counted(const PerfReport& report);

// The same, or with a baseline "1 counter grew since the baseline".
std::string perf_verdict(const PerfReport& report);

std::string perf_html(const PerfReport& report);
std::string perf_markdown(const PerfReport& report);
std::string perf_sarif(const PerfReport& report);

}  // namespace plumbline
