// SPDX-License-Identifier: MIT
// The one number for a kernel's errors. If it were taken from values that cancel, or differed from
// page to terminal, correct kernels would look wrong.
#include "reports/representative_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracles/reference/output_tally.h"

namespace plumbline {
namespace {

void add(RunRecord& record, const char* value_class, const char* format, double ulp,
         std::int64_t outputs = 100) {
  CaseRecord& c = record.cases.emplace_back();
  c.kernel = "k";
  c.value_class = value_class;
  OutputRecord& output = c.outputs.emplace_back();
  output.name = "d";
  output.format = format;
  OutputVerdict& v = output.verdict;
  v.compared = outputs;
  v.worst_ulp = ulp;
  v.magnitudes.assign(OutputTally::kBinades, 0);
  const int cell = ulp == 0 ? 0 : std::min(std::ilogb(ulp) + 11, OutputTally::kBinades - 1);
  v.magnitudes.at(static_cast<std::size_t>(cell)) = outputs;
}

TEST(RepresentativeError, IsOfValuesOfOneSignAndTheNarrowestFormat) {
  RunRecord record;
  KernelRecord k{.name = "k", .compared = 1, .worst_ulp = 3e41};
  add(record, "cancelling", "bf16", 3e41);
  EXPECT_FALSE(representative_error(record, k));
  EXPECT_EQ(describe_error(record, k), "");
  add(record, "positive", "f32", 512);
  EXPECT_EQ(describe_error(record, k), "512 ulp of f32");
  add(record, "positive", "bf16", 0.5);
  add(record, "positive", "bf16", 0.25);
  EXPECT_EQ(describe_error(record, k), "0.5 ulp of bf16");
}

// An activation is nearly 0 for one output of 1,000: that is not how close the outputs are.
TEST(RepresentativeError, IsOfNinetyNinePercent) {
  RunRecord record;
  const KernelRecord k{.name = "k", .compared = 1, .worst_ulp = 11.1};
  add(record, "positive", "bf16", 0.4, 999);
  add(record, "positive", "bf16", 11.1, 1);
  EXPECT_EQ(describe_error(record, k), "0.5 ulp of bf16");
}

// x - y of positive ones cancels, too, unless sums are known not to.
TEST(RepresentativeError, IsNoneWhereValuesOfOneSignCancel) {
  RunRecord record;
  KernelRecord k{.name = "k", .compared = 1, .worst_ulp = 1e29};
  add(record, "positive", "bf16", 1e29);
  EXPECT_FALSE(representative_error(record, k));
  k.worst_relative = 0.25;
  EXPECT_TRUE(representative_error(record, k));
}

TEST(RepresentativeError, GivesWayToWhatIsBeyondTheContract) {
  KernelRecord k{.name = "k", .compared = 1, .worst_share = 40};
  EXPECT_EQ(describe_error({}, k), "40 x what is allowed");
  k.worst_share = std::numeric_limits<double>::infinity();
  EXPECT_EQ(describe_error({}, k), "beyond what is allowed");
  k.worst_share = 1;  // attained by every kernel of this arithmetic: says nothing
  k.worst_ulp = 1e9;
  EXPECT_EQ(describe_error({}, k), "");
  k.worst_ulp = 0;
  EXPECT_EQ(describe_error({}, k), "exact");
}

}  // namespace
}  // namespace plumbline
