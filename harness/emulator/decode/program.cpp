// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {

namespace {

// "tile.cuh:31, inlined at gemm.cu:40"; of many calls the middle ones are counted.
std::string joined(const std::vector<std::string>& calls) {
  constexpr std::size_t kMost = 4, kEnd = 2;
  if (calls.size() <= kMost) return fmt::format("{}", fmt::join(calls, kInlinedAt));
  return fmt::format("{}{}... ({} more calls) ...{}{}",
                     fmt::join(calls.begin(), calls.begin() + kEnd, kInlinedAt), kInlinedAt,
                     calls.size() - 2 * kEnd, kInlinedAt,
                     fmt::join(calls.end() - kEnd, calls.end(), kInlinedAt));
}

}  // namespace

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
                  .inlined_at = {}};
  if (!place.source_file.empty()) place.source_line = from->source.line;
  if (from->source.calls == nullptr) return place;
  std::vector<std::string> calls;
  for (const FileLine& call : *from->source.calls) {
    if (const std::string source = name(call.file); !source.empty())
      calls.push_back(fmt::format("{}:{}", source, call.line));
  }
  place.inlined_at = joined(calls);
  return place;
}

std::int64_t Program::dynamic_shared_offset() const {
  const std::int64_t end = static_cast<std::int64_t>(kSharedStart) + static_shared_bytes;
  const std::int64_t alignment = std::max<std::int64_t>(dynamic_shared_alignment, 16);
  return (end + alignment - 1) / alignment * alignment;
}

}  // namespace plumbline::emulator
