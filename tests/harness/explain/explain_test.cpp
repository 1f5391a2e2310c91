// SPDX-License-Identifier: MIT
// What a card says of a wrong output: the thread that stored it, the faults that fit.
#include "harness/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "kernels/manifest/operation.h"
#include "tests/kernels/ops/gemm_problems.h"

namespace plumbline {
namespace {

TEST(StoredBy, NamesThreadLineAndCall) {
  const TensorLayout layout{FormatId::bf16, {2, 2}, {2, 1}, 0};  // two elements to a word
  LaunchResult launch;
  EXPECT_EQ(stored_by(launch, "d", layout, 0), "");
  Writer writer;
  writer.cta = {1, 0, 2};
  writer.warp = 3;
  writer.lane = 5;
  writer.ptx_line = 12;
  launch.writers["d"] = {Writer{}, writer};
  EXPECT_EQ(stored_by(launch, "d", layout, 1), "");
  EXPECT_EQ(stored_by(launch, "d", layout, 2), "cta 1,0,2, warp 3, lane 5 at PTX line 12");
  CodePlace& place = launch.stores[12];
  place.source_file = "/k/store.cuh";
  place.source_line = 7;
  EXPECT_EQ(stored_by(launch, "d", layout, 3), "cta 1,0,2, warp 3, lane 5 at store.cuh:7");
  place.inlined_at = "/k/kernel.cu:90";
  EXPECT_EQ(stored_by(launch, "d", layout, 3),
            "cta 1,0,2, warp 3, lane 5 at store.cuh:7, inlined at kernel.cu:90");
}

// An oracle that says what it is told to.
class ScriptedOracle : public CaseOracle {
 public:
  int outputs() const override { return 2; }

  std::string output_name(int output) const override { return output == 0 ? "o" : "lse"; }

  OutputVerdict judge(int, const Tensor&, const JudgeOptions&) const override { return {}; }

  ElementVerdict element(int, std::int64_t, std::uint64_t) const override { return {}; }

  Explanation explain(int output, std::int64_t index, const Tensor&) const override {
    Explanation out;
    if (index == 1) return out;
    out.faults.names =
        output == 0 ? std::vector<std::string>{"a", "b"} : std::vector{std::string("b")};
    out.lines.emplace_back("NaN may mean that the element was never written");
    return out;
  }

  std::vector<double> reference_values(int, Reference, int) const override { return {}; }
};

struct Explained : testing::Test {
  Manifest manifest;
  Case test_case;
  Examined examined;
  ElementVerdict wrong;

  void SetUp() override {
    manifest.name = "k";
    manifest.operation = find_operation("softmax");
    test_case.kernel = &manifest;
    manifest.own_schema = every_field(*manifest.operation);
    test_case.problem = Problem(manifest.schema());
    examined.oracle = std::make_unique<ScriptedOracle>();
    examined.record.claims[Claim::bound] = Verdict::fail;
    for (const char* name : {"o", "lse"}) {
      const TensorLayout layout{FormatId::bf16, {1, 2, 2}, {4, 2, 1}, 0};
      examined.tensors.specs.push_back({name, TensorRole::output, layout});
      examined.tensors.tensors.emplace_back(layout);
      examined.record.outputs.push_back({name, "bf16", {}});
    }
    wrong.index = 3;
    wrong.got = 0x3f80;
    wrong.exact = 1;
  }

