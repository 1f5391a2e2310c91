// SPDX-License-Identifier: MIT
// From a PTX text to texts with one fault each: where faults are looked for, how they are put in,
// and which are drawn.
#include "harness/mutation/planted_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/emulator/frontend/module.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

// Two source lines; one instruction across two lines of PTX; one that no thread comes to.
constexpr std::string_view kText = R"(.version 8.7
.target sm_80
.address_size 64
.file 1 "/src/mine.cu"
.visible .entry k(.param .u64 p)
{
.reg .b32 %r<8>; .reg .pred %p<4>;
.loc 1 10 1
mov.u32 %r1, 5;
add.s32 %r2, %r1, 1; sub.s32 %r3, %r2, %r1;
.loc 1 11 1
@!%p1  add.s32 %r4,
   %r2, %r3;
setp.lt.s32 %p1, %r4, %r1;
@%p1 bra end;
bra end;
mul.lo.s32 %r5, %r4, %r4;
end:
ret;
}
)";

std::vector<PlantedFault> all_faults(std::string_view text = kText) {
  const Result<std::vector<PlantedFault>> faults = possible_faults(text, "mine.ptx");
  EXPECT_TRUE(faults) << (faults ? "" : faults.error().text());
  return faults ? *faults : std::vector<PlantedFault>();
}

PlantedFault fault_with(std::string_view after) {
  for (const PlantedFault& fault : all_faults()) {
    if (fault.after == after) return fault;
  }
  ADD_FAILURE() << "nothing makes " << after;
  return {};
}

TEST(PossibleFaults, KnowTheirPlace) {
  const PlantedFault fault = fault_with("add.s32 %r3, %r2, %r1;");
  EXPECT_EQ(fault.kind, "sign");
  EXPECT_EQ(fault.line, 10);
  EXPECT_EQ(fault.source, "mine.cu:10");
  EXPECT_EQ(fault.before, "sub.s32 %r3, %r2, %r1;");
  EXPECT_EQ(kText.substr(fault.begin, fault.end - fault.begin), fault.before);
}

TEST(PossibleFaults, LeaveCodeAloneThatNoThreadReaches) {
  for (const PlantedFault& fault : all_faults()) EXPECT_NE(fault.line, 17) << fault.after;
}

TEST(PossibleFaults, HaveIdsOfTheirOwn) {
  std::set<std::string> ids;
  const std::vector<PlantedFault> faults = all_faults();
  for (const PlantedFault& fault : faults) ids.insert(fault.id);
  EXPECT_EQ(ids.size(), faults.size());
  EXPECT_GT(faults.size(), 10u);
}

TEST(PossibleFaults, OfNoPtxAreAnError) { EXPECT_FALSE(possible_faults("nonsense", "mine.ptx")); }

TEST(Plant, ChangesOneStatementAndNoLineNumber) {
  const std::string planted = plant(kText, fault_with("@!%p1 sub.s32 %r4, %r2, %r3;"));
  EXPECT_THAT(planted, HasSubstr("\n@!%p1 sub.s32 %r4, %r2, %r3;\n\nsetp.lt"));
  EXPECT_EQ(std::count(planted.begin(), planted.end(), '\n'),
            std::count(kText.begin(), kText.end(), '\n'));
}

TEST(Plant, LeavesANeighborOnTheSameLine) {
  EXPECT_THAT(plant(kText, fault_with("mov.b32 %r2, %r1;")),
              HasSubstr("\nmov.b32 %r2, %r1; sub.s32 %r3, %r2, %r1;\n"));
}

TEST(Plant, EveryFaultParses) {
  for (const PlantedFault& fault : all_faults()) {
    const auto parsed = emulator::parse_ptx(plant(kText, fault), "mutant.ptx");
    EXPECT_TRUE(parsed.ok()) << fault.after << ": " << parsed.error().text();
  }
}

TEST(FaultDiff, ShowsTheLinesBeforeAndAfter) {
  EXPECT_EQ(
      fault_diff(kText, fault_with("@!%p1 sub.s32 %r4, %r2, %r3;"), "mine.ptx"),
      "--- a/mine.ptx\n+++ b/mine.ptx\n@@ -12,2 +12,2 @@\n-@!%p1  add.s32 %r4,\n-   %r2, %r3;\n"
      "+@!%p1 sub.s32 %r4, %r2, %r3;\n+\n");
}

bool any(const PlantedFault&) { return true; }

TEST(SampleFaults, RepeatsItselfAndGrows) {
  const std::vector<PlantedFault> faults = all_faults();
  const auto ids = [&](int count, std::uint64_t seed) {
    std::vector<std::string> names;
    for (const PlantedFault& fault : sample_faults(faults, count, seed, any))
      names.push_back(fault.id);
    return names;
  };
  const std::vector<std::string> eight = ids(8, 1), five = ids(5, 1);
  EXPECT_EQ(eight.size(), 8u);
  EXPECT_EQ(eight, ids(8, 1));
  EXPECT_TRUE(std::equal(five.begin(), five.end(), eight.begin()));
  EXPECT_NE(eight, ids(8, 2));
  EXPECT_EQ(ids(1000, 1).size(), faults.size());
}

TEST(SampleFaults, TakesOperatorsAndSourceLinesInTurn) {
  // Line 1 of the source a hundred times, lines 2 and 3 once: all three before any comes again.
  std::string text =
      ".version 8.7\n.target sm_80\n.address_size 64\n.file 1 \"a.cu\"\n"
      ".visible .entry k()\n{\n.reg .b32 %r<4>;\n.loc 1 1 1\n";
  for (int i = 0; i < 100; ++i) text += "min.s32 %r1, %r2, %r3;\n";
  text += ".loc 1 2 1\nmin.s32 %r1, %r2, %r3;\n.loc 1 3 1\nmax.s32 %r1, %r2, %r3;\nret;\n}\n";
  std::map<std::string, int> kinds, sources;
  for (const PlantedFault& fault : sample_faults(all_faults(text), 6, 1, any)) {
    ++kinds[std::string(fault.kind)];
    ++sources[fault.source];
  }
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"extremum", 3}, {"operation", 3}}));
  EXPECT_EQ(sources, (std::map<std::string, int>{{"a.cu:1", 2}, {"a.cu:2", 2}, {"a.cu:3", 2}}));
}

TEST(SampleFaults, LeavesOutWhatIsNotWanted) {
  for (const PlantedFault& fault :
       sample_faults(all_faults(), 1000, 1, [](const PlantedFault& f) { return f.line == 10; })) {
    EXPECT_EQ(fault.line, 10);
  }
}

}  // namespace
}  // namespace plumbline
