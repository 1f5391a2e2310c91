// SPDX-License-Identifier: MIT
// The places in source code that the findings of a run lead to, for SARIF and annotations.
#pragma once

#include <string>
#include <vector>

#include "reports/record.h"

namespace plumbline {

struct FindingPlace {
  std::string kernel;
  FindingRecord finding;  // the first one there
  std::string file;       // source, else PTX; relative to `root` where it lies below it
  int line = 0;
  std::string case_text;   // the first case that showed it
  std::int64_t cases = 0;  // how many did
};

// Findings with a line, one per kernel, kind and line: those of most cases first.
std::vector<FindingPlace> finding_places(const RunRecord& record, const std::string& root);

}  // namespace plumbline
