// SPDX-License-Identifier: MIT
// record.json, which holds a whole run, and record.jsonl, which grows while it goes: a line about
// the run, then a line per finished case. Either can be read back, also by a program that trusts
// neither; of a killed run record.jsonl is what is left. docs/record.schema.json says what is in
// record.json.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace plumbline {

std::string record_json(const RunRecord& record);

// Lines of record.jsonl, without newlines: the run as far as it is known when its cases are
// planned (again when more are planned), what propagate found (`found` holds nothing else), a case
// (without `details`: only the figures of a passing one; with what it reached of the code), and a
// planted fault.
std::string run_json_line(const RunRecord& record);
std::string found_json_line(const RunRecord& found);
std::string case_log_line(const CaseRecord& record, bool details = true);
std::string mutant_json_line(const MutantRecord& record);

// A case on one line, for programs that read along.
std::string case_json_line(const CaseRecord& record);

// Reads a record: a folder (its record.json, or its record.jsonl when that is all there is), or one
// of these files. A record of lines is one of a run that did not end: it comes back as interrupted,
// its cases in plan order and added up. Errors name the file and the place in it.
Result<RunRecord> read_record(const std::string& path);

}  // namespace plumbline
