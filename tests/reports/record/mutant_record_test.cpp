// SPDX-License-Identifier: MIT
#include "reports/record/mutant_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/markdown.h"
#include "reports/record/json.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MutantRecord mutant(std::string id, MutantOutcome outcome, std::string effect = "",
                    std::string kernel = "k") {
  MutantRecord record;
  record.kernel = std::move(kernel);
  record.id = std::move(id);
  record.outcome = outcome;
  record.effect = std::move(effect);
  return record;
}

TEST(MutantScore, CountsOnlyWhatChangedSomething) {
  const std::vector<MutantRecord> mutants = {
      mutant("a", MutantOutcome::caught),    mutant("b", MutantOutcome::caught),
      mutant("c", MutantOutcome::caught),    mutant("d", MutantOutcome::survived),
      mutant("e", MutantOutcome::no_effect), mutant("f", MutantOutcome::refused),
      mutant("g", MutantOutcome::duplicate), mutant("h", MutantOutcome::survived, "", "other")};
  const MutantScore k = score(mutants, "k");
  EXPECT_EQ(k.effective(), 4);
  EXPECT_EQ(k.percent(), 75);
  EXPECT_EQ(k.no_effect + k.refused + k.duplicates, 3);
  EXPECT_EQ(score(mutants).percent(), 60);
  EXPECT_EQ(score({}, "k").percent(), 100);
}

TEST(MarkDuplicates, KeepsTheFirstOfEachEffectAndKernel) {
  std::vector<MutantRecord> mutants = {
      mutant("a", MutantOutcome::caught, "1"),   mutant("b", MutantOutcome::caught, "1"),
      mutant("c", MutantOutcome::survived, "2"), mutant("d", MutantOutcome::caught, "1", "other"),
      mutant("e", MutantOutcome::no_effect, ""), mutant("f", MutantOutcome::no_effect, "")};
  mark_duplicates(mutants);
  std::string outcomes;
  for (const MutantRecord& m : mutants) outcomes += std::string(name(m.outcome)) + " ";
  EXPECT_EQ(outcomes, "caught duplicate survived caught no-effect no-effect ");
  EXPECT_EQ(mutants[1].same_as, "a");
}

RunRecord run_with(std::vector<MutantRecord> mutants) {
  RunRecord record;
  record.verb = "mutants";
  record.kernels.resize(1);
  record.kernels[0].name = "k";
  record.mutants = std::move(mutants);
  return record;
}

TEST(MutantReport, ARecordHasScoresAndMutants) {
  MutantRecord survivor = mutant("d", MutantOutcome::survived, "2");
  survivor.line = 12;
  survivor.before = "add.s32 %r1, %r2, 1;";
  const auto json = nlohmann::json::parse(
      record_json(run_with({mutant("a", MutantOutcome::caught, "1"), survivor})));
  EXPECT_EQ(json["scores"]["k"]["percent"], 50);
  EXPECT_EQ(json["mutants"][1]["outcome"], "survived");
  EXPECT_EQ(json["mutants"][1]["line"], 12);
  EXPECT_EQ(json["circumstances"]["mutants"].size(), 2u);
}

TEST(MutantReport, OtherVerbsHaveNone) {
  const auto json = nlohmann::json::parse(record_json(run_with({})));
  EXPECT_FALSE(json.contains("scores"));
  EXPECT_FALSE(json["circumstances"].contains("mutants"));
  EXPECT_THAT(summary_markdown(run_with({})), Not(HasSubstr("score")));
}

TEST(MutantReport, ASummaryShowsSurvivors) {
  MutantRecord survivor = mutant("d", MutantOutcome::survived, "2");
  survivor.kind = "constant";
  survivor.source = "mine.cu:7";
  survivor.before = "before";
  survivor.after = "after";
  EXPECT_THAT(summary_markdown(run_with({mutant("a", MutantOutcome::caught, "1"), survivor})),
              AllOf(HasSubstr("| `k` | 50.0 % | 1 | 1 | 0 | 0 | 0 |"),
                    HasSubstr("| d (constant) | `k` | mine.cu:7 | `before` | `after` |")));
}

}  // namespace
}  // namespace plumbline
