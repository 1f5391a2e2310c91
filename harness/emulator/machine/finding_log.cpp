// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/finding_log.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline::emulator {
namespace {

// Who did it and where: of a Finding, or of its other access.
template <typename Access>
void fill_in(Access& access, const Program& program, std::uint32_t index,
             const std::array<std::int64_t, 3>& cta, int warp, int lane) {
  access.cta = cta;
  access.warp = warp;
  access.lane = lane;
  access.ptx_file = program.file;
  const CodePlace place = program.place(index);
  access.ptx_line = place.ptx_line;
  access.source_file = place.source_file;
  access.source_line = place.source_line;
  access.inlined_at = place.inlined_at;
  if (const Instruction* origin = program.origin[index]) access.ptx = origin->text;
}

}  // namespace

OtherAccess describe_access(const Program& program, std::uint32_t index, const char* access_kind,
                            const std::array<std::int64_t, 3>& cta, int warp, int lane) {
  OtherAccess access;
  access.access_kind = access_kind;
  fill_in(access, program, index, cta, warp, lane);
  return access;
}

FindingLog::Entry* FindingLog::known(FindingKind kind, std::uint32_t index) {
  for (Entry& entry : entries_) {  // that of the others comes after all of its kind
    if (entry.finding.kind == kind && (entry.index == index || entry.index == kOthers))
      return &entry;
  }
  return nullptr;
}

bool FindingLog::describes_enough(FindingKind kind) const {
  return std::ranges::count(entries_, kind,
                            [](const Entry& entry) { return entry.finding.kind; }) >= kMostFindings;
}

void FindingLog::add_others(Finding finding) {
  finding.message = fmt::format(
      "at more instructions than the {} of this kind that are described; the first of "
      "them is here",
      kMostFindings);
  entries_.push_back({std::move(finding), kOthers});
}

Finding* FindingLog::add(FindingKind kind, const Program& program, std::uint32_t index,
                         const std::array<std::int64_t, 3>& cta, int warp, int lane,
                         const std::function<std::string()>& words, bool yields) {
  if (Entry* entry = known(kind, index)) {
    ++entry->finding.occurrences;
    if (!entry->yields || yields) return nullptr;
    entry->yields = false;
    entry->finding.message = words();
    entry->finding.other.reset();
    fill_in(entry->finding, program, index, cta, warp, lane);
    return &entry->finding;
  }
  Entry entry;
  entry.index = index;
  entry.yields = yields;
  Finding& finding = entry.finding;
  finding.kind = kind;
  finding.kernel = program.kernel;
  fill_in(finding, program, index, cta, warp, lane);
  if (describes_enough(kind)) {
    add_others(std::move(finding));
    return nullptr;
  }
  finding.message = words();
  entries_.push_back(std::move(entry));
  return &entries_.back().finding;
}

void FindingLog::erase(const std::set<std::uint32_t>& indices) {
  std::erase_if(entries_, [&](const Entry& entry) { return indices.contains(entry.index); });
}

void FindingLog::join(const FindingLog& later) {
  for (const Entry& entry : later.entries_) {
    if (Entry* mine = known(entry.finding.kind, entry.index)) {
      const std::uint64_t occurrences = mine->finding.occurrences + entry.finding.occurrences;
      if (mine->yields && !entry.yields) *mine = entry;
      mine->finding.occurrences = occurrences;
    } else if (describes_enough(entry.finding.kind)) {
      add_others(entry.finding);
    } else {
      entries_.push_back(entry);
    }
  }
}

std::vector<Finding> FindingLog::findings() const {
  std::vector<Finding> out;
  out.reserve(entries_.size());
  for (const Entry& entry : entries_) out.push_back(entry.finding);
  return out;
}

}  // namespace plumbline::emulator
