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
                     .seconds = 30},
                    100),
      "gemm_bf16   1,200/9,600 cases, 25 %   2 failed   1 shrinking   40/s   1 min 30 s left");
}

TEST(ProgressText, PromisesNothingAtTheBeginningAndAtTheEnd) {
  EXPECT_EQ(
      progress_text({.kernel = "k", .done = 1, .total = 900, .share = 0.001, .seconds = 2}, 80),
      "k   1/900 cases, 0 %   0.5/s");
  EXPECT_EQ(progress_text({.kernel = "k", .done = 9, .total = 9, .share = 1, .seconds = 0.5}, 80),
            "k   9/9 cases, 100 %   18/s");
}

// Nothing is cut within a word; the time that is left stays longest.
TEST(ProgressText, LeavesOutWholePartsWhereItIsTooLong) {
  const Progress p{.kernel = "attention_bf16_backward_atomic",
                   .done = 10200,
                   .total = 45866,
                   .share = 0.25,
                   .seconds = 68};
  const std::string done = "10,200/45,866 cases, 25 %";
  EXPECT_EQ(progress_text(p, 84), p.kernel + "   " + done + "   150/s   3 min 24 s left");
  EXPECT_EQ(progress_text(p, 83), p.kernel + "   " + done + "   3 min 24 s left");
  EXPECT_EQ(progress_text(p, 57), done + "   3 min 24 s left");
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
