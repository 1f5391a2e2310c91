// SPDX-License-Identifier: MIT
// Which of the faults that fit are named, and in which words.
#include "oracles/reference/named_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

using ::testing::ElementsAre;

FittingFault fault(std::string words, std::int64_t first, std::int64_t second = 0) {
  return {.words = std::move(words), .agreement = {first, second}};
}

TEST(FaultRanking, TheOneThatAgreesBestComesFirst) {
  FaultRanking ranking;
  ranking.add(fault("a", 1, 5));
  ranking.add(fault("b", 2, 0));
  ranking.add(fault("c", 2, 3));
  ranking.add(fault("d", 2, 3));
  EXPECT_THAT(FaultRanking(ranking).named(0).names, ElementsAre("c", "d", "b", "a"));
  EXPECT_THAT(FaultRanking(ranking).named(1).names, ElementsAre("c", "d", "b"));
  EXPECT_THAT(FaultRanking(ranking).named(2).names, ElementsAre("c", "d"));
}

TEST(FaultRanking, UnlikelyFaultsComeLast) {
  FaultRanking ranking;
  ranking.add({.words = "any small error", .agreement = {9}, .unlikely = true});
  ranking.add(fault("a", 1));
  EXPECT_THAT(std::move(ranking).named(0).names, ElementsAre("a", "any small error"));
}

TEST(FaultRanking, AFaultIsNamedOnce) {
  FaultRanking ranking;
  ranking.add({.words = "a", .agreement = {1}, .evidence = "less"});
  ranking.add({.words = "a", .agreement = {2}, .evidence = "more"});
  ranking.add({.words = "a", .agreement = {1}, .evidence = "less"});
  EXPECT_THAT(std::move(ranking).named(0).sentences(), ElementsAre("fits: a; more"));
}

TEST(FaultRanking, NoneThatFitsIsSaid) {
  EXPECT_THAT(FaultRanking().named(1).sentences(), ElementsAre(kNoFaultFits));
}

TEST(NamedFaults, ThreeAreToldAndOthersCounted) {
  NamedFaults faults;
  faults.names = {"a", "b", "c", "d"};
  EXPECT_THAT(faults.sentences(),
              ElementsAre("fits: a", "fits: b", "fits: c", "1 more fits as well"));
  faults.names.emplace_back("e");
  EXPECT_EQ(faults.sentences().back(), "2 more fit as well");
}

TEST(NamedFaults, NothingIsSaidWhereNoneWasLookedFor) {
  EXPECT_THAT(NamedFaults().sentences(), ElementsAre());
}

TEST(NamedFaults, AddedOnesComeAfterAndOnce) {
  NamedFaults faults;
  faults.names = {"a", "b"};
  faults.add(NamedFaults::none(kNoFaultFits));
  NamedFaults more;
  more.names = {"b", "c"};
  more.evidence = "of b";
  faults.add(more);
  EXPECT_THAT(faults.sentences(), ElementsAre("fits: a", "fits: b", "fits: c"));
  faults = NamedFaults::none(kNoFaultFits);
  faults.add(more);
  EXPECT_THAT(faults.sentences(), ElementsAre("fits: b; of b", "fits: c"));
}

TEST(NamedFaults, EvidenceBelongsToTheFirst) {
  NamedFaults faults;
  faults.names = {"a", "b", "c"};
  faults.evidence = "of a";
  faults.keep_if([](const std::string& name) { return name != "b"; });
  EXPECT_THAT(faults.sentences(), ElementsAre("fits: a; of a", "fits: c"));
  faults.sort_by([](const std::string& name) { return name == "c" ? 0 : 1; });
  EXPECT_THAT(faults.sentences(), ElementsAre("fits: c", "fits: a"));
}

}  // namespace
}  // namespace plumbline
