// SPDX-License-Identifier: MIT
// Any bytes as PTX: the parser must give a consistent module or an error with a place, never crash,
// hang or leak.
#include <cstdio>
#include <cstdlib>

#include "tests/harness/emulator/frontend/module_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string wrong = plumbline::emulator::test::check_parse(text);
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