  Counterexample card(int output) {
    examined.record.outputs[static_cast<std::size_t>(output)].verdict.failures.push_back(wrong);
    return explain_failure(test_case, examined);
  }
};

TEST_F(Explained, AFaultOfTwoOutputsIsOneAndOthersAreNotTold) {
  EXPECT_THAT(card(0).faults.names, ::testing::ElementsAre("a", "b"));
  const Counterexample both = card(1);
  EXPECT_THAT(both.faults.names, ::testing::ElementsAre("b"));
}

// One cause has to give all outputs; of a wrong class nothing can be near.
TEST_F(Explained, AFaultThatLeavesAWrongClassUnexplainedIsNotTold) {
  card(0);
  wrong.index = 1;  // where the oracle knows no fault
  EXPECT_THAT(card(1).faults.names, ::testing::ElementsAre("a", "b"));
  wrong.class_mismatch = true;
  examined.record.outputs[1].verdict.failures.clear();
  const Counterexample told = card(1);
  EXPECT_THAT(told.faults.sentences(),
              ::testing::ElementsAre("no simple fault known here gives all outputs that fail"));
}

TEST(FaultsOfAClass, AreToldWhereTheyAreFew) {
  Counterexample card;
  card.claim = name(Claim::specials);
  card.faults.names = {"a", "b"};
  drop_faults_of_class(card);
  EXPECT_THAT(card.faults.names, ::testing::ElementsAre("a", "b"));
  card.faults.names.emplace_back("c");
  card.claim = name(Claim::bound);
  drop_faults_of_class(card);
  EXPECT_THAT(card.faults.names, ::testing::SizeIs(3));
  card.claim = name(Claim::specials);
  drop_faults_of_class(card);
  EXPECT_THAT(card.faults.sentences(),
              ::testing::ElementsAre(
                  "3 simple faults fit a result of this class: too many to tell which it is"));
}

TEST_F(Explained, ASecondCallIsSaidToBeOne) {
  using ::testing::HasSubstr;
  const auto told = ::testing::Contains(HasSubstr("this is of a second call"));
  examined.called_again = true;
  EXPECT_THAT(card(0).explanation, ::testing::Not(told));
  examined.same_when_called_again = false;
  EXPECT_THAT(card(0).explanation, told);
  examined.same_when_called_again = true;
  examined.record.claims[Claim::in_bounds] = Verdict::fail;
  EXPECT_THAT(card(0).explanation, told);
}

// Of an element that a thread has stored.
TEST_F(Explained, WhatIsStoredIsNotSaidToBeUnwritten) {
  const std::string unwritten = "NaN may mean that the element was never written";
  EXPECT_THAT(card(0).explanation, ::testing::Contains(unwritten));
  Writer writer;
  writer.lane = 3;
  writer.ptx_line = 12;
  examined.launch.writers["o"] = {writer, writer, writer, writer};
  EXPECT_THAT(card(0).explanation, ::testing::Not(::testing::Contains(unwritten)));
}

// A dump may lack outputs; those that it has keep their oracle.
TEST_F(Explained, AnOutputIsExplainedByItsName) {
  examined.record.outputs.erase(examined.record.outputs.begin());
  EXPECT_THAT(card(0).faults.names, ::testing::ElementsAre("b"));
}

TEST_F(Explained, ACorrectlyRoundedOutputThatFailsIsSaidToBeOne) {
  using ::testing::HasSubstr;
  wrong.expected = wrong.got;
  EXPECT_THAT(card(0).explanation,
              ::testing::Contains(::testing::AllOf(
                  HasSubstr("o[1,1] is the exact result, rounded once, but the steps"),
                  HasSubstr("[contract], `exponential` first"))));
}

TEST_F(Explained, OtherOutputsAreNotSaidToBeExact) {
  EXPECT_THAT(card(0).explanation,
              ::testing::Not(::testing::Contains(::testing::HasSubstr("is the exact result"))));
}

TEST_F(Explained, ErrorsOfZerosAreNotCountedInUlps) {
  wrong.error_ulp = 64;
  EXPECT_THAT(card(0).elements, ::testing::Contains(::testing::HasSubstr("+64 ulp")));
  wrong.exact = 0;
  EXPECT_THAT(card(1).elements.back(), ::testing::Not(::testing::HasSubstr("ulp")));
}

TEST_F(Explained, WrongClassesComeFirstWhereTheHeadlineSpeaksOfThem) {
  using ::testing::HasSubstr;
  card(0);
  wrong.index = 2;
  wrong.class_mismatch = true;
  EXPECT_THAT(card(0).elements.front(), HasSubstr("o[1,1]"));
  examined.record.claims[Claim::specials] = Verdict::fail;
  EXPECT_THAT(explain_failure(test_case, examined).elements.front(), HasSubstr("o[1,0]"));
}

TEST_F(Explained, AnInfinityThatTheContractMakesIsNoRoundingOfItsExactValue) {
  using ::testing::HasSubstr;
  wrong.expected = 0x7f80;
  wrong.exact = 1e30;
  EXPECT_THAT(card(0).elements.front(), HasSubstr("a step of the contract overflows"));
  wrong.exact = 1e39;
  EXPECT_THAT(card(1).elements, ::testing::Contains(HasSubstr("exact 1e+39, rounded once")));
}

}  // namespace
}  // namespace plumbline
