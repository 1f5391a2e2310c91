// SPDX-License-Identifier: MIT
// What becomes of faults in a kernel small enough to know the answer: one thread for each element
// of a GEMM.
#include "harness/mutation/mutants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kPtx = R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry tiny(.param .u64 p_a, .param .u64 p_b, .param .u64 p_d, .param .u32 p_m, .param .u32 p_n, .param .u32 p_k)
{
.reg .b32 %r<16>; .reg .b64 %d<16>; .reg .f32 %x, %y, %sum; .reg .pred %p<4>;
ld.param.u64 %d0, [p_a];
ld.param.u64 %d1, [p_b];
ld.param.u64 %d2, [p_d];
ld.param.u32 %r10, [p_m];
ld.param.u32 %r0, [p_n];
ld.param.u32 %r1, [p_k];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %tid.x;
mad.lo.u32 %r2, %r2, 32, %r3;
mul.lo.u32 %r11, %r10, %r0;
setp.ge.u32 %p0, %r2, %r11;
@%p0 bra done;
div.u32 %r12, %r2, %r0;
rem.u32 %r13, %r2, %r0;
mul.lo.u32 %r4, %r12, %r1;
mad.wide.u32 %d0, %r4, 2, %d0;
mad.wide.u32 %d1, %r13, 2, %d1;
mul.wide.u32 %d3, %r0, 2;
mad.wide.u32 %d2, %r2, 4, %d2;
mov.f32 %sum, 0f00000000;
mov.u32 %r6, 0;
setp.lt.u32 %p1, %r1, 8;
@%p1 bra step;
mov.f32 %sum, 0f00000000;
step:
setp.ge.u32 %p2, %r6, %r1;
@%p2 bra last;
ld.global.u16 %r7, [%d0];
ld.global.u16 %r8, [%d1];
shl.b32 %r7, %r7, 16;
shl.b32 %r8, %r8, 16;
mov.b32 %x, %r7;
mov.b32 %y, %r8;
fma.rn.f32 %sum, %x, %y, %sum;
add.u64 %d0, %d0, 2;
add.u64 %d1, %d1, %d3;
add.u32 %r6, %r6, 1;
bra step;
last:
st.global.f32 [%d2], %sum;
done:
ret;
}
)";

struct Mutants : testing::Test {
  Manifest kernel;
  MutantOptions options;
  std::string unmutated_ptx{kPtx};

  void SetUp() override {
    Result<Manifest> parsed = parse_manifest(tiny_gemm_manifest(kTinyEntry), "tiny.toml");
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    kernel = *std::move(parsed);
    kernel.promised.contract.bits = false;  // the bound alone: some of these faults are within it
    options.run.jobs = 2;
    options.run.runner.image = [this](const Manifest&, int) {
      return Result<std::string>(unmutated_ptx);
    };
  }

  Job job(std::int64_t m, std::int64_t n, std::int64_t k, std::string value_class = "normal") {
    Case test_case;
    test_case.kernel = &kernel;
    test_case.problem = Problem(kernel.schema());
    test_case.problem.set_integer("m", m);
    test_case.problem.set_integer("n", n);
    test_case.problem.set_integer("k", k);
    test_case.recipe.value_class = std::move(value_class);
    return {test_case, Target{.sm = 80, .gpu_name = ""}};
  }

  // Of kernels, the text with `from` replaced by `to`.
  static Mutant mutant(std::string_view from, std::string_view to) {
    Mutant made;
    std::string text(kPtx);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    made.record.kernel = "tiny";
    made.record.id = std::string(to);
    made.record.line =
        1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
    text.replace(at, from.size(), to);
    made.image = [text](const Manifest&, int) { return Result<std::string>(text); };
    return made;
  }

  std::vector<MutantRecord> run(const std::vector<Mutant>& mutants, const std::vector<Job>& jobs) {
    MutantObserver silent;
    const UnmutatedKernel unmutated = run_unmutated(jobs, options, silent);
    for (const UnmutatedCase& one : unmutated.cases)
      EXPECT_EQ(one.record.verdict, Verdict::pass) << one.record.text << one.record.reason;
    return run_mutants(unmutated, mutants, options, silent);
  }

