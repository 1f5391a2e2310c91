// SPDX-License-Identifier: MIT
// Mistrusted is real: each rule is produced once.
#include "harness/run/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A kernel with good evidence: 100 outputs, all compared, three different answers.
struct Good {
  KernelRecord kernel;
  RunRecord record;

  Good() {
    kernel.name = "k";
    kernel.cases = kernel.passed = 3;
    kernel.outputs = kernel.compared = kernel.nonzero = 100;
    kernel.refereed = 8;
    for (const char* bits : {"a", "b", "c"}) {
      CaseRecord c;
      c.kernel = "k";
      c.fingerprint = bits;
      OutputRecord output;
      output.name = "d";
      output.verdict.elements = output.verdict.nonzero = 33;
      c.outputs.push_back(output);
      record.cases.push_back(c);
    }
  }

  std::vector<std::string> reasons() const { return reasons_to_mistrust(kernel, record); }
};

TEST(Evidence, EnoughIsEnough) { EXPECT_THAT(Good().reasons(), IsEmpty()); }

TEST(Evidence, NothingComparedProvesNothing) {
  Good g;
  g.kernel.compared = 0;
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("no output was compared")));
}

TEST(Evidence, OutputsThatMayBeAnythingProveNothing) {
  Good g;
  const auto open = [&](std::int64_t count) {
    for (CaseRecord& c : g.record.cases) {
      c.outputs.front().verdict.compared = 33 - count;
      c.outputs.front().verdict.open = count;
    }
  };
  open(17);
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("51 of 99 outputs, so that any value")));
  open(16);
  EXPECT_THAT(g.reasons(), IsEmpty());
}

TEST(Evidence, MostlyZeroOutputsProveLittle) {
  Good g;
  const auto nonzero = [&](std::int64_t count) {
    for (CaseRecord& c : g.record.cases) c.outputs.front().verdict.nonzero = count;
  };
  nonzero(9);
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("only 27 % of 99 outputs are not zero")));
  nonzero(10);
  EXPECT_THAT(g.reasons(), IsEmpty());
  // Of three cases one has them all, because it is large: the other two say enough.
  g.record.cases[0].outputs.front().verdict.elements = 1000;
  g.record.cases[0].outputs.front().verdict.nonzero = 0;
  EXPECT_THAT(g.reasons(), IsEmpty());
  g.record.cases[1].outputs.front().verdict.nonzero = 0;
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("outputs are not zero")));
}

// A mask of triangles and windows leaves most outputs 0, and enough that are not.
TEST(Evidence, ManyOutputsThatAreNotZeroAreEnough) {
  Good g;
  for (CaseRecord& c : g.record.cases) {
    c.outputs.front().verdict.elements = 50'000;
    c.outputs.front().verdict.nonzero = 3'333;
  }
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("outputs are not zero")));
  for (CaseRecord& c : g.record.cases) c.outputs.front().verdict.nonzero = 3'334;
  EXPECT_THAT(g.reasons(), IsEmpty());
}

// Locks and counters are 0 but for a few, and each of them is right or wrong.
TEST(Evidence, AThousandIntegersThatAreNotZeroAreEnough) {
  Good g;
  for (CaseRecord& c : g.record.cases) {
    c.outputs.front().format = "s32";
    c.outputs.front().verdict.elements = 50'000;
    c.outputs.front().verdict.nonzero = 333;
  }
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("outputs are not zero")));
  for (CaseRecord& c : g.record.cases) c.outputs.front().verdict.nonzero = 334;
  EXPECT_THAT(g.reasons(), IsEmpty());
}

