// SPDX-License-Identifier: MIT
#include "harness/launch/launch_result.h"

#include <algorithm>
#include <bit>

#include "harness/launch/device_image.h"

namespace plumbline {

std::vector<int> executed_lines(const LaunchResult& launch) {
  std::vector<int> lines;
  for (const std::vector<InstructionCount>& counts : launch.executions) {
    for (const InstructionCount& count : counts) {
      if (count.executions > 0) lines.push_back(count.ptx_line);
    }
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

std::vector<std::uint32_t> reached_codes(const LaunchResult& launch, int sm) {
  std::vector<std::uint32_t> codes;
  for (const std::vector<InstructionCount>& counts : launch.executions) {
    for (const InstructionCount& count : counts) {
      if (count.executions == 0) continue;
      const auto magnitude = static_cast<std::uint32_t>(std::bit_width(count.executions) / 3);
      codes.push_back(static_cast<std::uint32_t>(sm) << 25 |
                      static_cast<std::uint32_t>(count.ptx_line) << 5 | magnitude);
    }
  }
  return codes;
}

const Writer* writer_of(const LaunchResult& launch, const std::string& output,
                        const TensorLayout& layout, std::int64_t index) {
  const auto found = launch.writers.find(output);
  if (found == launch.writers.end()) return nullptr;
  const std::int64_t byte = byte_of(layout.format, layout.storage_index(index));
  const Writer& writer = found->second[static_cast<std::size_t>(byte / 4)];
  return writer.known() ? &writer : nullptr;
}

}  // namespace plumbline
