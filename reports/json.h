// SPDX-License-Identifier: MIT
// record.json and record.jsonl. Numbers that must survive are written so that they do: floats that
// may be NaN or Inf as
// {"bits", "value"}, 64-bit hashes and seeds as strings. Keys keep their order.
#pragma once

#include <string>

#include "reports/record.h"

namespace plumbline {

std::string case_json_line(const CaseRecord& record);  // one line, no newline at its end
std::string mutant_json_line(const MutantRecord& record);
std::string record_json(const RunRecord& record);

// Reads a record back (for `verify --failed` and later reports). Errors name the file.
Result<RunRecord> read_record(const std::string& path);

}  // namespace plumbline
