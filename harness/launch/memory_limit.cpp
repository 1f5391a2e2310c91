// SPDX-License-Identifier: MIT
#include "harness/launch/memory_limit.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "fuzz/case/memory.h"

namespace plumbline {

Status check_memory(const Case& test_case, int copies) {
  const Result<std::vector<TensorSpec>> specs = test_case.kernel->tensors(test_case.problem);
  if (!specs) return specs.error();
  const double bytes = copies * memory_of(*specs);
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  double kib = 0;
  while (meminfo >> key >> kib) {
    std::getline(meminfo, unit);
    if (key != "MemAvailable:") continue;
    if (bytes > kib * 1024) {
      return Error{ErrorKind::out_of_memory,
                   fmt::format("{} {} needs about {:.1f} GiB of memory, {:.1f} GiB are free",
                               test_case.kernel->name, test_case.problem.text(), bytes / 0x1p30,
                               kib / 0x1p20),
                   "", "use a smaller shape"};
    }
  }
  return {};
}

}  // namespace plumbline
