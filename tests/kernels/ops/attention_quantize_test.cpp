// SPDX-License-Identifier: MIT
// Keys that become 8-bit integers lose their mean where O does not depend on it, and nowhere else.
#include "kernels/ops/attention_quantize.h"

#include <gtest/gtest.h>

#include "oracles/formats/decode.h"
#include "tests/oracles/reference/attention/fixture.h"

namespace plumbline {
namespace {

using testing::Attention;
using testing::AttentionSetup;

double sum_of_first_column(const Tensor& k, const AttentionSetup& setup) {
  double sum = 0;
  for (std::int64_t key = 0; key < setup.keys; ++key)
    sum += to_double(format(FormatId::f32), k.bits(key * setup.d));
  return sum;
}

TEST(AttentionQuantize, SmoothsKeysWhereNoOutputSeesIt) {
  for (int turn = 0; turn < 4; ++turn) {
    AttentionSetup setup;
    setup.format = FormatId::f32;
    setup.sink = turn % 2 == 1;
    setup.softcap = turn / 2 == 1 ? 20.0f : 0.0f;
    const Attention attention(setup);
    const double before = sum_of_first_column(attention.k, setup);
    ASSERT_GT(std::fabs(before), 0.1);
    const double after = sum_of_first_column(smoothed_keys(attention.problem, attention.k), setup);
    if (turn == 0)
      EXPECT_LT(std::fabs(after), 1e-4);
    else
      EXPECT_EQ(after, before) << "the sink's logit stays, and a softcap is not linear";
  }
}

}  // namespace
}  // namespace plumbline
