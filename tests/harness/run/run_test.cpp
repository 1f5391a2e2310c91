// SPDX-License-Identifier: MIT
// The main path on a small kernel: what a run records, what it tells while it goes, and when it
// ends early.
#include "harness/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/run/estimate.h"
#include "harness/run/evidence.h"
#include "reports/record/consistency.h"
#include "reports/record/json.h"
#include "tests/harness/tiny_gemm.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// d = a b by sequential fma, a thread for each element. `last` is compared with k: the number of
// products that are added.
std::string gemm_ptx(std::string_view last) {
  return fmt::format(R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry tiny(.param .u64 p_a, .param .u64 p_b, .param .u64 p_d, .param .u32 p_m, .param .u32 p_n, .param .u32 p_k)
{{
  .reg .b64 %a, %b, %d, %at;
  .reg .b16 %x, %y;
  .reg .b32 %m, %n, %k, %i, %all, %row, %column, %j, %e, %r, %s, %last;
  .reg .f32 %f, %g, %sum;
  .reg .pred %p, %long;
  ld.param.u64 %a, [p_a];
  ld.param.u64 %b, [p_b];
  ld.param.u64 %d, [p_d];
  ld.param.u32 %m, [p_m];
  ld.param.u32 %n, [p_n];
  ld.param.u32 %k, [p_k];
  mov.u32 %i, %ctaid.x;
  mov.u32 %j, %tid.x;
  mad.lo.u32 %i, %i, 32, %j;
  mul.lo.u32 %all, %m, %n;
  setp.ge.u32 %p, %i, %all;
  @%p ret;
  div.u32 %row, %i, %n;
  rem.u32 %column, %i, %n;
  mov.u32 %last, %k;
  setp.gt.u32 %long, %k, 4;
{}
  mov.f32 %sum, 0f00000000;
  mov.u32 %j, 0;
$next:
  setp.ge.u32 %p, %j, %last;
  @%p bra $done;
  mad.lo.u32 %e, %row, %k, %j;
  mad.wide.u32 %at, %e, 2, %a;
  ld.global.u16 %x, [%at];
  mad.lo.u32 %e, %j, %n, %column;
  mad.wide.u32 %at, %e, 2, %b;
  ld.global.u16 %y, [%at];
  cvt.u32.u16 %r, %x;
  cvt.u32.u16 %s, %y;
  shl.b32 %r, %r, 16;
  shl.b32 %s, %s, 16;
  mov.b32 %f, %r;
  mov.b32 %g, %s;
  fma.rn.f32 %sum, %f, %g, %sum;
  add.u32 %j, %j, 1;
  bra $next;
$done:
  mad.wide.u32 %at, %i, 4, %d;
  st.global.f32 [%at], %sum;
  ret;
}}
)",
                     last);
}

constexpr std::string_view kSound = "";
// Longer sums lose their last product.
constexpr std::string_view kShort = "  @%long sub.u32 %last, %last, 1;";

// What a run told, as words in their order.
class Told : public Observer {
 public:
  void planned(const RunRecord& so_far, const std::vector<Job>& jobs) override {
    EXPECT_EQ(so_far.planned, static_cast<std::int64_t>(jobs.size()));
    events.emplace_back("planned");
  }

  void finished(const CaseRecord& record, std::int64_t, std::int64_t) override {
    events.emplace_back(name(record.verdict));
  }

  void shrinking(const Case&) override { events.emplace_back("shrinking"); }

  void explained(const Counterexample& card) override {
    events.emplace_back("explained");
    cards.push_back(card);
  }

  std::vector<std::string> events;
  std::vector<Counterexample> cards;
};

class Run : public testing::Test {
 protected:
  void SetUp() override {
    Result<Manifest> kernel = parse_manifest(tiny_gemm_manifest(kTinyEntry), "tiny.toml");
    ASSERT_TRUE(kernel.ok()) << kernel.error().text();
    kernel_ = *std::move(kernel);
    options_.on = On::emulator;
  }

  Case gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed) const {
    Case test_case;
    test_case.kernel = &kernel_;
    test_case.problem = Problem(kernel_.schema());
    test_case.problem.set_integer("m", m);
    test_case.problem.set_integer("n", n);
    test_case.problem.set_integer("k", k);
    test_case.recipe.value_class = "normal";
    test_case.recipe.seed = seed;
    return test_case;
  }

  // Short sums, then long ones.
  void plan(int sound, int broken) {
    options_.only_cases.clear();
    for (int i = 0; i < sound; ++i) options_.only_cases.push_back(gemm(7, 9, 3, 1 + i));
    for (int i = 0; i < broken; ++i) options_.only_cases.push_back(gemm(6, 5, 24, 1 + i));
  }

  RunRecord record_of(std::string_view fault, int jobs = 1) {
    options_.jobs = jobs;
    options_.runner = {};
    options_.runner.image = [=](const Manifest&, int) {
      return Result<std::string>(gemm_ptx(fault));
    };
    told_ = {};
    Result<RunRecord> record = run(Registry(), {&kernel_}, options_, told_);
    EXPECT_TRUE(record.ok());
    record->verb = "verify";
    record->run_id = "a1b2c3";
    return *std::move(record);
  }

  Manifest kernel_;
  RunOptions options_;
  Told told_;
};

