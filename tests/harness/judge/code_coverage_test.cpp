// SPDX-License-Identifier: MIT
// Which instructions never ran and which loops were never repeated, by the line of the source.
#include "harness/judge/code_coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/record/code_parts.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FakeModule final : public Module {
 public:
  explicit FakeModule(std::vector<CodePlace> places) : places_(std::move(places)) {}

  Result<std::vector<ParameterSlot>> parameters(std::string_view) const override {
    return std::vector<ParameterSlot>{};
  }

  std::vector<CodePlace> code() const override { return places_; }

 private:
  std::vector<CodePlace> places_;
};

CodePlace place(int ptx_line, int source_line, bool repeats_loop) {
  CodePlace place;
  place.ptx_line = ptx_line;
  place.source_file = "/repo/k.cu";
  place.source_line = source_line;
  place.repeats_loop = repeats_loop;
  return place;
}

// Lines 3 and 5 of the PTX are one loop of the source, unrolled; 7 is another, 9 one that never
// ran.
const FakeModule kModule({place(1, 10, false), place(3, 20, true), place(5, 20, true),
                          place(7, 30, true), place(9, 40, true)});

CodeRecord covered(const std::vector<std::vector<InstructionCount>>& cases) {
  CodeCoverage coverage;
  for (const std::vector<InstructionCount>& counts : cases) {
    LaunchResult launch;
    launch.executions = {counts};
    coverage.add("k", "emulator sm_90", kModule, launch);
  }
  return code_of(coverage.of("k").at("emulator sm_90"));
}

TEST(CodeCoverage, NamesLoopsThatNoCaseRepeats) {
  const CodeRecord record =
      covered({{{1, 4, 0}, {3, 4, 0}, {5, 4, 0}, {7, 4, 0}}, {{1, 9, 0}, {3, 9, 0}}});
  EXPECT_EQ(record.instructions, 5);
  EXPECT_EQ(record.executed, 4);
  EXPECT_THAT(record.unrepeated, ElementsAre("k.cu:20", "k.cu:30"));
  EXPECT_THAT(record.holes, ElementsAre(CodeHole{"k.cu:40", 1})) << "it never ran at all";
}

TEST(CodeCoverage, OneCaseThatRepeatsALoopIsEnough) {
  EXPECT_THAT(covered({{{3, 4, 0}, {5, 4, 0}, {7, 4, 0}}, {{5, 4, 3}, {7, 1, 0}}}).unrepeated,
              ElementsAre("k.cu:30"));
  EXPECT_THAT(covered({{{3, 4, 1}, {7, 4, 1}}}).unrepeated, IsEmpty());
}

// Shards of a plan, put together, are the plan.
TEST(CodeCoverage, ShardsAreTheirPlan) {
  const std::vector<std::vector<InstructionCount>> cases = {
      {{1, 4, 0}, {3, 4, 0}, {5, 4, 0}}, {{3, 4, 0}, {5, 4, 3}}, {{1, 2, 0}, {7, 1, 0}}};
  const auto parts_of = [&](std::size_t first, std::size_t last) {
    CodeCoverage coverage;
    for (std::size_t i = first; i < last; ++i) {
      LaunchResult launch;
      launch.executions = {cases[i]};
      coverage.add("k", "emulator sm_90", kModule, launch);
    }
    return coverage.of("k").at("emulator sm_90");
  };
  const CodeParts whole = parts_of(0, 3);
  EXPECT_EQ(either(either(parts_of(0, 1), parts_of(1, 2)), parts_of(2, 3)), whole);
  EXPECT_EQ(either(parts_of(2, 3), parts_of(0, 2)), whole);
  EXPECT_EQ(code_of(whole).executed, 4);
  EXPECT_THAT(code_of(whole).unrepeated, ElementsAre("k.cu:30"));
}

}  // namespace
}  // namespace plumbline
