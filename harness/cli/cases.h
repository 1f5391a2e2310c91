// SPDX-License-Identifier: MIT
// The cases a person names (files, folders of files, and case texts), and those of a plan.
#pragma once

#include <string>
#include <vector>

#include "fuzz/case_file/corpus.h"
#include "harness/cli/arguments.h"
#include "harness/cli/terminal.h"
#include "harness/run/run.h"

namespace plumbline {

// A name that exists on disk is a case file or a folder of them; anything with a space is a case
// text.
Result<std::vector<CaseFile>> named_cases(const std::vector<std::string>& names,
                                          const Registry& registry);

// Prints the jobs of a plan, what they add up to and how long they will take.
void print_plan(const std::vector<Job>& jobs, const RunRecord& planned, int threads,
                const Arguments& arguments, Terminal& terminal);

}  // namespace plumbline
