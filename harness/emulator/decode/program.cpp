// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {

CodePlace Program::place(std::size_t index) const {
  const Instruction* from = origin[index];
  if (from == nullptr) return {};
  const auto name = [&](int number) {
    const auto at = static_cast<std::size_t>(number);
    return number >= 0 && at < source_files.size() ? source_files[at] : "";
  };
  CodePlace place{.ptx_file = file,
                  .ptx_line = from->line,
                  .source_file = name(from->source.file),
                  .inlined_at = name(from->source.inlined_file)};
  if (!place.source_file.empty()) place.source_line = from->source.line;
  if (!place.inlined_at.empty()) place.inlined_at += fmt::format(":{}", from->source.inlined_line);
  return place;
}

std::int64_t Program::dynamic_shared_offset() const {
  const std::int64_t end = static_cast<std::int64_t>(kSharedStart) + static_shared_bytes;
  const std::int64_t alignment = std::max<std::int64_t>(dynamic_shared_alignment, 16);
  return (end + alignment - 1) / alignment * alignment;
}

}  // namespace plumbline::emulator
