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
  card.faults.names = std::move(faults);
  card.faults.evidence = "passing elements agree with it as well";
  return card;
}

TEST(FaultsAsFound, AreTheOnesThatAreTold) {
  Counterexample card = card_with({"a", "b", "c"});
  keep_faults_of(card, {"d", "c", "a"});
  EXPECT_THAT(card.faults.sentences(), ElementsAre("fits: c", "fits: a"));
  card = card_with({"a", "b"});
  keep_faults_of(card, {"a"});
  EXPECT_THAT(card.faults.sentences(),
              ElementsAre("fits: a; passing elements agree with it as well"));
  card = card_with({"a", "b"});
  keep_faults_of(card, {"b"});
  EXPECT_THAT(card.faults.sentences(), ElementsAre("fits: b")) << "the evidence was for a";
}

TEST(FaultsAsFound, NothingChangesWhereAllOfThemFit) {
  Counterexample card = card_with({"a"});
  const NamedFaults before = card.faults;
  keep_faults_of(card, {"a", "b"});
  EXPECT_EQ(card.faults, before);
}

TEST(FaultsAsFound, ChanceIsNoCause) {
  Counterexample card = card_with({"a"});
  keep_faults_of(card, {});
  EXPECT_THAT(card.faults.names, IsEmpty());
  EXPECT_THAT(
      card.faults.sentences(),
      ElementsAre("one simple fault fits this small case, but none the whole of the case as "
                  "found: by chance, or as a part of what is wrong"));
  card = card_with({"a", "b"});
  keep_faults_of(card, {});
  EXPECT_THAT(card.faults.sentences(),
              ElementsAre("2 simple faults fit this small case, but none the whole of the case as "
                          "found: by chance, or as a part of what is wrong"));
}

TEST(FaultsAsFound, TakeThePlaceOfOthersThatFitByChance) {
  Counterexample card = card_with({"a"});
  keep_faults_of(card, {"b", "c"});
  EXPECT_THAT(card.faults.sentences(),
              ElementsAre("fits: b; this is of the case as found; the small "
                          "case fits others by chance",
                          "fits: c"));
}

TEST(FaultsAsFound, ManyThatFitAreNotNamed) {
  Counterexample card = card_with({"a"});
  keep_faults_of(card, {"b", "c", "d"});
  EXPECT_THAT(card.faults.names, IsEmpty());
  EXPECT_THAT(card.faults.sentences(),
              ElementsAre("this small case fits other faults by chance, and the case as found fits "
                          "3: too many to tell which it is"));
}

TEST(FaultsOfOrdinaryValues, ArePreferred) {
  Counterexample card = card_with({"a", "b", "c"});
  prefer_faults_of(card, {"b"});
  EXPECT_THAT(card.faults.names, ElementsAre("b"));
  prefer_faults_of(card, {});  // nothing is known
  EXPECT_THAT(card.faults.names, ElementsAre("b"));
  prefer_faults_of(card, {"d", "e", "f"});  // too many to tell
  EXPECT_THAT(card.faults.names, ElementsAre("b"));
  prefer_faults_of(card, {"d"});
  EXPECT_THAT(card.faults.sentences(),
              ElementsAre("fits: d; this is of the problem as found with ordinary values; the "
                          "values here do not show it"));
}

TEST(FaultsAsFound, NumbersOfTheCaseAreNotPartOfAFault) {
  const auto same = [](const std::string& small, const std::string& found) {
    Counterexample card = card_with({small});
    keep_faults_of(card, {found});
    return card.faults.names.front() == small;
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