std::string untimed(const RunRecord& record) {
  const std::string json = record_json(record);
  return json.substr(0, json.find("\"circumstances\""));
}

TEST_F(Run, OfASoundKernelHoldsEveryCase) {
  plan(4, 4);
  const RunRecord record = record_of(kSound);
  EXPECT_EQ(record.planned, 8);
  ASSERT_THAT(record.cases, SizeIs(8));
  ASSERT_THAT(record.kernels, SizeIs(1));
  const KernelRecord& kernel = record.kernels.front();
  EXPECT_EQ(kernel.verdict, Verdict::pass) << testing::PrintToString(kernel.mistrusted_because);
  EXPECT_EQ(kernel.passed, 8);
  EXPECT_EQ(kernel.compared, 4 * 63 + 4 * 30);
  EXPECT_THAT(record.counterexamples, IsEmpty());
  EXPECT_THAT(record.devices, testing::ElementsAre("emulator sm_80"));
  EXPECT_EQ(inconsistency(record) + contradiction(record), "");
}

TEST_F(Run, TellsTheFirstFailureWhileOtherCasesAreStillToRun) {
  plan(3, 6);
  const RunRecord record = record_of(kShort);
  EXPECT_THAT(told_.events,
              testing::ElementsAre("planned", "pass", "pass", "pass", "fail", "shrinking",
                                   "explained", "fail", "fail", "fail", "fail", "fail"));
  ASSERT_THAT(record.counterexamples, SizeIs(1));
  EXPECT_EQ(told_.cards.front().text, record.counterexamples.front().text);
  EXPECT_EQ(record.counterexamples.front().original, record.cases[3].text);
  EXPECT_GT(record.counterexamples.front().steps, 0);
  EXPECT_EQ(record.kernels.front().verdict, Verdict::fail);
  EXPECT_EQ(record.kernels.front().failed, 6);
}

TEST_F(Run, IsTheSameForAnyNumberOfThreads) {
  plan(3, 24);
  std::swap(options_.only_cases.front(), options_.only_cases.back());
  const std::string alone = untimed(record_of(kShort, 1));
  EXPECT_EQ(alone, untimed(record_of(kShort, 2)));
  EXPECT_EQ(alone, untimed(record_of(kShort, 5)));
}

TEST_F(Run, EndsWithItsFirstFailureWhereThatIsAskedFor) {
  plan(2, 30);
  options_.max_failures = 1;
  const RunRecord record = record_of(kShort);
  EXPECT_THAT(record.cases, SizeIs(3));
  EXPECT_EQ(record.stopped_after, 1);
  EXPECT_FALSE(record.interrupted);
  EXPECT_THAT(record.counterexamples, SizeIs(1));
  EXPECT_THAT(told_.cards, SizeIs(1));
  EXPECT_EQ(describe_incomplete(record),
            "the run stopped at its first failure: 3 of 32 planned cases are here");
  EXPECT_EQ(inconsistency(record) + contradiction(record), "") << "it can be reported";
}

// Only what a kernel itself lacks counts against it.
TEST_F(Run, ThatEndsEarlyTrustsKernelsWhoseCasesAllRan) {
  Manifest broken = kernel_, last = kernel_;
  broken.name = broken.path = "broken";
  last.name = last.path = "last";
  plan(4, 4);
  const std::vector<Case> cases = options_.only_cases;
  for (const Manifest* kernel : {&broken, &last}) {
    for (Case test_case : cases) {
      test_case.kernel = kernel;
      options_.only_cases.push_back(test_case);
    }
  }
  options_.max_failures = 1;
  options_.runner.image = [&](const Manifest& kernel, int) {
    return Result<std::string>(gemm_ptx(kernel.name == "broken" ? kShort : kSound));
  };
  Result<RunRecord> record = run(Registry(), {&kernel_, &broken, &last}, options_, told_);
  ASSERT_TRUE(record.ok());
  record->verb = "verify";
  record->run_id = "a1b2c3";
  weigh_incomplete(*record);
  const KernelRecord &whole = record->kernels[0], &failed = record->kernels[1];
  EXPECT_EQ(whole.verdict, Verdict::pass) << testing::PrintToString(whole.mistrusted_because);
  EXPECT_EQ(whole.not_run, 0);
  EXPECT_THAT(whole.left_out, HasSubstr("the run ended before probes could show how it adds"));
  EXPECT_EQ(failed.verdict, Verdict::fail);
  EXPECT_EQ(failed.not_run, 3);
  EXPECT_EQ(record->kernels[2].not_run, 8);
  EXPECT_EQ(inconsistency(*record) + contradiction(*record), "") << "it can be reported";
  // One case less, and it is no pass.
  record->cases.erase(record->cases.begin());
  ++record->kernels[0].not_run;
  weigh_incomplete(*record);
  EXPECT_EQ(record->kernels[0].verdict, Verdict::mistrusted);
}

