// SPDX-License-Identifier: MIT
#include "reports/record/mutant_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace plumbline {

std::string_view name(MutantOutcome outcome) {
  switch (outcome) {
    case MutantOutcome::caught:
      return "caught";
    case MutantOutcome::survived:
      return "survived";
    case MutantOutcome::no_effect:
      return "no-effect";
    case MutantOutcome::duplicate:
      return "duplicate";
    case MutantOutcome::refused:
      return "refused";
  }
  return "";
}

bool by_name(std::string_view word, MutantOutcome& outcome) {
  for (const MutantOutcome one :
       {MutantOutcome::caught, MutantOutcome::survived, MutantOutcome::no_effect,
        MutantOutcome::duplicate, MutantOutcome::refused}) {
    if (name(one) != word) continue;
    outcome = one;
    return true;
  }
  return false;
}

double MutantScore::percent() const {
  if (effective() == 0) return 100;
  return 100.0 * static_cast<double>(caught) / static_cast<double>(effective());
}

std::string caught_by(const MutantRecord& mutant) {
  if (mutant.claim == "population") return "population alone";
  return mutant.finding.empty() ? mutant.claim
                                : fmt::format("{} ({})", mutant.claim, mutant.finding);
}

MutantScore score(const std::vector<MutantRecord>& mutants, std::string_view kernel) {
  MutantScore total;
  for (const MutantRecord& mutant : mutants) {
    if (!kernel.empty() && mutant.kernel != kernel) continue;
    total.caught += mutant.outcome == MutantOutcome::caught;
    total.by_population += mutant.outcome == MutantOutcome::caught && mutant.claim == "population";
    total.survived += mutant.outcome == MutantOutcome::survived;
    total.no_effect += mutant.outcome == MutantOutcome::no_effect;
    total.duplicates += mutant.outcome == MutantOutcome::duplicate;
    total.refused += mutant.outcome == MutantOutcome::refused;
  }
  return total;
}

PeerScore peer_score(const std::vector<MutantRecord>& mutants, const PeerRecord& rule) {
  PeerScore total;
  for (const MutantRecord& mutant : mutants) {
    const bool asked = mutant.kernel == rule.kernel && mutant.accepted_by &&
                       mutant.outcome == MutantOutcome::caught;
    if (!asked) continue;
    ++total.asked;
    total.let_through +=
        std::count(mutant.accepted_by->begin(), mutant.accepted_by->end(), rule.rule) > 0;
  }
  return total;
}

void mark_duplicates(std::vector<MutantRecord>& mutants) {
  std::map<std::pair<std::string, std::string>, std::string> first;  // kernel and effect -> id
  for (MutantRecord& mutant : mutants) {
    const bool counts =
        mutant.outcome == MutantOutcome::caught || mutant.outcome == MutantOutcome::survived;
    if (!counts || mutant.effect.empty()) continue;
    const auto [known, is_new] = first.emplace(std::pair(mutant.kernel, mutant.effect), mutant.id);
    if (is_new) continue;
    mutant.outcome = MutantOutcome::duplicate;
    mutant.same_as = known->second;
  }
}

}  // namespace plumbline
