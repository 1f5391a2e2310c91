// SPDX-License-Identifier: MIT
// What a card says to type.
#include "reports/card.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(Card, QuotesWhatAShellWouldTakeApart) {
  Counterexample card;
  card.original = "mine m=1 n=1";
  EXPECT_EQ(replay_subject(card), "\"mine m=1 n=1\"");
  card.manifest = "my kernels/it's mine.toml";
  EXPECT_EQ(replay_subject(card), "\"mine m=1 n=1\" --kernel \"my kernels/it's mine.toml\"");
  card.case_file = "my corpus/1.case";
  card.manifest = "my.toml";
  EXPECT_EQ(replay_subject(card), "\"my corpus/1.case\" --kernel my.toml");
}

TEST(Card, ShowsOneFindingOfEveryKindFirst) {
  std::vector<FindingRecord> findings(5);
  for (FindingRecord& finding : findings) finding.kind = "unwritten read";
  findings[4].kind = "race";
  findings[1].text = "second";
  const std::vector<FindingRecord> shown = of_every_kind_first(findings);
  ASSERT_EQ(shown.size(), 5u);
  EXPECT_EQ(shown[0].kind, "unwritten read");
  EXPECT_EQ(shown[1].kind, "race");
  EXPECT_EQ(shown[2].text, "second");
}

TEST(Card, AFailingKernelIsNotSaidToKeepItsContract) {
  KernelRecord kernel;
  kernel.worst_relative = 3;
  EXPECT_NE(accuracy_note(kernel), "");
  kernel.failed = 1;
  EXPECT_EQ(accuracy_note(kernel), "");
}

}  // namespace
}  // namespace plumbline
