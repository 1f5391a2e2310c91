// SPDX-License-Identifier: MIT
#include "harness/cli/text/progress.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(ProgressText, SaysWhatIsDoneAndWhatIsLeft) {
  EXPECT_EQ(
      progress_text({.kernel = "gemm_bf16",
                     .done = 1200,
                     .total = 9600,
                     .failed = 2,
                     .shrinking = 1,
                     .share = 0.25,
                     .seconds = 30}),
      "gemm_bf16   1,200/9,600 cases, 25 %   2 failed   1 shrinking   40/s   1 min 30 s left");
}

TEST(ProgressText, PromisesNothingAtTheBeginningAndAtTheEnd) {
  EXPECT_EQ(progress_text({.kernel = "k", .done = 1, .total = 900, .share = 0.001, .seconds = 2}),
            "k   1/900 cases, 0 %   0.5/s");
  EXPECT_EQ(progress_text({.kernel = "k", .done = 9, .total = 9, .share = 1, .seconds = 0.5}),
            "k   9/9 cases, 100 %   18/s");
}

TEST(DurationText, HasTheUnitsItNeeds) {
  EXPECT_EQ(duration_text(0.04), "0.0 s");
  EXPECT_EQ(duration_text(9.94), "9.9 s");
  EXPECT_EQ(duration_text(9.96), "10 s");
  EXPECT_EQ(duration_text(59.7), "1 min 0 s");
  EXPECT_EQ(duration_text(3725), "1 h 2 min");
}

}  // namespace
}  // namespace plumbline
