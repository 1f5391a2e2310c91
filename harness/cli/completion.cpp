// SPDX-License-Identifier: MIT
// plumbline completion: a script for a shell, from the verbs and their flags.
#include "harness/cli/text/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "harness/cli/session.h"
#include "harness/cli/verbs.h"

namespace plumbline {

ExitCode completion(const Arguments& arguments, Terminal&) {
  if (arguments.names.size() != 1 || std::ranges::count(kShells, arguments.names.front()) == 0) {
    return report_error({ErrorKind::bad_input, "completion needs the name of a shell", "",
                         fmt::format("one of {}", fmt::join(kShells, ", "))});
  }
  const std::string script = completion_script(arguments.names.front(), described_verbs());
  std::fwrite(script.data(), 1, script.size(), stdout);
  return ExitCode::held;
}

}  // namespace plumbline
