// SPDX-License-Identifier: MIT
// The split FP64 product against the superaccumulator, on every element of many small products:
// bounds never violated, claims of exactness exact, the same bits on any number of threads.
#include "oracles/exact/gemm_sums.h"
#include "oracles/exact/dyadic.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/oracles/exact/test_data.h"

namespace plumbline {
namespace {

struct Tally {
  std::int64_t elements = 0, exact = 0;
};

void check_enclosures(const GemmOperands& operands, const SumEnclosures& sums, Tally& tally) {
  const std::int64_t m = operands.m, n = operands.n;
  ASSERT_EQ(sums.hi.size(), static_cast<std::size_t>(operands.batch * m * n));
  ASSERT_EQ(sums.lo.size(), sums.hi.size());
  ASSERT_EQ(sums.bound.size(), sums.hi.size());
  for (std::int64_t z = 0; z < operands.batch; ++z) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t at = (z * m + i) * n + j;
        const Dyadic exact = exact_dot(operands.row(z, i), operands.column(z, j), operands.k);
        const Dyadic error = Dyadic(sums.hi[at]) + Dyadic(sums.lo[at]) - exact;
        ASSERT_FALSE(Dyadic(sums.bound[at]) < error.abs())
            << "element " << at << ": error " << error.nearest_double() << ", bound "
            << sums.bound[at];
        ++tally.elements;
        tally.exact += sums.bound[at] == 0;
      }
    }
  }
}

Tally check_kind(FormatId id, Kind kind, std::int64_t batch, std::int64_t m, std::int64_t n,
                 std::int64_t k, std::uint64_t seed) {
  const Operands data = make_operands(id, kind, batch, m, n, k, seed);
  const GemmOperands operands = decode_operands(data.a, data.b, 1);
  Tally tally;
  check_enclosures(operands, gemm_sums(operands, 2), tally);
  return tally;
}