  MutantRecord one(std::string_view from, std::string_view to) {
    const std::vector<MutantRecord> records =
        run({mutant(from, to)}, {job(3, 5, 4), job(4, 8, 9), job(2, 2, 20)});
    EXPECT_EQ(records.size(), 1u);
    return records.empty() ? MutantRecord() : records.front();
  }
};

TEST_F(Mutants, AWrongResultIsCaughtByItsBound) {
  const MutantRecord record =
      one("fma.rn.f32 %sum, %x, %y, %sum;", "fma.rn.f32 %sum, %x, %x, %sum;");
  EXPECT_EQ(record.outcome, MutantOutcome::caught);
  EXPECT_EQ(record.claim, "bound");
  EXPECT_EQ(record.cases, 1);
  EXPECT_THAT(record.text, HasSubstr("tiny m="));
  EXPECT_THAT(record.reason, HasSubstr("outside what the contract allows"));
}

TEST_F(Mutants, WhatTheDeviceFindsCatchesToo) {
  const MutantRecord record = one("[%d2], %sum", "[%d2+-4], %sum");
  EXPECT_EQ(record.outcome, MutantOutcome::caught);
  EXPECT_EQ(record.claim, "in-bounds");
  EXPECT_EQ(record.finding, "out of bounds");
}

TEST_F(Mutants, AnOutputThatIsNotWrittenIsCaught) {
  const MutantRecord record = one("st.global.f32 [%d2], %sum;", "");
  EXPECT_EQ(record.outcome, MutantOutcome::caught);
  EXPECT_EQ(record.claim, "in-bounds");
  EXPECT_EQ(record.finding, "unwritten");
}

TEST_F(Mutants, AnEndlessLoopIsCheap) {
  const MutantRecord record = one("add.u32 %r6, %r6, 1;", "add.u32 %r6, %r6, 0;");
  EXPECT_EQ(record.outcome, MutantOutcome::caught);
  EXPECT_NE(record.finding, "");
  const MutantRecord still =
      one("add.u64 %d0, %d0, 2;\nadd.u64 %d1, %d1, %d3;\nadd.u32 %r6, %r6, 1;",
          "\n\nadd.u32 %r6, %r6, 0;");
  EXPECT_EQ(still.outcome, MutantOutcome::caught);
  EXPECT_EQ(still.finding, "endless loop");
  EXPECT_THAT(still.reason, HasSubstr("after 100"));  // thousand instructions, not twenty million
}

TEST_F(Mutants, OtherOutputsThatAreAdmissibleSurvive) {
  // The same sum from its last term to its first.
  const auto with = [](std::string text, std::string_view from, std::string_view to) {
    return text.replace(text.find(from), from.size(), to);
  };
  std::string text = with(std::string(kPtx), "mov.u32 %r6, 0;",
                          "mov.u32 %r6, 0; sub.u32 %r14, %r1, 1; mad.wide.u32 %d0, %r14, 2, %d0; "
                          "cvt.u64.u32 %d4, %r14; mad.lo.u64 %d1, %d4, %d3, %d1;");
  text = with(text, "add.u64 %d0, %d0, 2;", "sub.u64 %d0, %d0, 2;");
  text = with(text, "add.u64 %d1, %d1, %d3;", "sub.u64 %d1, %d1, %d3;");
  Mutant backwards;
  backwards.record.kernel = "tiny";
  backwards.image = [text](const Manifest&, int) { return Result<std::string>(text); };
  const MutantRecord record = run({backwards}, {job(3, 5, 4), job(4, 8, 9)}).front();
  EXPECT_EQ(record.outcome, MutantOutcome::survived) << record.reason;
  EXPECT_EQ(record.cases, 2);
  EXPECT_GE(record.changed, 1);
  EXPECT_GT(record.worst_share, 0);
  EXPECT_LE(record.worst_share, 1);
}

TEST_F(Mutants, NothingChangedIsNoSurvivor) {
  // The product of two bf16 numbers is exact: rounding it first changes nothing.
  const MutantRecord record =
      one("fma.rn.f32 %sum, %x, %y, %sum;", "mul.rn.f32 %y, %x, %y; add.rn.f32 %sum, %y, %sum;");
  EXPECT_EQ(record.outcome, MutantOutcome::no_effect);
  EXPECT_EQ(record.changed, 0);
  EXPECT_EQ(record.cases, 3);
}

