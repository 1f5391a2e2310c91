// SPDX-License-Identifier: MIT
// With every row of A and column of B split as in row_split.h,
//   A B = Ah Bh + (Al Bh + A Bl),
// hi is the first product, exact, and lo the bracket in ordinary FP64 arithmetic, some 26 bits
// below. Realistic 16-bit data have few low parts (10^-4 of the elements): those are added one by
// one; otherwise lo costs two more products.
//
// The bound of lo. Its terms are exact products of two f32 numbers, t = c_A + c_B of them for an
// element, where c counts the non-zero low parts of its row and its column. Adding t numbers in any
// order loses at most (t - 1) u sum |terms| (Jeannerod & Rump 2013; u = 2^-53), and by
// Cauchy-Schwarz sum |terms| <= |Al| |Bh| + |A| |Bl| in 2-norms. The loss is 0 when t <= 1, and
// when that sum is at most 2^53 times the lattice of the terms: then every partial sum is an FP64
// number. (|Al|, |Bl| = 0 is the case t = 0.)
//
// Where all sums of whole products are exact nothing is split: the norms say so for e4m3 up to
// K = 171,196 and for any realistic 8-bit data. And where the elements are short integers in units
// of a row's lattice (int8), sums over some hundred of k are exact in f32 already, which is twice
// as fast.
//
// Work is cut into blocks of fixed sizes, each added up by one thread in a fixed order, so the bits
// do not depend on the number of threads. hi does not depend on anything; lo where bound > 0 may
// differ between processors for which OpenBLAS has different kernels.
#include "oracles/exact/gemm_sums.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "oracles/base/large_pages.h"
#include "oracles/exact/blas.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_split.h"
#include "oracles/exact/parallel.h"

namespace plumbline {
namespace {

constexpr std::int64_t kRows = 512;          // of A in one task
constexpr std::int64_t kColumns = 2048;      // of B, split once for all tasks
constexpr std::int64_t kDepth = 2048;        // of k at a time
constexpr std::int64_t kShortColumns = 512;  // of B in one f32 product

// One product; hi and lo are zero on entry. bound is null where all bounds are 0.
void add_sums(const Side& a, const Side& b, int threads, double* hi, double* lo, double* bound) {
  const std::int64_t n = b.count, deepest = std::min(kDepth, b.k);
  SplitRows split_b;
  SplitRowsPool pool;
  for (std::int64_t left = 0; left < n; left += kColumns) {
    const Side panel = b.part(left, std::min(n, left + kColumns));
    for (std::int64_t begin = 0; begin < b.k; begin += kDepth) {
      const std::int64_t depth = std::min(kDepth, b.k - begin);
      split_rows(panel, begin, depth, std::min(n, kColumns) * deepest, threads, split_b);
      for_each_block(a.count, kRows, threads, [&](std::int64_t first, std::int64_t last) {
        const Side block = a.part(first, last);
        std::unique_ptr<SplitRows> split_a = pool.take();
        split_rows(block, begin, depth, std::min(a.count, kRows) * deepest, 1, *split_a);
        const std::int64_t at = first * n + left;
        add_block(block, *split_a, panel.count, split_b, begin, depth, hi + at, lo + at, n);
        pool.give_back(std::move(split_a));
      });
    }
  }
  if (bound == nullptr) return;
  for_each_block(a.count, 64, threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const double lost = bound_of(a.splits[i], b.splits[j]);
        if (lost > 0) bound[i * n + j] = lost;  // pages of zeros are left alone
      }
    }
  });
}

// The k over which sums of products of short integers (in units of their lattices) are exact in
// f32, in any order; 0 where that is too short to be worth it.
std::int64_t exact_f32_depth(const OperandSplits& splits, std::int64_t k) {
  if (!splits.whole || !blas_f32_self_test()) return 0;
  double longest_a = 0, longest_b = 0, smallest = 1, largest = 1;
  const auto look_at = [&](const std::vector<RowScale>& scales, double& longest) {
    double low = 1, high = 1;
    for (const RowScale& scale : scales) {
      if (scale.norm == 0) continue;
      const double lattice = std::ldexp(1.0, scale.lattice);
      longest = std::max(longest, scale.largest / lattice);
      low = std::min(low, lattice);
      high = std::max(high, scale.norm);
    }
    smallest *= low;
    largest *= high;
  };
  look_at(splits.a_scales, longest_a);
  look_at(splits.b_scales, longest_b);
  if (smallest < 0x1p-126 || largest > 0x1p126) return 0;
  const double depth = 0x1p24 / std::max(longest_a * longest_b, 1.0);
  constexpr std::int64_t kShortest = 256, kLongest = 1024;
  if (depth >= static_cast<double>(kLongest)) return kLongest;
  return depth >= static_cast<double>(kShortest) ? static_cast<std::int64_t>(depth) / 32 * 32
         : depth >= static_cast<double>(k)       ? std::max<std::int64_t>(k, 1)
                                                 : 0;
}

