// SPDX-License-Identifier: MIT
#include "fuzz/case/memory.h"

namespace plumbline {

double memory_of(std::span<const TensorSpec> specs) {
  double bytes = 0;
  for (const TensorSpec& spec : specs) {
    const auto storage = static_cast<double>(spec.layout.storage_bytes());
    // Host copy, device copy, written-shadow; inputs are decoded (4 bytes) and split (16) for the
    // oracle; others carry their enclosures (24 bytes) and who wrote them.
    bytes += (spec.role == TensorRole::input ? 3 : 7) * storage;
    bytes += static_cast<double>(spec.layout.count()) * (spec.role == TensorRole::input ? 20 : 24);
  }
  return bytes;
}

}  // namespace plumbline
