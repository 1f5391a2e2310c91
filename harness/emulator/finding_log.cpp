// SPDX-License-Identifier: MIT
#include "harness/emulator/finding_log.h"

namespace plumbline::emulator {

FindingLog::Entry* FindingLog::known(FindingKind kind, std::uint32_t index) {
  for (Entry& entry : entries_) {
    if (entry.finding.kind == kind && entry.index == index) return &entry;
  }
  return nullptr;
}

void FindingLog::add(FindingKind kind, const Program& program, std::uint32_t index,
                     const std::array<std::int64_t, 3>& cta, int warp, int lane,
                     const std::function<std::string()>& words) {
  if (Entry* entry = known(kind, index)) {
    ++entry->finding.occurrences;
    return;
  }
  if (entries_.size() >= kMostFindings) return;
  Entry entry;
  entry.index = index;
  Finding& finding = entry.finding;
  finding.kind = kind;
  finding.message = words();
  finding.kernel = program.kernel;
  finding.cta = cta;
  finding.warp = warp;
  finding.lane = lane;
  finding.ptx_file = program.file;
  const CodePlace place = program.place(index);
  finding.ptx_line = place.ptx_line;
  finding.source_file = place.source_file;
  finding.source_line = place.source_line;
  finding.inlined_at = place.inlined_at;
  if (const Instruction* origin = program.origin[index]) finding.ptx = origin->text;
  entries_.push_back(std::move(entry));
}

void FindingLog::join(const FindingLog& later) {
  for (const Entry& entry : later.entries_) {
    if (Entry* mine = known(entry.finding.kind, entry.index)) {
      mine->finding.occurrences += entry.finding.occurrences;
    } else if (entries_.size() < kMostFindings) {
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