TEST_F(Run, EndsWithSoManyFailuresOnAnyNumberOfThreads) {
  plan(2, 30);
  options_.max_failures = 3;
  for (const int jobs : {1, 4}) {
    const RunRecord record = record_of(kShort, jobs);
    EXPECT_EQ(record.kernels.front().failed, 3);
    EXPECT_EQ(record.stopped_after, 3);
    EXPECT_THAT(record.counterexamples, SizeIs(1));
    EXPECT_THAT(describe_incomplete(record), HasSubstr("the run stopped after 3 failures"));
  }
  const RunRecord record = record_of(kSound);
  EXPECT_EQ(record.stopped_after, 0) << "nothing failed";
  EXPECT_THAT(record.cases, SizeIs(32));
}

TEST_F(Run, CountsWhatFailsBeyondTheFirstTwenty) {
  plan(0, 23);
  const RunRecord record = record_of(kShort, 2);
  EXPECT_EQ(record.kernels.front().failed, 23);
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    EXPECT_EQ(record.cases[i].verdict, Verdict::fail);
    EXPECT_GT(record.cases[i].outputs.front().verdict.failed, 0);
    EXPECT_NE(record.cases[i].reason, "");
    EXPECT_EQ(record.cases[i].outputs.front().verdict.failures.empty(), i >= 20) << i;
  }
}

TEST_F(Run, LeavesFailuresAsFoundWhereNothingIsToBeShrunk) {
  plan(0, 2);
  options_.shrink_budget = 0;
  const RunRecord record = record_of(kShort);
  ASSERT_THAT(record.counterexamples, SizeIs(1));
  EXPECT_EQ(record.counterexamples.front().text, record.cases.front().text);
  EXPECT_EQ(std::count(told_.events.begin(), told_.events.end(), "shrinking"), 0);
}

TEST_F(Run, OfAShardHasItsPartOfThePlan) {
  plan(5, 5);
  std::set<std::int64_t> positions;
  for (int i = 1; i <= 2; ++i) {
    options_.shard = Shard{i, 2};
    const RunRecord record = record_of(kSound);
    EXPECT_EQ(record.shard->plan, 10);
    for (const CaseRecord& c : record.cases)
      EXPECT_TRUE(positions.insert(c.position).second) << c.text;
  }
  EXPECT_THAT(positions, SizeIs(10));
}

TEST_F(Run, PutsCasesThatNeedTheWholeMachineLast) {
  options_.only_cases = {gemm(2048, 2048, 1024, 1), gemm(2, 2, 2, 1)};
  RunRecord record;
  const Result<std::vector<Job>> jobs =
      plan_jobs(Registry(), {&kernel_}, std::nullopt, options_, record);
  ASSERT_TRUE(jobs.ok());
  ASSERT_THAT(*jobs, SizeIs(2));
  EXPECT_FALSE(needs_all_threads(jobs->front()));
  EXPECT_TRUE(needs_all_threads(jobs->back()));
  EXPECT_EQ(jobs->back().position, 1);
}

TEST_F(Run, IsEstimatedFromItsProductsAndThreads) {
  plan(1, 3);
  RunRecord record;
  const Result<std::vector<Job>> jobs =
      plan_jobs(Registry(), {&kernel_}, std::nullopt, options_, record);
  ASSERT_TRUE(jobs.ok());
  EXPECT_GT(estimated_seconds(jobs->back()), estimated_seconds(jobs->front()));
  EXPECT_DOUBLE_EQ(estimated_seconds(*jobs, 1), 2 * estimated_seconds(*jobs, 2));
}

TEST_F(Run, WithoutADeviceSkipsTheKernel) {
  plan(1, 0);
  options_.sm = 90;
  const RunRecord record = record_of(kSound);
  EXPECT_THAT(record.cases, IsEmpty());
  EXPECT_EQ(record.kernels.front().verdict, Verdict::skip);
  EXPECT_THAT(record.kernels.front().reasons, SizeIs(1));
}

TEST(RunJobs, NoneBeginsOnceThereIsEnough) {
  const Result<Manifest> kernel = parse_manifest(tiny_gemm_manifest(kTinyEntry), "tiny.toml");
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  Case test_case;
  test_case.kernel = &*kernel;
  test_case.problem = Problem(kernel->schema());
  for (const std::string_view size : {"m", "n", "k"}) test_case.problem.set_integer(size, 1);
  const std::vector<Job> jobs(5, {test_case, Target{.sm = 80, .gpu_name = ""}});
  RunOptions options;
  int asked = 0;
  options.enough = [&] { return ++asked > 2; };
  options.runner.image = [](const Manifest&, int) { return Result<std::string>("not PTX"); };
  Observer no_observer;
  EXPECT_EQ(run_jobs(jobs, options, no_observer).size(), 2u);
  options.enough = {};
  EXPECT_EQ(run_jobs(jobs, options, no_observer).size(), 5u);
}

}  // namespace
}  // namespace plumbline
