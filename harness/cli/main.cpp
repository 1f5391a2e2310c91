// SPDX-License-Identifier: MIT
// The program: parse, dispatch, exit code.
#include <fmt/format.h>

#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include "harness/cli/arguments.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/interrupt.h"

namespace {

using plumbline::Arguments;
using plumbline::ExitCode;
using plumbline::Terminal;

constexpr std::array<std::pair<std::string_view, ExitCode (*)(const Arguments&, Terminal&)>, 7>
    kVerbs = {{
        {"list", plumbline::list},
        {"verify", plumbline::verify},
        {"fuzz", plumbline::fuzz},
        {"replay", plumbline::replay},
        {"explain", plumbline::explain},
        {"report", plumbline::report},
        {"doctor", plumbline::doctor},
    }};

ExitCode run(int argc, char** argv) {
  const plumbline::Result<Arguments> arguments = plumbline::parse_arguments(argc, argv);
  if (!arguments) return plumbline::report_error(arguments.error());
  if (arguments->verb.empty()) {
    fmt::print("{}", arguments->help);
    return ExitCode::held;
  }
  plumbline::catch_interrupts();
  Terminal terminal(*arguments);
  for (const auto& [name, verb] : kVerbs) {
    if (name == arguments->verb) return verb(*arguments, terminal);
  }
  return ExitCode::internal;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return static_cast<int>(run(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "plumbline: internal error: {}; please report this with the command line\n",
               error.what());
    return static_cast<int>(ExitCode::internal);
  }
}
