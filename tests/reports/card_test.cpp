// SPDX-License-Identifier: MIT
// What a card says to type.
#include "reports/card.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

TEST(Card, ARaceOfWarpsComesBeforeOneOfLanes) {
  const std::vector<FindingRecord> findings = {
      {.kind = "race", .text = "with no __syncwarp() between: a race between lanes of a warp"},
      {.kind = "race", .text = "that warp 0 read with no barrier between"}};
  EXPECT_EQ(of_every_kind_first(findings)[0].text, findings[1].text);
}

// One missing barrier shows at every access behind it.
TEST(Card, FindingsWithOneOtherAccessAreOneSentence) {
  const auto race = [](int line, int other) {
    FindingRecord finding{.kind = "race", .text = fmt::format("a race at {}", line)};
    finding.source_file = "folder/k.cu";
    finding.source_line = line;
    finding.other = OtherAccessRecord{.access = "write", .text = "a write"};
    finding.other->source_file = "folder/k.cu";
    finding.other->source_line = other;
    return finding;
  };
  EXPECT_THAT(finding_sentences({race(44, 33), race(45, 33), race(51, 37), race(45, 33)}),
              testing::ElementsAre("a race at 44; the same at k.cu:45", "a race at 51"));
  std::vector<FindingRecord> many;
  for (int line = 1; line <= 10; ++line) many.push_back(race(line, 33));
  EXPECT_THAT(
      finding_sentences(many),
      testing::ElementsAre("a race at 1; the same at k.cu:2, k.cu:3, k.cu:4, k.cu:5, k.cu:6, "
                           "k.cu:7 and 3 other lines"));
  // Without another access each stands alone.
  EXPECT_THAT(finding_sentences({{.kind = "race", .text = "a"}, {.kind = "race", .text = "b"}}),
              testing::ElementsAre("a", "b"));
}

TEST(Card, SaysTheCauseBeforeTheValues) {
  Counterexample card;
  card.headline = "d[0,0] is 2 ulp from exact";
  card.elements = {"d[0,0]  expected 1"};
  card.explanation = {"error 2 ulp of bf16"};
  card.faults.names = {"the bias was not applied"};
  const std::vector<std::string> lines = card_lines(card);
  EXPECT_EQ(lines[2], "      fits: the bias was not applied");
  EXPECT_EQ(std::ranges::count(lines, lines[2]), 1);
  EXPECT_EQ(lines[4], "          d[0,0]  expected 1");
  // Where the emulator saw what happened, that is the cause.
  card.findings = {{.kind = "race", .text = "a race"}};
  EXPECT_EQ(card_lines(card)[2], "");
}

TEST(Card, TheCauseFitsALine) {
  Counterexample card;
  EXPECT_EQ(cause_line(card), "");
  card.store.source_file = "folder/store.cuh";
  card.store.source_line = 40;
  EXPECT_EQ(cause_line(card), "stored at store.cuh:40");
  card.faults.names = {"the last k product is missing", "another"};
  card.excerpts.push_back({.what = "which stored it", .file = "folder/epilogue.cuh", .line = 179});
  EXPECT_EQ(cause_line(card),
            "fits: the last k product is missing, or 1 more; stored at epilogue.cuh:179");
  const FindingRecord lanes{.kind = "race", .text = "a race between lanes of a warp"};
  const FindingRecord race{
      .kind = "race", .text = "race: reads", .source_file = "a/loader.cuh", .source_line = 57};
  card.findings = {lanes, race};
  EXPECT_EQ(cause_line(card), "race at loader.cuh:57");
}

TEST(Card, ABriefOneHasTheFirstFaultAndTheCommands) {
  Counterexample card;
  card.kernel = "mine";
  card.claim = "bound";
  card.value_class = "normal";
  card.headline = "m=1: wrong";
  card.text = "mine m=1";
  card.original = "mine m=1 value=normal seed=0x1";
  card.faults.names = {"the last k product is missing"};
  card.explanation = {"much more"};
  EXPECT_EQ(brief_card_lines(card),
            (std::vector<std::string>{
                "FAIL  mine   bound / normal", "      m=1: wrong",
                "      fits: the last k product is missing", "      case     mine m=1",
                "      replay   plumbline replay  \"mine m=1 value=normal seed=0x1\"",
                "      explain  plumbline explain \"mine m=1 value=normal seed=0x1\""}));
}

TEST(Card, AFailingKernelIsNotSaidToKeepItsContract) {
  KernelRecord kernel;
  kernel.worst_relative = 3;
  kernel.least_accurate_case = "k m=1 value=normal seed=0x1 [emulator sm_89]";
  EXPECT_EQ(accuracy_note(kernel), "");  // of an older version
  kernel.least_accurate_case = "k m=1 value=positive seed=0x1 [emulator sm_89]";
  EXPECT_NE(accuracy_note(kernel), "");
  kernel.failed = 1;
  EXPECT_EQ(accuracy_note(kernel), "");
}

TEST(Card, OneFaultIsTheCauseAndSeveralAreNot) {
  Counterexample c;
  c.faults.names = {"the bias was not applied"};
  EXPECT_EQ(fits_sentence(c), "Would explain it exactly: the bias was not applied.");
  c.faults.names = {"a", "b"};
  EXPECT_EQ(fits_sentence(c), "Each of 2 simple faults would explain it: a; b.");
  c.faults.names = {"a", "b", "c", "d"};
  EXPECT_EQ(fits_sentence(c), "Each of 4 simple faults would explain it: a; b; c; and others.");
}

}  // namespace
}  // namespace plumbline
