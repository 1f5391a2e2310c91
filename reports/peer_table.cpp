// SPDX-License-Identifier: MIT
#include "reports/peer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace plumbline {
namespace {

// In the order in which they first come.
template <typename Field>
std::vector<std::string> distinct(const std::vector<PeerRecord>& peers, Field field) {
  std::vector<std::string> words;
  for (const PeerRecord& peer : peers) {
    if (std::find(words.begin(), words.end(), peer.*field) == words.end())
      words.push_back(peer.*field);
  }
  return words;
}

// What all rules of a kernel have in common is in the head of its columns.
struct KernelColumns {
  std::string kernel;
  std::int64_t asked = 0, cases = 0;

  std::string head() const {
    return fmt::format(" `{}`: lets through, of {} | false alarms, of {} cases |", kernel, asked,
                       cases);
  }

  std::string cells(const RunRecord& record, const std::string& rule) const {
    const auto found = std::find_if(
        record.peers.begin(), record.peers.end(),
        [&](const PeerRecord& peer) { return peer.kernel == kernel && peer.rule == rule; });
    if (found == record.peers.end()) return " | |";
    std::string alarms = fmt::format("{}", found->false_alarms);
    if (found->cases != cases) alarms += fmt::format(" of {}", found->cases);
    return fmt::format(" {} | {} |", peer_score(record.mutants, *found).let_through, alarms);
  }
};

}  // namespace

std::string peer_table(const RunRecord& record) {
  if (record.peers.empty()) return {};
  std::vector<KernelColumns> kernels;
  for (const std::string& kernel : distinct(record.peers, &PeerRecord::kernel))
    kernels.push_back({kernel});
  for (KernelColumns& columns : kernels) {
    for (const PeerRecord& peer : record.peers) {
      if (peer.kernel != columns.kernel) continue;
      columns.asked = std::max(columns.asked, peer_score(record.mutants, peer).asked);
      columns.cases = std::max(columns.cases, peer.cases);
    }
  }
  std::string head = "| rule |", line = "|---|", rows;
  for (const KernelColumns& columns : kernels) {
    head += columns.head();
    line += "--:|--:|";
  }
  for (const std::string& rule : distinct(record.peers, &PeerRecord::rule)) {
    rows += fmt::format("| {} |", rule);
    for (const KernelColumns& columns : kernels) rows += columns.cells(record, rule);
    rows += "\n";
  }
  return head + "\n" + line + "\n" + rows;
}

}  // namespace plumbline