TEST_F(Mutants, CasesThatNeverComeToTheFaultDoNotRun) {
  // Only k >= 8 executes the line.
  const MutantRecord record =
      one("@%p1 bra step;\nmov.f32 %sum, 0f00000000;", "@%p1 bra step;\nmov.f32 %sum, 0f3F800000;");
  EXPECT_EQ(record.outcome, MutantOutcome::caught);
  std::vector<MutantRecord> small =
      run({mutant("mov.f32 %sum, 0f00000000;\nstep:", "mov.f32 %sum, 0f3F800000;\nstep:")},
          {job(3, 5, 4), job(1, 1, 2)});
  EXPECT_EQ(small.front().outcome, MutantOutcome::no_effect);
  EXPECT_EQ(small.front().cases, 0);
}

TEST_F(Mutants, WhatDoesNotLoadIsRefused) {
  const MutantRecord record = one("fma.rn.f32", "fma.sideways.f32");
  EXPECT_EQ(record.outcome, MutantOutcome::refused);
  EXPECT_THAT(record.reason, HasSubstr("sideways"));
}

TEST_F(Mutants, TheSameEffectCountsOnce) {
  const std::vector<MutantRecord> records = run(
      {mutant("fma.rn.f32 %sum, %x, %y, %sum;", "fma.rn.f32 %sum, %x, %x, %sum;"),
       mutant("fma.rn.f32 %sum, %x, %y, %sum;", "mov.f32 %y, %x; fma.rn.f32 %sum, %x, %y, %sum;"),
       mutant("fma.rn.f32 %sum, %x, %y, %sum;", "fma.rn.f32 %sum, %y, %y, %sum;")},
      {job(3, 5, 4)});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].outcome, MutantOutcome::caught);
  EXPECT_EQ(records[1].outcome, MutantOutcome::duplicate);
  EXPECT_EQ(records[1].same_as, records[0].id);
  EXPECT_EQ(records[2].outcome, MutantOutcome::caught);
  const MutantScore total = score(records, "tiny");
  EXPECT_EQ(total.caught, 2);
  EXPECT_EQ(total.effective(), 2);
}

TEST_F(Mutants, RulesOfOthersAreAskedAboutTheSameOutputs) {
  options.peers = true;
  // Half a percent too large: nothing to bf16 tolerances of f32 results, and much to a bound.
  const std::vector<MutantRecord> records =
      run({mutant("st.global.f32 [%d2], %sum;",
                  "mul.rn.f32 %sum, %sum, 0f3F80A3D7; st.global.f32 [%d2], %sum;"),
           mutant("st.global.f32 [%d2], %sum;",
                  "mul.rn.f32 %sum, %sum, 0f40000000; st.global.f32 [%d2], %sum;")},
          {job(3, 5, 4), job(8, 8, 64)});
  ASSERT_EQ(records.size(), 2u);
  for (const MutantRecord& record : records) {
    EXPECT_EQ(record.outcome, MutantOutcome::caught);
    EXPECT_EQ(record.cases, 1);
    ASSERT_TRUE(record.accepted_by);
  }
  EXPECT_THAT(*records[0].accepted_by, Contains("CUTLASS unit tests"));
  EXPECT_THAT(*records[0].accepted_by, Not(Contains("torch assert_close")));
  EXPECT_THAT(*records[1].accepted_by, Not(Contains("CUTLASS unit tests")));
  const PeerRecord cutlass{"tiny", "CUTLASS unit tests", "", 0, 0};
  EXPECT_EQ(peer_score(records, cutlass).asked, 2);
  EXPECT_EQ(peer_score(records, cutlass).let_through, 1);

  MutantObserver silent;
  const UnmutatedKernel unmutated = run_unmutated({job(3, 5, 4), job(8, 8, 64)}, options, silent);
  for (const PeerRecord& rule : unmutated.peer_records("tiny")) {
    EXPECT_EQ(rule.cases, 2) << rule.rule;
    EXPECT_NE(rule.rule, "cuDNN-frontend attention");
    if (rule.rule == "cuDNN-frontend matmul") {
      EXPECT_EQ(rule.false_alarms, 0);
    }
  }
}