// hi += A B by f32 products of `depth` of k at a time, each exact.
void add_f32_sums(const Side& a, const Side& b, std::int64_t depth, int threads, double* hi) {
  const std::int64_t n = b.count;
  for_each_block(a.count, kRows, threads, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t rows = last - first, width = std::min(n, kShortColumns);
    const auto part = std::make_unique_for_overwrite<float[]>(rows * width);
    for (std::int64_t left = 0; left < n; left += width) {
      const std::int64_t columns = std::min(width, n - left);
      for (std::int64_t begin = 0; begin < a.k; begin += depth) {
        product_f32(rows, columns, std::min(depth, a.k - begin), a.row(first) + begin, a.k,
                    b.row(left) + begin, b.k, part.get(), columns);
        for (std::int64_t i = 0; i < rows; ++i)
          add_floats(part.get() + i * columns, columns, hi + (first + i) * n + left);
      }
    }
  });
}

SumEnclosures zero_sums(const GemmOperands& operands) {
  SumEnclosures out;
  const std::int64_t count = operands.batch * operands.m * operands.n;
  out.hi.resize(count);
  out.lo.resize(count);
  out.bound.resize(count);
  return out;
}

}  // namespace

SumEnclosures gemm_sums(const GemmOperands& operands, int threads) {
  if (!blas_self_test()) return gemm_sums_without_blas(operands, threads);
  SumEnclosures out = zero_sums(operands);
  const std::int64_t m = operands.m, n = operands.n, k = operands.k;
  if (out.hi.empty() || k == 0) return out;

  const OperandSplits splits = split_operands(operands, threads);
  const std::int64_t short_depth = exact_f32_depth(splits, k);
  const auto sums_of_batch = [&](std::int64_t batch, int threads_within) {
    const std::int64_t first_a = operands.batch_a == 1 ? 0 : batch * m;
    const std::int64_t first_b = operands.batch_b == 1 ? 0 : batch * n;
    const Side a = {operands.a.data() + first_a * k, splits.a.data() + first_a, m, k};
    const Side b = {operands.b.data() + first_b * k, splits.b.data() + first_b, n, k};
    const std::int64_t first = batch * m * n;
    if (short_depth > 0) {
      add_f32_sums(a, b, short_depth, threads_within, out.hi.data() + first);
      return;
    }
    add_sums(a, b, threads_within, out.hi.data() + first, out.lo.data() + first,
             splits.whole ? nullptr : out.bound.data() + first);
  };
  // Many small products go side by side; a large one is cut into blocks.
  if (operands.batch > 1 && m <= kRows) {
    for_each_piece(operands.batch, threads, [&](std::int64_t batch) { sums_of_batch(batch, 1); });
  } else {
    for (std::int64_t batch = 0; batch < operands.batch; ++batch) sums_of_batch(batch, threads);
  }
  return out;
}

SumEnclosures gemm_sums_without_blas(const GemmOperands& operands, int threads) {
  SumEnclosures out = zero_sums(operands);
  const std::int64_t m = operands.m, n = operands.n;
  for_each_piece(operands.batch * m, threads, [&](std::int64_t row) {
    for (std::int64_t j = 0; j < n; ++j) {
      const Dyadic sum =
          exact_dot(operands.row(row / m, row % m), operands.column(row / m, j), operands.k);
      const std::int64_t index = row * n + j;
      out.hi[index] = sum.nearest_double();
      const Dyadic rest = sum - Dyadic(out.hi[index]);
      out.lo[index] = rest.nearest_double();
      const double missing = (rest - Dyadic(out.lo[index])).abs().nearest_double();
      out.bound[index] = missing == 0 ? 0 : missing * (1 + 0x1p-52);
    }
  });
  return out;
}

}  // namespace plumbline
