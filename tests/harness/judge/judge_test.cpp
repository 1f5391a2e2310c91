// SPDX-License-Identifier: MIT
// From outputs, findings and an oracle to a verdict. The oracle here is a stand-in that says what
// it is told to.
#include "harness/judge/judge.h"
#include "harness/launch/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/manifest/operation.h"
#include "tests/kernels/ops/gemm_problems.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

class ScriptedOracle : public CaseOracle {
 public:
  OutputVerdict verdict;

  int outputs() const override { return 1; }

  std::string output_name(int) const override { return "d"; }

  OutputVerdict judge(int, const Tensor&, const JudgeOptions&) const override { return verdict; }

  ElementVerdict element(int, std::int64_t, std::uint64_t) const override { return {}; }

  Explanation explain(int, std::int64_t, const Tensor&) const override { return {}; }

  std::vector<double> reference_values(int, Reference, int) const override { return {}; }
};

struct Judged : testing::Test {
  Manifest manifest;
  Case test_case;
  CaseTensors tensors;
  LaunchResult launch;
  ScriptedOracle oracle;

  void SetUp() override {
    manifest.name = "k";
    manifest.operation = find_operation("gemm");
    test_case.kernel = &manifest;
    manifest.own_schema = every_field(*manifest.operation);
    test_case.problem = Problem(manifest.schema());
    TensorLayout layout{FormatId::bf16, {1, 2, 2}, {4, 2, 1}, 0};
    tensors.specs.push_back({"d", TensorRole::output, layout});
    tensors.tensors.emplace_back(layout);
    oracle.verdict.elements = oracle.verdict.compared = 4;
  }

  CaseRecord judge() const { return judge_case(test_case, tensors, launch, oracle, {}); }

  ElementVerdict failure(bool wrong_class) const {
    ElementVerdict e;
    e.index = 3;
    e.pass = false;
    e.class_mismatch = wrong_class;
    e.got = wrong_class ? 0x7fc0 : 0x3f80;
    e.exact = 0.5;
    e.error_ulp = 64;
    e.bound_ulp = 0.5;
    return e;
  }
};

TEST_F(Judged, CleanOutputsPass) {
  const CaseRecord record = judge();
  EXPECT_EQ(record.verdict, Verdict::pass);
  EXPECT_EQ(record.reason, "");
  EXPECT_EQ(record.claims.at(Claim::bound), Verdict::pass);
}

TEST_F(Judged, AFindingFailsInBounds) {
  Finding finding;
  finding.message = "two lanes wrote";
  finding.kind = FindingKind::race;
  launch.findings.push_back(finding);
  const CaseRecord record = judge();
  EXPECT_EQ(record.verdict, Verdict::fail);
  EXPECT_EQ(record.claims.at(Claim::in_bounds), Verdict::fail);
  EXPECT_THAT(record.reason, HasSubstr("two lanes wrote"));
}

TEST_F(Judged, AStoppedLaunchIsNotJudgedByItsValues) {
  launch.completed = false;
  oracle.verdict.failed = 4;
  const CaseRecord record = judge();
  EXPECT_EQ(record.verdict, Verdict::fail);
  EXPECT_EQ(record.claims.count(Claim::bound), 0u);
}

TEST_F(Judged, UnwrittenOutputsFailAndAreNamed) {
  tensors.specs.push_back({"lse", TensorRole::output, {FormatId::f32, {1, 1, 3}, {3, 3, 1}, 0}});
  tensors.tensors.emplace_back(tensors.specs.back().layout);
  manifest.in_place = {{"d", "c"}, {"lse", "c"}};
  launch.unwritten = 4;
  launch.unwritten_of = {{"d", 1, 3}, {"lse", 2, 1}};
  EXPECT_EQ(judge().reason,
            "4 output elements were never written: d[0,1] and 2 more of d, lse[0,2]");
  EXPECT_EQ(judge().claims.at(Claim::in_bounds), Verdict::fail);
  launch.unwritten = 1;
  launch.unwritten_of = {{"d", 3, 1}};
  EXPECT_EQ(judge().reason, "1 output element was never written: d[1,1]");
  manifest.in_place.clear();
  EXPECT_EQ(
      judge().reason,
      "1 output element was never written: d[1,1] (no parameter in the manifest is \"ptr d\")");
}

