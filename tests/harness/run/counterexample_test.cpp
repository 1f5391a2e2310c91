// SPDX-License-Identifier: MIT
// What the case as found leaves of the simple faults that fit a shrunk case.
#include "harness/run/counterexample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Counterexample card_with(std::vector<std::string> faults) {
  Counterexample card;
  card.explanation = {"row 0 has 2 columns"};
  for (const std::string& fault : faults) card.explanation.push_back("fits: " + fault);
  card.explanation.emplace_back("1 more fits as well");
  card.faults = std::move(faults);
  return card;
}

TEST(FaultsAsFound, AreTheOnesThatAreTold) {
  Counterexample card = card_with({"a", "b", "c"});
  keep_faults_of(card, {"d", "c", "a"});
  EXPECT_THAT(card.faults, ElementsAre("c", "a"));
  EXPECT_THAT(card.explanation, ElementsAre("row 0 has 2 columns", "fits: a", "fits: c"));
  card = card_with({"a", "b"});
  card.explanation[2] += "; passing elements agree with it as well";
  keep_faults_of(card, {"b"});
  EXPECT_THAT(card.faults, ElementsAre("b"));
  EXPECT_THAT(card.explanation, ElementsAre("row 0 has 2 columns",
                                            "fits: b; passing elements agree with it as well"));
}

// The explanation of the small case names its first three, and counts the others.
TEST(FaultsAsFound, AreToldWhereTheSmallCaseOnlyCountedThem) {
  Counterexample card = card_with({"a", "b", "c"});
  card.faults.emplace_back("d");
  keep_faults_of(card, {"d"});
  EXPECT_THAT(card.faults, ElementsAre("d"));
  EXPECT_THAT(card.explanation, ElementsAre("row 0 has 2 columns", "fits: d"));
}

TEST(FaultsAsFound, NothingIsSaidWhereAllOfThemFit) {
  Counterexample card = card_with({"a"});
  const std::vector<std::string> before = card.explanation;
  keep_faults_of(card, {"a", "b"});
  EXPECT_THAT(card.faults, ElementsAre("a"));
  EXPECT_EQ(card.explanation, before);
}

TEST(FaultsAsFound, ChanceIsNoCause) {
  Counterexample card = card_with({"a"});
  keep_faults_of(card, {});
  EXPECT_THAT(card.faults, IsEmpty());
  EXPECT_THAT(card.explanation, ElementsAre("row 0 has 2 columns",
                                            "one simple fault fits this small case and not the "
                                            "case as found: take that for chance"));
  card = card_with({"a", "b"});
  card.explanation.insert(card.explanation.begin(), "fits the whole row: c");
  keep_faults_of(card, {});
  EXPECT_THAT(card.explanation, ElementsAre("row 0 has 2 columns",
                                            "2 simple faults fit this small case and not the case "
                                            "as found: take that for chance"));
}

TEST(FaultsAsFound, TakeThePlaceOfOthersThatFitByChance) {
  Counterexample card = card_with({"a"});
  keep_faults_of(card, {"b", "c"});
  EXPECT_THAT(card.faults, ElementsAre("b", "c"));
  EXPECT_THAT(
      card.explanation,
      ElementsAre("row 0 has 2 columns",
                  "this small case fits other faults by chance; the case as found fits: b; c"));
}

TEST(FaultsAsFound, ManyThatFitAreNotNamed) {
  Counterexample card = card_with({"a"});
  keep_faults_of(card, {"b", "c", "d"});
  EXPECT_THAT(card.faults, IsEmpty());
  EXPECT_THAT(card.explanation,
              ElementsAre("row 0 has 2 columns",
                          "this small case fits other faults by chance, and the case as found fits "
                          "3: too many to tell which it is"));
}

TEST(FaultsAsFound, NumbersOfTheCaseAreNotPartOfAFault) {
  const auto same = [](const std::string& small, const std::string& found) {
    Counterexample card = card_with({small});
    keep_faults_of(card, {found});
    return card.faults.front() == small;
  };
  EXPECT_TRUE(same("a k tile was dropped: k in [0, 8)", "a k tile was dropped: k in [64, 128)"));
  EXPECT_TRUE(same("the last k product is missing (the result is the sum over k < 0)",
                   "the last 3 k products are missing (the result is the sum over k < 64)"));
  EXPECT_TRUE(same("A was read with its width (3) for leading dimension (8)",
                   "A was read with its width (65) for leading dimension (72)"));
  EXPECT_FALSE(same("part 0 of the split (k in [0, 8)) is missing",
                    "part 1 of the split (k in [0, 8)) is missing"));
  EXPECT_FALSE(same("the element belongs to position (i, j +1)",
                    "the element belongs to position (i, j +8)"));
  EXPECT_FALSE(same("P is rounded to e4m3", "P is rounded to e5m2"));
}

}  // namespace
}  // namespace plumbline
