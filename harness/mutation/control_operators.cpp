// SPDX-License-Identifier: MIT
// Wrong decisions: a bound off by one, a condition the wrong way round, a branch forgotten.
#include <algorithm>
#include <array>
#include <utility>

#include "harness/mutation/operators.h"

namespace plumbline {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Each comparison and its neighbor; the ones with u are true for NaN, lo to hs compare unsigned.
constexpr std::array<Pair, 9> kNeighbors = {{{"lt", "le"},
                                             {"gt", "ge"},
                                             {"eq", "ne"},
                                             {"lo", "ls"},
                                             {"hi", "hs"},
                                             {"ltu", "leu"},
                                             {"gtu", "geu"},
                                             {"equ", "neu"},
                                             {"num", "nan"}}};

void change_comparison(const Site& site, Replacements& out) {
  if (!site.is("setp") && !site.is("set")) return;
  if (site.instruction.modifiers.empty()) return;
  const std::string_view comparison = site.instruction.modifiers.front();
  for (const auto& [one, other] : kNeighbors) {
    if (comparison == one) out.add(site.with_words_at(1, other));
    if (comparison == other) out.add(site.with_words_at(1, one));
  }
}

void negate_predicate(const Site& site, Replacements& out) {
  Statement edited = site.statement;
  if (edited.guard.empty()) return;
  const std::string name = edited.guard.substr(edited.guard.find_first_not_of("@! \t"));
  edited.guard = (site.instruction.guard_negated ? "@" : "@!") + name;
  out.add(edited.text());
}

// The condition never holds, or always.
void forget_branch(const Site& site, Replacements& out) {
  if (!site.is("bra") || site.statement.guard.empty()) return;
  out.remove();
  Statement always = site.statement;
  always.guard.clear();
  out.add(always.text());
}

// The other of and, or.
void change_logic(const Site& site, Replacements& out) {
  if (site.is("and")) out.add(site.with_opcode("or"));
  if (site.is("or")) out.add(site.with_opcode("and"));
}

constexpr std::array<FaultOperator, 4> kOperators = {{
    {"comparison", "< becomes <=, == becomes !=, and the like", change_comparison},
    {"predicate", "a guard is negated", negate_predicate},
    {"branch", "a conditional branch is never taken, or always", forget_branch},
    {"logic", "and becomes or, or becomes and", change_logic},
}};

}  // namespace

std::span<const FaultOperator> control_operators() { return kOperators; }

}  // namespace plumbline