// The first output is undecided, the second one wrong: that is the reason.
TEST_F(Judged, AFailureIsTheReasonBeforeAllElse) {
  struct TwoOutputs : ScriptedOracle {
    OutputVerdict second;

    int outputs() const override { return 2; }

    std::string output_name(int i) const override { return i == 0 ? "d" : "e"; }

    OutputVerdict judge(int i, const Tensor&, const JudgeOptions&) const override {
      return i == 0 ? verdict : second;
    }
  } two;

  tensors.specs.push_back(tensors.specs.front());
  tensors.specs.back().name = "e";
  tensors.tensors.emplace_back(tensors.specs.back().layout);
  two.verdict = two.second = oracle.verdict;
  two.verdict.unresolved = 1;
  two.second.failed = 1;
  two.second.failures.push_back(failure(false));
  const CaseRecord record = judge_case(test_case, tensors, launch, two, {});
  EXPECT_EQ(record.verdict, Verdict::fail);
  EXPECT_THAT(record.reason, HasSubstr("e[1,1]"));
}

TEST_F(Judged, ABrokenBoundNamesTheElement) {
  oracle.verdict.failed = 1;
  oracle.verdict.failures.push_back(failure(false));
  const CaseRecord record = judge();
  EXPECT_EQ(record.claims.at(Claim::bound), Verdict::fail);
  EXPECT_EQ(record.claims.at(Claim::specials), Verdict::pass);
  EXPECT_THAT(record.reason, HasSubstr("1 of 4 outputs of d is outside"));
  EXPECT_THAT(record.reason, HasSubstr("d[1,1] is 64 ulp from exact, at most 0.5 ulp"));
}

// Numbers that differ are not to look alike.
TEST_F(Judged, ANarrowMissIsTold) {
  ElementVerdict e = failure(false);
  e.error_ulp = -0.50001;
  e.bound_ulp = 0.50000125;
  oracle.verdict.failed = 1;
  oracle.verdict.failures.push_back(e);
  EXPECT_THAT(judge().reason,
              HasSubstr("is 0.50001 ulp from exact, at most 0.5 ulp is admissible"));
  oracle.verdict.failures[0].bound_ulp = 0.5;
  EXPECT_THAT(judge().reason,
              HasSubstr("is 0.50001 ulp from exact, at most 0.5 ulp is admissible"));
  oracle.verdict.failures[0].error_ulp = 64;
  EXPECT_THAT(judge().reason, HasSubstr("is 64 ulp from exact, at most 0.5 ulp is admissible"));
}

TEST_F(Judged, AroundZeroErrorsAreNotCountedInUlps) {
  ElementVerdict e = failure(false);
  e.exact = 0;
  e.error_ulp = 1e40;
  e.low = 0x8000;
  e.high = 0x3a00;  // 2^-11
  oracle.verdict.failed = 1;
  oracle.verdict.failures.push_back(e);
  EXPECT_THAT(judge().reason,
              HasSubstr("d[1,1] is 1 where 0 is exact, at most 0.0004883 is admissible"));
  oracle.verdict.failures[0].bound_ulp = 0;
  EXPECT_THAT(judge().reason,
              HasSubstr("d[1,1] is 1 where 0 is exact; no other value is admissible"));
}

TEST_F(Judged, AWrongClassFailsSpecials) {
  oracle.verdict.failed = oracle.verdict.class_mismatches = 1;
  oracle.verdict.failures.push_back(failure(true));
  const CaseRecord record = judge();
  EXPECT_EQ(record.claims.at(Claim::specials), Verdict::fail);
  EXPECT_EQ(record.claims.at(Claim::bound), Verdict::pass);
  EXPECT_THAT(record.reason, HasSubstr("d[1,1] is NaN, finite is due"));
}

TEST_F(Judged, DisagreementOfOraclesIsMistrusted) {
  oracle.verdict.disagreements = 1;
  EXPECT_EQ(judge().verdict, Verdict::mistrusted);
}

TEST_F(Judged, AnUndecidedElementIsMistrusted) {
  oracle.verdict.unresolved = 1;
  EXPECT_EQ(judge().verdict, Verdict::mistrusted);
}

TEST_F(Judged, NothingComparedIsMistrusted) {
  oracle.verdict.compared = 0;
  EXPECT_EQ(judge().verdict, Verdict::mistrusted);
}

TEST(ElementName, LeavesOutABatchOfOne) {
  const TensorLayout one{FormatId::f32, {1, 3, 4}, {12, 4, 1}, 0},
      two{FormatId::f32, {2, 3, 4}, {12, 4, 1}, 0};
  EXPECT_EQ(element_name("d", one, 7), "d[1,3]");
  EXPECT_EQ(element_name("d", two, 19), "d[1,1,3]");
}

TEST(PoisonCode, IsANanNoHardwareProduces) {
  for (const Format& f : all_formats()) {
    if (!f.has_nan()) continue;
    EXPECT_EQ(decode(f, poison_code(f)).cls, ValueClass::nan) << f.name;
    if (f.id == FormatId::ue8m0) continue;  // it has one NaN only
    EXPECT_NE(poison_code(f), f.canonical_nan) << f.name;
  }
}

}  // namespace
}  // namespace plumbline
