// SPDX-License-Identifier: MIT
// One function per verb; each lives in the file of its name.
#pragma once

#include "harness/cli/arguments.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/terminal.h"

namespace plumbline {

ExitCode list(const Arguments& arguments, Terminal& terminal);
ExitCode init(const Arguments& arguments, Terminal& terminal);
ExitCode verify(const Arguments& arguments, Terminal& terminal);
ExitCode fuzz(const Arguments& arguments, Terminal& terminal);
ExitCode replay(const Arguments& arguments, Terminal& terminal);
ExitCode explain(const Arguments& arguments, Terminal& terminal);
ExitCode check(const Arguments& arguments, Terminal& terminal);
ExitCode compare(const Arguments& arguments, Terminal& terminal);
ExitCode accept(const Arguments& arguments, Terminal& terminal);
ExitCode mutants(const Arguments& arguments, Terminal& terminal);
ExitCode propagate(const Arguments& arguments, Terminal& terminal);
ExitCode judge(const Arguments& arguments, Terminal& terminal);
ExitCode perf(const Arguments& arguments, Terminal& terminal);
ExitCode scan(const Arguments& arguments, Terminal& terminal);
ExitCode report(const Arguments& arguments, Terminal& terminal);
ExitCode completion(const Arguments& arguments, Terminal& terminal);
ExitCode doctor(const Arguments& arguments, Terminal& terminal);

}  // namespace plumbline