// Cancelling terms leave torch's relative tolerance behind, of the right kernel as well: that it
// rejects the faulty one there shows nothing.
TEST_F(Mutants, AFalseAlarmOfAnotherRuleCatchesNothing) {
  options.peers = true;
  const std::vector<Job> jobs = {job(8, 8, 300, "cancelling")};
  MutantObserver silent;
  const UnmutatedKernel unmutated = run_unmutated(jobs, options, silent);
  const auto rejects = [](const std::vector<PeerRecord>& rules, std::string_view name) {
    for (const PeerRecord& rule : rules)
      if (rule.rule == name) return rule.false_alarms == 1;
    return false;
  };
  ASSERT_TRUE(rejects(unmutated.peer_records("tiny"), "torch assert_close"));
  const std::vector<MutantRecord> records =
      run({mutant("st.global.f32 [%d2], %sum;",
                  "add.f32 %sum, %sum, 0f4E6E6B28; st.global.f32 [%d2], %sum;")},
          jobs);
  ASSERT_EQ(records.front().outcome, MutantOutcome::caught);
  EXPECT_THAT(*records.front().accepted_by, Contains("torch assert_close"));
}

// One fma of eight truncates from the 65th on: no output is outside its bound, and all of them
// lean. The larger case comes later, and breaks its bound in one of the two.
TEST_F(Mutants, ALeanCountsForAllErrorsAtOnceOnlyWhereNothingElseCatchesIt) {
  const std::string step = "fma.rn.f32 %sum, %x, %y, %sum;";
  const std::string leaning =
      "and.b32 %r14, %r6, 7; setp.eq.u32 %p3, %r14, 7; setp.ge.and.u32 %p3, %r6, 64, %p3;\n"
      "@%p3 fma.rz.f32 %sum, %x, %y, %sum; @!%p3 fma.rn.f32 %sum, %x, %y, %sum;\n";
  const std::string wrong = "setp.eq.u32 %p3, %r10, 72; @%p3 add.f32 %sum, %sum, 0f3F800000;\n";
  const std::vector<MutantRecord> records = run(
      {mutant(step, leaning), mutant(step, leaning + wrong)}, {job(64, 64, 512), job(72, 64, 512)});
  ASSERT_EQ(records.size(), 2u);
  for (const MutantRecord& record : records) EXPECT_EQ(record.outcome, MutantOutcome::caught);
  EXPECT_EQ(records[0].claim, "population");
  EXPECT_EQ(caught_by(records[0]), "population alone");
  EXPECT_THAT(records[0].text, HasSubstr("m=64"));
  EXPECT_EQ(records[0].cases, 1);
  EXPECT_EQ(records[1].claim, "bound");
  EXPECT_THAT(records[1].text, HasSubstr("m=72"));
  EXPECT_EQ(records[1].cases, 2);
  EXPECT_EQ(score(records).by_population, 1);
}

TEST_F(Mutants, CheapCasesOfEveryClassComeFirst) {
  MutantObserver silent;
  const UnmutatedKernel unmutated = run_unmutated(
      {job(8, 8, 64), job(1, 1, 1), job(4, 4, 32, "cancelling"), job(2, 2, 4)}, options, silent);
  std::vector<std::string> shapes;
  for (const UnmutatedCase& one : unmutated.cases)
    shapes.push_back(one.record.value_class + " " + one.record.text.substr(5, 3));
  EXPECT_THAT(shapes, ElementsAre("normal m=1", "cancelling m=4", "normal m=2", "normal m=8"));
}

TEST_F(Mutants, AKernelThatFailsByItselfSaysSo) {
  unmutated_ptx.replace(unmutated_ptx.find("fma.rn"), 6, "fma.rz");
  MutantObserver silent;
  const UnmutatedKernel unmutated = run_unmutated({job(8, 8, 64)}, options, silent);
  ASSERT_EQ(unmutated.cases.size(), 1u);
  EXPECT_EQ(unmutated.cases.front().record.verdict, Verdict::fail);
}

}  // namespace
}  // namespace plumbline
