// SPDX-License-Identifier: MIT
// The table of other projects' rules, as documents show it.
#include "reports/peer_table.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

MutantRecord caught(std::string kernel, std::vector<std::string> accepted_by) {
  MutantRecord mutant;
  mutant.kernel = std::move(kernel);
  mutant.outcome = MutantOutcome::caught;
  mutant.accepted_by = std::move(accepted_by);
  return mutant;
}

TEST(PeerTable, HasALineForEachRuleAndTwoColumnsForEachKernel) {
  RunRecord record;
  record.mutants = {caught("gemm", {"both", "strict"}), caught("gemm", {"both"}),
                    caught("attention", {"own"})};
  record.peers = {{"gemm", "both", "", 9, 3},
                  {"gemm", "strict", "", 9, 0},
                  {"attention", "both", "", 7, 2},
                  {"attention", "own", "", 4, 1}};
  EXPECT_EQ(peer_table(record),
            "| rule | `gemm`: lets through, of 2 | false alarms, of 9 cases |"
            " `attention`: lets through, of 1 | false alarms, of 7 cases |\n"
            "|---|--:|--:|--:|--:|\n"
            "| both | 2 | 3 | 0 | 2 |\n"
            "| strict | 1 | 0 | | |\n"
            "| own | | | 1 | 1 of 4 |\n");
}

TEST(PeerTable, IsEmptyWhereNoRuleWasAsked) { EXPECT_EQ(peer_table({}), ""); }

}  // namespace
}  // namespace plumbline
