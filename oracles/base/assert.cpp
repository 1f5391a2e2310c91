// SPDX-License-Identifier: MIT
#include "oracles/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace plumbline {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "plumbline: internal error: %s does not hold (%s:%d); please report this\n",
               condition, file, line);
  std::_Exit(70);
}

}  // namespace plumbline
