// SPDX-License-Identifier: MIT
// The program: parse, dispatch, exit code.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "harness/cli/arguments.h"
#include "harness/cli/newer_processor.h"
#include "harness/cli/session.h"
#include "harness/cli/verb_table.h"
#include "harness/judge/interrupt.h"

namespace {

using plumbline::Arguments;
using plumbline::ExitCode;
using plumbline::Terminal;

ExitCode run(int argc, char** argv) {
  const plumbline::Result<Arguments> arguments = plumbline::parse_arguments(argc, argv);
  if (!arguments) return plumbline::report_error(arguments.error());
  if (arguments->verb.empty()) {
    fmt::print("{}", arguments->help);
    return ExitCode::held;
  }
  plumbline::catch_interrupts();
  Terminal terminal(*arguments);
  for (const plumbline::Verb& verb : plumbline::verb_table()) {
    if (verb.name == arguments->verb) return verb.run(*arguments, terminal);
  }
  return ExitCode::internal;
}

}  // namespace

int main(int argc, char** argv) {
  plumbline::restart_with_faster_blas(argv);
  try {
    return static_cast<int>(run(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "plumbline: internal error: %s; please report this with the command line\n",
                 error.what());
    return static_cast<int>(ExitCode::internal);
  }
}
