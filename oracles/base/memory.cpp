// SPDX-License-Identifier: MIT
#include "oracles/base/memory.h"

#include <unistd.h>

namespace plumbline {

double physical_memory_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace plumbline
