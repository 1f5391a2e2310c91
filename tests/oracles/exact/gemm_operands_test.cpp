// SPDX-License-Identifier: MIT
#include "oracles/exact/gemm_operands.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/oracles/exact/test_data.h"

namespace plumbline {
namespace {

void expect_decoded(const Tensor& a, const Tensor& b, int threads) {
  const GemmOperands out = decode_operands(a, b, threads);
  const std::int64_t batch = a.layout.shape[0], m = a.layout.shape[1], k = a.layout.shape[2],
                     n = b.layout.shape[2];
  ASSERT_EQ(out.batch, batch);
  ASSERT_EQ(out.m, m);
  ASSERT_EQ(out.n, n);
  ASSERT_EQ(out.k, k);
  const auto check = [](const Tensor& tensor, std::int64_t linear, float got, bool& special) {
    const double value = to_double(format(tensor.layout.format), tensor.bits(linear));
    special |= !std::isfinite(value);
    if (got == (std::isfinite(value) ? value : 0)) return;  // cheaper than an assertion
    FAIL() << tensor.layout.text() << " element " << linear << " decoded as " << got;
  };
  for (std::int64_t z = 0; z < batch; ++z) {
    for (std::int64_t i = 0; i < m; ++i) {
      bool special = false;
      for (std::int64_t p = 0; p < k; ++p) check(a, (z * m + i) * k + p, out.row(z, i)[p], special);
      ASSERT_EQ(out.a_special[(out.batch_a == 1 ? 0 : z) * m + i] != 0, special);
    }
    for (std::int64_t j = 0; j < n; ++j) {
      bool special = false;
      for (std::int64_t p = 0; p < k; ++p)
        check(b, (z * k + p) * n + j, out.column(z, j)[p], special);
      ASSERT_EQ(out.b_special[(out.batch_b == 1 ? 0 : z) * n + j] != 0, special);
    }
  }
}

Tensor random_tensor(TensorLayout layout, Random& random) {
  Tensor out(layout);
  for (std::int64_t i = 0; i < layout.storage_elements(); ++i) {
    // One code in 200 is anything at all: most of those are finite, some are not.
    const std::uint64_t any = random.next() >> (64 - format(layout.format).storage_bits);
    out.set_bits_at(
        i, random.below(200) == 0 ? any : random_finite_code(format(layout.format), random));
  }
  return out;
}

TEST(GemmOperands, EveryFormatAndLayoutDecodesAsElementByElement) {
  Random random(1);
  const std::int64_t batch = 2, m = 70, n = 67, k = 130;
  const std::vector<std::vector<std::int64_t>> strides_a = {
      {m * k, k, 1},            // row-major
      {m * k, 1, m},            // column-major
      {m * (k + 3), k + 3, 1},  // padded
      {0, k, 1},                // the same matrix for the whole batch
      {m * k, 0, 1},            // every row the same
      {m * k * 6, k * 6, 6},    // nothing contiguous, k inner
      {m * k * 6, 6, m * 6},    // nothing contiguous, k outer
      {k, batch * k, 1},        // batch inside
  };
  for (const FormatId id :
       {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2, FormatId::e2m1, FormatId::s8,
        FormatId::u8, FormatId::ue8m0, FormatId::tf32, FormatId::f32}) {
    for (const auto& strides : strides_a) {
      TensorLayout layout_a{id, {batch, m, k}, strides, 5};
      // The same strides for B^T: its columns take the role of A's rows.
      TensorLayout layout_b{id, {batch, k, n}, {strides[0], strides[2], strides[1]}, 0};
      expect_decoded(random_tensor(layout_a, random), random_tensor(layout_b, random),
                     1 + int(random.below(3)));
    }
  }
}

TEST(GemmOperands, OneBroadcastMatrixIsStoredOnce) {
  Random random(2);
  TensorLayout a{FormatId::bf16, {4, 3, 5}, {0, 5, 1}, 0},
      b{FormatId::bf16, {4, 5, 2}, {10, 2, 1}, 0};
  const GemmOperands out = decode_operands(random_tensor(a, random), random_tensor(b, random), 1);
  EXPECT_EQ(out.batch_a, 1);
  EXPECT_EQ(out.a.size(), 15u);
  EXPECT_EQ(out.batch_b, 4);
}

TEST(GemmOperands, AbsurdStridesOfSizeOneDimensionsAreIgnored) {
  Random random(3);
  const std::int64_t absurd = std::int64_t{1} << 40;
  TensorLayout a{FormatId::bf16, {1, 1, 9}, {absurd, absurd + 1, 1}, 0};
  TensorLayout b{FormatId::bf16, {1, 9, 1}, {absurd, 1, absurd}, 0};
  expect_decoded(random_tensor(a, random), random_tensor(b, random), 2);
  TensorLayout thin_a{FormatId::bf16, {2, 3, 1}, {3, 1, absurd}, 0},
      thin_b{FormatId::bf16, {2, 1, 4}, {4, absurd, 1}, 0};
  expect_decoded(random_tensor(thin_a, random), random_tensor(thin_b, random), 2);
}

TEST(GemmOperands, EmptyDimensionsGiveEmptyOperands) {
  for (const auto& [batch, m, n, k] :
       {std::array<std::int64_t, 4>{0, 2, 3, 4}, {2, 0, 3, 4}, {2, 3, 0, 4}, {2, 3, 4, 0}}) {
    expect_decoded(zero_tensor(FormatId::bf16, {batch, m, k}),
                   zero_tensor(FormatId::bf16, {batch, k, n}), 2);
  }
}

}  // namespace
}  // namespace plumbline
