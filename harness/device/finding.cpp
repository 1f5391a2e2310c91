// SPDX-License-Identifier: MIT
// Findings as words: the name of each kind, and the one line a person reads.
#include "harness/device/finding.h"

#include <fmt/format.h>

#include <algorithm>

#include "oracles/base/assert.h"

namespace plumbline {

const char* name(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds:
      return "out of bounds";
    case FindingKind::misaligned:
      return "misaligned";
    case FindingKind::read_of_unwritten:
      return "read of unwritten memory";
    case FindingKind::race:
      return "race";
    case FindingKind::missing_wait:
      return "missing wait";
    case FindingKind::missing_fence:
      return "missing fence";
    case FindingKind::divergent_barrier:
      return "divergent barrier";
    case FindingKind::deadlock:
      return "deadlock";
    case FindingKind::trap:
      return "trap";
    case FindingKind::device_exception:
      return "device exception";
    case FindingKind::endless_loop:
      return "endless loop";
    case FindingKind::division_by_zero:
      return "division by zero";
    case FindingKind::unwritten_register:
      return "unwritten register";
    case FindingKind::bad_operand:
      return "bad operand";
    case FindingKind::write_outside_output:
      return "write outside output";
  }
  PLUMB_ASSERT(!"finding kind without a name");
}

namespace {

// "{%f1, %f2, %f3, ..., %f64}": a list of many registers in a product of a warpgroup says nothing
// more in full.
std::string shortened(const std::string& instruction) {
  constexpr std::size_t kMost = 160;
  const std::size_t open = instruction.find('{'), close = instruction.find('}');
  if (instruction.size() <= kMost || open == std::string::npos || close == std::string::npos)
    return instruction;
  const std::size_t first = instruction.find(',', open), last = instruction.rfind(',', close);
  if (first == last || last < open) return instruction;
  return instruction.substr(0, first) + ", ..." + instruction.substr(last);
}

// " at k.ptx:120 `ld.shared.u32 ...` (gemm.cu:88)", of a Finding or the other access.
template <typename Access>
std::string place(const Access& access) {
  std::string out;
  if (access.ptx_line > 0)
    out += fmt::format(" at {}:{}", access.ptx_file.empty() ? "ptx" : access.ptx_file,
                       access.ptx_line);
  if (!access.ptx.empty()) out += fmt::format(" `{}`", shortened(access.ptx));
  if (!access.source_file.empty()) {
    out += fmt::format(" ({}:{}{}{})", access.source_file, access.source_line,
                       access.inlined_at.empty() ? "" : ", inlined at ", access.inlined_at);
  }
  return out;
}

}  // namespace

std::string OtherAccess::text() const {
  return fmt::format("{} by warp {}, lane {}{}", access_kind, warp, lane, place(*this));
}

std::string Finding::text() const {
  std::string out = fmt::format("{}: {} [", name(kind), message);
  if (!kernel.empty()) out += fmt::format("{}, ", kernel);
  out += fmt::format("cta {},{},{}", cta[0], cta[1], cta[2]);
  if (warp >= 0) out += fmt::format(", warp {}", warp);
  if (lane >= 0) out += fmt::format(", lane {}", lane);
  out += "]";
  out += place(*this);
  if (occurrences > 1) out += fmt::format(", {} times", occurrences);
  if (other) out += "; the other access: " + other->text();
  return out;
}

void order_by_consequence(std::vector<Finding>& findings) {
  const auto rank = [](const Finding& finding) {
    switch (finding.kind) {
      case FindingKind::out_of_bounds:
      case FindingKind::misaligned:
      case FindingKind::write_outside_output:
        return 0;
      case FindingKind::trap:
      case FindingKind::deadlock:
      case FindingKind::endless_loop:
        return 1;
      case FindingKind::read_of_unwritten:
        return 3;
      default:
        return 2;
    }
  };
  std::ranges::stable_sort(findings, {}, rank);
}

}  // namespace plumbline
