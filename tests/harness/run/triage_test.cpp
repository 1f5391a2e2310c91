// SPDX-License-Identifier: MIT
// Which failures get a counterexample: the same ones in every order in which cases end.
#include "harness/run/triage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/manifest/manifest.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TriageOf : public testing::Test {
 protected:
  TriageOf() {
    first_.name = "first";
    second_.name = "second";
  }

  std::vector<Job> jobs(int of_first, int of_second) const {
    std::vector<Job> jobs;
    for (int i = 0; i < of_first + of_second; ++i) {
      Case test_case;
      test_case.kernel = i < of_first ? &first_ : &second_;
      jobs.push_back({test_case, Target{.sm = 80, .gpu_name = ""}, i});
    }
    return jobs;
  }

  static CaseRecord failure(Claim claim, const char* kernel = "first") {
    CaseRecord record;
    record.kernel = kernel;
    record.verdict = Verdict::fail;
    record.claims[claim] = Verdict::fail;
    return record;
  }

  Manifest first_, second_;
  CaseRecord pass_;
};

TEST_F(TriageOf, AFailureWaitsForTheCasesOfItsKernelBeforeIt) {
  Triage triage(jobs(3, 1));
  const CaseRecord bound = failure(Claim::bound), other = failure(Claim::bound, "second");
  EXPECT_THAT(triage.ended(2, &bound).explain, IsEmpty());
  EXPECT_THAT(triage.ended(3, &other).explain, ElementsAre(3)) << "of another kernel";
  EXPECT_THAT(triage.ended(1, &bound).explain, IsEmpty());
  EXPECT_THAT(triage.ended(0, &pass_).explain, ElementsAre(1)) << "2 broke the same claim later";
}

TEST_F(TriageOf, EachClaimIsExplainedOnceUpToThree) {
  Triage triage(jobs(6, 0));
  std::vector<std::size_t> explained;
  const std::vector<Claim> claims = {Claim::bound,     Claim::bound,         Claim::specials,
                                     Claim::in_bounds, Claim::deterministic, Claim::bits};
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const CaseRecord record = failure(claims[i]);
    for (const std::size_t job : triage.ended(i, &record).explain) explained.push_back(job);
  }
  EXPECT_THAT(explained, ElementsAre(0, 2, 3));
}

TEST_F(TriageOf, WhatDidNotEndIsNotWaitedForInTheEnd) {
  Triage triage(jobs(3, 0));
  const CaseRecord bound = failure(Claim::bound);
  EXPECT_THAT(triage.ended(2, &bound).explain, IsEmpty());
  EXPECT_THAT(triage.ended(0, nullptr).explain, IsEmpty());
  EXPECT_THAT(triage.close().explain, ElementsAre(2));
  EXPECT_THAT(triage.close().explain, IsEmpty());
}

TEST_F(TriageOf, AfterTwentyFailuresOfAClaimFurtherOnesAreCounted) {
  Triage triage(jobs(24, 0));
  const CaseRecord bound = failure(Claim::bound), bits = failure(Claim::bits);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_THAT(triage.ended(i, &bound).count, IsEmpty()) << i;
  EXPECT_TRUE(triage.has_enough_of(bound));
  EXPECT_FALSE(triage.has_enough_of(bits));
  EXPECT_THAT(triage.ended(21, &bound).count, IsEmpty()) << "20 may still be another claim's";
  EXPECT_THAT(triage.ended(20, &bits).count, ElementsAre(21));
  EXPECT_THAT(triage.ended(22, &bound).count, ElementsAre(22));
}

}  // namespace
}  // namespace plumbline
