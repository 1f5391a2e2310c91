// SPDX-License-Identifier: MIT
#include "oracles/exact/blas.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <cfenv>
#include <cstdlib>
#include <vector>

namespace plumbline {
namespace {

TEST(Blas, ThisMachinePassesTheSelfTest) {
  const Status status = blas_self_test();
  EXPECT_TRUE(status.ok()) << status.error().text();
}

TEST(Blas, AddsToWhatIsThereAndRespectsRowLengths) {
  const std::vector<double> a = {1, 2, 99, 3, 4, 99}, b = {5, 6, 7, 8};
  std::vector<double> c = {100, 200, -1, 300, 400, -1};
  add_product(2, 2, 2, a.data(), 3, b.data(), 2, c.data(), 3);
  EXPECT_EQ(c, (std::vector<double>{117, 223, -1, 339, 453, -1}));
}

TEST(Blas, MultipliesAcrossToo) {
  const std::vector<double> a = {1, 3, 99, 2, 4, 99}, b = {5, 7, 6, 8};
  std::vector<double> c = {100, 200, -1, 300, 400, -1};
  add_product_across(2, 2, 2, a.data(), 3, b.data(), 2, c.data(), 3);
  EXPECT_EQ(c, (std::vector<double>{117, 223, -1, 339, 453, -1}));
}

// The verdict is kept for the life of a process, so each broken machine is played in a child
// process of its own.
using BlasDeathTest = testing::Test;

TEST(BlasDeathTest, AnotherRoundingModeIsNoticed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::fesetround(FE_UPWARD);
        std::_Exit(blas_self_test().ok() ? 1 : 42);
      },
      testing::ExitedWithCode(42), "");
}

TEST(BlasDeathTest, FlushedSubnormalsAreNoticed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
        std::_Exit(blas_self_test().ok() ? 1 : 42);
      },
      testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace plumbline
