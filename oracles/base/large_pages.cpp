// SPDX-License-Identifier: MIT
#include "oracles/base/large_pages.h"

#include <sys/mman.h>

namespace plumbline {

void prefer_large_pages(void* memory, std::int64_t bytes) {
  constexpr std::uintptr_t kPage = 4096;
  if (bytes < static_cast<std::int64_t>(kLargePage)) return;
  const auto first = (reinterpret_cast<std::uintptr_t>(memory) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

Buffer make_buffer(std::int64_t count) {
  Buffer out = std::make_unique_for_overwrite<double[]>(count);
  prefer_large_pages(out.get(), count * static_cast<std::int64_t>(sizeof(double)));
  return out;
}

}  // namespace plumbline