// Each output has to be tested: a second one beside a good one.
TEST(Evidence, NoOutputHidesBehindAnother) {
  Good g;
  for (CaseRecord& c : g.record.cases) {
    OutputRecord other;
    other.name = "amax";
    other.format = "f32";
    other.verdict.elements = other.verdict.nonzero = other.verdict.bounded = 30;
    other.verdict.compared = c.outputs.front().verdict.compared = 30;
    c.outputs.push_back(other);
  }
  EXPECT_THAT(g.reasons(), IsEmpty());
  for (CaseRecord& c : g.record.cases) c.outputs.back().verdict.nonzero = 0;
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("only 0 % of 90 outputs of amax")));
  for (CaseRecord& c : g.record.cases) {
    c.outputs.back().verdict.nonzero = 30;
    c.outputs.back().verdict.median_bound_ulp = 1e9;
  }
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("the bound of amax is as large as the results")));
  for (CaseRecord& c : g.record.cases) {
    c.outputs.back().verdict.median_bound_ulp = 1;
    c.outputs.back().verdict.compared = 0;
  }
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("no output of amax was compared")));
}

TEST(Evidence, ARefereeThatNeverLookedProvesLittle) {
  Good g;
  g.kernel.refereed = 0;
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("MPFR referee")));
}

TEST(Evidence, DisagreeingOraclesProveNothing) {
  Good g;
  g.kernel.disagreements = 2;
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("its referees disagree 2 times")));
}

TEST(Evidence, ACaseThatIsMistrustedSaysWhy) {
  Good g;
  g.record.cases[1].verdict = Verdict::mistrusted;
  g.record.cases[1].reason = "the oracle could not decide 4 outputs of d";
  g.kernel.verdict = Verdict::mistrusted;
  g.kernel.mistrusted = 1;
  EXPECT_THAT(g.reasons(),
              ElementsAre("in 1 of 3 cases the oracle could not decide 4 outputs of d"));
  g.record.kernels.push_back(g.kernel);
  weigh_evidence(g.record);
  EXPECT_EQ(g.record.kernels[0].verdict, Verdict::mistrusted);
  EXPECT_EQ(g.record.kernels[0].mistrusted_because.size(), 1u);
}

TEST(Evidence, CodeThatNeverRanIsAHole) {
  Good g;
  g.kernel.compared = 1000;
  g.kernel.code["emulator sm_80"] = {200, 99, {}};
  EXPECT_THAT(g.reasons(),
              ElementsAre(HasSubstr("only 50 % of 200 instructions ran on the emulator sm_80")));
  g.kernel.code["emulator sm_80"].executed = 100;
  EXPECT_THAT(g.reasons(), IsEmpty());
}

TEST(Evidence, BoundsAsLargeAsTheResultsExcludeNothing) {
  Good g;
  for (CaseRecord& c : g.record.cases) {
    c.outputs.front().format = "bf16";
    c.outputs.front().verdict.bounded = 5;
    c.outputs.front().verdict.median_bound_ulp = 127;  // bf16 results have 128 ulp or more
  }
  EXPECT_THAT(g.reasons(), IsEmpty());
  g.record.cases[0].outputs.front().verdict.median_bound_ulp = 128;
  EXPECT_THAT(g.reasons(), IsEmpty());  // cancelling sums, a few of any plan
  g.record.cases[1].outputs.front().verdict.median_bound_ulp = 1e9;
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("as large as the results themselves in 2 of 3")));
}

TEST(Evidence, AWholePlanOfFewOutputsProvesLittle) {
  Good g;
  g.kernel.compared = 999;
  EXPECT_THAT(g.reasons(), IsEmpty());  // a part of a plan
  g.kernel.code["emulator sm_80"] = {200, 200, {}};
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("compares only 999 outputs")));
  g.kernel.compared = 1000;
  EXPECT_THAT(g.reasons(), IsEmpty());
}

TEST(Evidence, TheSameAnswerToEveryQuestionIsSuspicious) {
  Good g;
  for (CaseRecord& c : g.record.cases) c.fingerprint = "a";
  EXPECT_THAT(g.reasons(), ElementsAre(HasSubstr("same output bits")));
}

TEST(Evidence, ASkippedKernelNeedsNone) {
  Good g;
  g.kernel.skipped = g.kernel.cases;
  g.kernel.compared = 0;
  EXPECT_THAT(g.reasons(), IsEmpty());
}

}  // namespace
}  // namespace plumbline
