// SPDX-License-Identifier: MIT
// Sums of short operands, where nothing needs splitting: FP8 as one FP64 product up to its limit,
// int8 as f32 products over ranges of k, zero points taken off beforehand.
#include <gtest/gtest.h>

#include "oracles/exact/blas.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_split.h"
#include "oracles/exact/gemm_sums.h"
#include "tests/oracles/exact/test_data.h"

namespace plumbline {
namespace {

void expect_exact(const GemmOperands& operands) {
  const SumEnclosures sums = gemm_sums(operands, 2);
  for (std::int64_t at = 0; at < operands.batch * operands.m * operands.n; ++at) {
    const std::int64_t j = at % operands.n, i = at / operands.n % operands.m,
                       batch = at / operands.n / operands.m;
    const Dyadic exact = exact_dot(operands.row(batch, i), operands.column(batch, j), operands.k);
    ASSERT_EQ(Dyadic(sums.hi[at]) + Dyadic(sums.lo[at]), exact) << at;
    ASSERT_EQ(sums.bound[at], 0) << at;
  }
}

// Every element as large as e4m3 goes but for a few of its smallest.
GemmOperands largest_e4m3(std::int64_t k) {
  Operands data = {zero_tensor(FormatId::e4m3, {1, 2, k}), zero_tensor(FormatId::e4m3, {1, k, 2})};
  for (Tensor* side : {&data.a, &data.b}) {
    for (std::int64_t p = 0; p < 2 * k; ++p) side->set_bits_at(p, p % 1009 == 0 ? 1 : 0x7e);
  }
  return decode_operands(data.a, data.b, 1);
}

TEST(ShortProducts, E4m3NeedsNoSplitUpToItsLimit) {
  for (const std::int64_t k : {64, 4096, 171196}) {
    const GemmOperands operands = largest_e4m3(k);
    EXPECT_TRUE(split_operands(operands, 1).whole) << k;
    expect_exact(operands);
  }
  // All of them largest: the limit itself.
  Operands data = {zero_tensor(FormatId::e4m3, {1, 1, 171197}),
                   zero_tensor(FormatId::e4m3, {1, 171197, 1})};
  for (std::int64_t p = 0; p < 171197; ++p) {
    data.a.set_bits_at(p, p == 0 ? 1 : 0x7e);
    data.b.set_bits_at(p, p == 1 ? 1 : 0x7e);
  }
  EXPECT_TRUE(split_operands(decode_operands(data.a, data.b, 1), 1).whole);
}

TEST(ShortProducts, E4m3BeyondTheLimitIsSplitAndStaysExact) {
  const GemmOperands operands = largest_e4m3(200000);
  EXPECT_FALSE(split_operands(operands, 1).whole);
  expect_exact(operands);
}

TEST(ShortProducts, Int8IsExactInShortRanges) {
  for (const FormatId a : {FormatId::s8, FormatId::u8}) {
    for (const std::int64_t k : {1, 31, 1024, 1025, 5000}) {
      for (const ZeroPoints zero : {ZeroPoints{}, ZeroPoints{5, -3}, ZeroPoints{-128, 127}}) {
        Operands data = {zero_tensor(a, {2, 3, k}), zero_tensor(FormatId::s8, {2, k, 5})};
        Random random(static_cast<std::uint64_t>(k));
        for (Tensor* side : {&data.a, &data.b}) {
          for (std::int64_t p = 0; p < side->layout.count(); ++p)
            side->set_bits_at(p, random.below(4) == 0 ? 0x80 : random.next() & 0xff);
        }
        const GemmOperands operands = decode_operands(data.a, data.b, 2, zero);
        EXPECT_EQ(operands.row(1, 2)[0],
                  static_cast<float>(to_double(format(a), data.a.bits((1 * 3 + 2) * k)) -
                                     static_cast<double>(zero.a)));
        expect_exact(operands);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ShortProducts, AllProductsOfOneSignFillTheRange) {
  // -128 * -128 over 1024 is 2^24, the last sum that f32 holds for every order of additions.
  const std::int64_t k = 4096;
  Operands data = {zero_tensor(FormatId::s8, {1, 40, k}), zero_tensor(FormatId::s8, {1, k, 40})};
  for (Tensor* side : {&data.a, &data.b}) {
    for (std::int64_t p = 0; p < side->layout.count(); ++p)
      side->set_bits_at(p, p % 511 == 0 ? 0x81 : 0x80);
  }
  expect_exact(decode_operands(data.a, data.b, 1));
}

TEST(ShortProducts, TheLibraryMultipliesFloatsAsIeeeDoes) {
  EXPECT_TRUE(blas_f32_self_test().ok());
}

TEST(ShortProducts, FarSmallerUnitsThanF32HoldsAreLeftToFp64) {
  // 1 or 2 in units of 2^-133: products in units of 2^-266 would vanish in f32.
  const Operands data = make_operands(FormatId::bf16, Kind::subnormal, 1, 5, 6, 300, 8);
  const GemmOperands operands = decode_operands(data.a, data.b, 1);
  expect_exact(operands);
  EXPECT_NE(gemm_sums(operands, 1).hi[3], 0);
}

}  // namespace
}  // namespace plumbline
