// SPDX-License-Identifier: MIT
#include "harness/emulator/program.h"

#include <algorithm>

#include "harness/emulator/address_space.h"

namespace plumbline::emulator {

std::int64_t Program::dynamic_shared_offset() const {
  const std::int64_t end = static_cast<std::int64_t>(kSharedStart) + static_shared_bytes;
  const std::int64_t alignment = std::max<std::int64_t>(dynamic_shared_alignment, 1024);
  return (end + alignment - 1) / alignment * alignment;
}

}  // namespace plumbline::emulator