TEST(GemmSums, EnclosuresHoldOnEveryKindOfData) {
  std::uint64_t seed = 1;
  for (const FormatId id :
       {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2, FormatId::f32}) {
    for (const Kind kind : kKinds) {
      for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                    {3, 5, 2},
                                    {17, 9, 64},
                                    {8, 24, 257},
                                    {13, 11, 1000}}) {
        SCOPED_TRACE(testing::Message() << format(id).name << " kind " << int(kind) << " " << m
                                        << "x" << n << "x" << k);
        check_kind(id, kind, 1, m, n, k, seed++);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GemmSums, RealisticDataIsExactThroughout) {
  for (const FormatId id : {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2}) {
    for (const Kind kind : {Kind::normal, Kind::uniform, Kind::positive, Kind::integers,
                            Kind::one_hot, Kind::zero_rows}) {
      const Tally tally = check_kind(id, kind, 1, 24, 24, 1500, 7);
      EXPECT_EQ(tally.exact, tally.elements) << format(id).name << " kind " << int(kind);
    }
  }
}

TEST(GemmSums, AnExactSideLeavesItsBitsToTheOther) {
  // One-hot rows need 1 bit; f32 data with 40 bits of range then need no remainder at all.
  const Operands one_hot = make_operands(FormatId::f32, Kind::one_hot, 1, 9, 1, 60, 3);
  const Operands wide = make_operands(FormatId::f32, Kind::normal, 1, 1, 7, 60, 4);
  const GemmOperands operands = decode_operands(one_hot.a, wide.b, 1);
  const SumEnclosures sums = gemm_sums(operands, 1);
  for (std::int64_t i = 0; i < 9; ++i) {
    for (std::int64_t j = 0; j < 7; ++j) {
      EXPECT_EQ(sums.hi[i * 7 + j], operands.column(0, j)[i]);
      EXPECT_EQ(sums.lo[i * 7 + j], 0);
      EXPECT_EQ(sums.bound[i * 7 + j], 0);
    }
  }
}

TEST(GemmSums, ParallelRowsOfLargestNormStayExact) {
  // Rows just below a power of two in norm, every product of one sign: Cauchy-Schwarz with
  // equality.
  Operands data = make_operands(FormatId::f32, Kind::positive, 1, 6, 6, 1024, 3);
  Random random(4);
  for (Tensor* side : {&data.a, &data.b}) {
    for (std::int64_t i = 0; i < side->layout.count(); ++i) {
      side->set_bits_at(i, encode(format(FormatId::f32), 1 - random.unit() / 64));
    }
  }
  Tally tally;
  const GemmOperands operands = decode_operands(data.a, data.b, 1);
  check_enclosures(operands, gemm_sums(operands, 1), tally);
  EXPECT_EQ(tally.elements, 36);
}

TEST(GemmSums, BlocksOfRowsColumnsAndDepthJoinUp) {
  Tally tally;
  for (const Kind kind : {Kind::normal, Kind::outliers, Kind::all_bits}) {
    for (const auto& [m, n, k] :
         {std::array<std::int64_t, 3>{1030, 3, 40}, {3, 4100, 20}, {5, 6, 4200}}) {
      const Operands data = make_operands(FormatId::bf16, kind, 1, m, n, k, 11);
      const GemmOperands operands = decode_operands(data.a, data.b, 2);
      check_enclosures(operands, gemm_sums(operands, 2), tally);
    }
  }
}

TEST(GemmSums, OneSideDenseTheOtherSparseInRemainders) {
  // Over 2,000 products normal data have a few low parts, data of any bits almost only low parts.
  for (const bool wide_left : {false, true}) {
    const Operands normal = make_operands(FormatId::bf16, Kind::normal, 1, 40, 30, 2000, 5);
    const Operands wide = make_operands(FormatId::bf16, Kind::all_bits, 1, 40, 30, 2000, 6);
    const GemmOperands operands =
        decode_operands(wide_left ? wide.a : normal.a, wide_left ? normal.b : wide.b, 1);
    Tally tally;
    check_enclosures(operands, gemm_sums(operands, 1), tally);
  }
}

TEST(GemmSums, TheBitsDoNotDependOnTheNumberOfThreads) {
  for (const auto& [batch, m, n, k] :
       {std::array<std::int64_t, 4>{1, 1100, 70, 300}, {5, 40, 30, 70}, {2, 520, 16, 2500}}) {
    for (const Kind kind : {Kind::normal, Kind::outliers, Kind::all_bits}) {
      const Operands data = make_operands(FormatId::bf16, kind, batch, m, n, k, 21);
      const GemmOperands operands = decode_operands(data.a, data.b, 1);
      EXPECT_EQ(decode_operands(data.a, data.b, 3).a, operands.a);
      const SumEnclosures one = gemm_sums(operands, 1);
      for (const int threads : {2, 3, 7}) {
        const SumEnclosures many = gemm_sums(operands, threads);
        EXPECT_EQ(many.hi, one.hi);
        EXPECT_EQ(many.lo, one.lo);
        EXPECT_EQ(many.bound, one.bound);
      }
    }
  }
}

TEST(GemmSums, BatchesAndBroadcastOperands) {
  Tally tally;
  const Operands data = make_operands(FormatId::bf16, Kind::outliers, 3, 6, 5, 40, 31);
  for (const bool same_a : {false, true}) {
    for (const bool same_b : {false, true}) {
      Tensor a = data.a, b = data.b;
      if (same_a) a.layout.strides[0] = 0;
      if (same_b) b.layout.strides[0] = 0;
      const GemmOperands operands = decode_operands(a, b, 1);
      check_enclosures(operands, gemm_sums(operands, 2), tally);
    }
  }
  EXPECT_EQ(tally.elements, 4 * 3 * 6 * 5);
}

TEST(GemmSums, EmptySumsAreZeroAndEmptyOutputsEmpty) {
  for (const auto& [batch, m, n, k] :
       {std::array<std::int64_t, 4>{0, 2, 3, 4}, {2, 0, 3, 4}, {2, 3, 0, 4}, {2, 3, 4, 0}}) {
    const Operands data = make_operands(FormatId::bf16, Kind::subnormal, batch, m, n, k, 1);
    const GemmOperands operands = decode_operands(data.a, data.b, 1);
    for (const SumEnclosures& sums :
         {gemm_sums(operands, 2), gemm_sums_without_blas(operands, 2)}) {
      EXPECT_EQ(sums.hi, ZeroedVector<double>(batch * m * n));
      EXPECT_EQ(sums.bound, ZeroedVector<double>(batch * m * n));
    }
  }
}

TEST(GemmSums, TheWayWithoutBlasHoldsTheSamePromise) {
  Tally tally;
  for (const Kind kind : kKinds) {
    const Operands data = make_operands(FormatId::bf16, kind, 2, 5, 6, 90, 41);
    const GemmOperands operands = decode_operands(data.a, data.b, 1);
    check_enclosures(operands, gemm_sums_without_blas(operands, 2), tally);
  }
  EXPECT_GT(tally.exact, tally.elements / 2);
}

TEST(GemmSums, NonFiniteElementsCountAsZero) {
  Operands data = make_operands(FormatId::bf16, Kind::normal, 1, 2, 2, 8, 51);
  data.a.set_bits(3, 0x7fc0);
  data.b.set_bits(5, 0xff80);
  const GemmOperands operands = decode_operands(data.a, data.b, 1);
  EXPECT_TRUE(operands.a_special[0] && !operands.a_special[1] && !operands.b_special[0] &&
              operands.b_special[1]);
  Tally tally;
  check_enclosures(operands, gemm_sums(operands, 1), tally);
}

}  // namespace
}  // namespace plumbline
