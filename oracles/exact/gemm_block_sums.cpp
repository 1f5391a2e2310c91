// SPDX-License-Identifier: MIT
// Each interval of k is a split product as in gemm_sums.cpp: P = p + l + error, with p exact in
// FP64, l some 26 bits below (0 where nothing is split) and the error within that file's bound.
// A factor s has 24 bits; p is cut into 26 high bits and the rest, so that s * high and s * rest
// are exact. Then
//   hi += s * high   with what the addition lost going to lo (Knuth's TwoSum, exact),
//   lo += s * rest + lost + s * l,
// and only the additions to lo, 25 bits below, and s * l round.
//
// Scales of few bits (MX formats, NVFP4) multiply the operands themselves, where nothing overflows
// or loses bits: then an ordinary product is left, one instead of one per interval.
//
// The bound. Let S be the largest |s|, N = |a_i| |b_j| in 2-norms, so that sum |s p| <= S N for the
// whole row, and L >= sum |l| (low_magnitude). What enters lo adds up to at most
//   M = 2^-25 S N + blocks u S N + S L,   u = 2^-53,
// in 3 additions a block, each within u M (1 + small), and s * l rounds within u S L; the products'
// own bounds add up to at most S * blocks * bound_of. Nothing rounds where everything is a multiple
// of some g with M <= 2^53 g, and s * l is exact for L <= 2^29 lattices: g = lattice of the
// products times a power of two that divides every factor.
#include "oracles/exact/gemm_block_sums.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "oracles/base/assert.h"
#include "oracles/exact/blas.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_split.h"
#include "oracles/exact/parallel.h"
#include "oracles/exact/per_processor.h"

namespace plumbline {
namespace {

constexpr std::int64_t kRows = 256;     // of A in one task
constexpr std::int64_t kColumns = 256;  // of B, split once for all tasks

// factors[j] is the product of the two scales, 0 where that is not finite. Written without
// branches, so that it becomes vector instructions.
PLUMBLINE_PER_PROCESSOR
void multiply_scales(float scale, const float* scales, ScaleProducts products, std::int64_t count,
                     double* factors) {
  if (products == ScaleProducts::exact) {
    for (std::int64_t j = 0; j < count; ++j) {
      const double factor = scale_product(products, scale, scales[j]);
      factors[j] = std::isfinite(factor) ? factor : 0;
    }
    return;
  }
  const std::uint32_t least = products == ScaleProducts::f32_flushed ? 0x00800000u : 0;
  for (std::int64_t j = 0; j < count; ++j) {
    const auto bits = std::bit_cast<std::uint32_t>(scale * scales[j]);
    const std::uint32_t exponent = bits & 0x7f800000u;
    const std::uint32_t lost = exponent == 0x7f800000u || exponent < least ? ~0u : 0u;
    factors[j] = static_cast<double>(std::bit_cast<float>(bits & ~lost));
  }
}

// hi + lo += factors[j] * p[j].
PLUMBLINE_PER_PROCESSOR
void add_scaled(const double* __restrict factors, const double* __restrict p, std::int64_t count,
                double* __restrict hi, double* __restrict lo) {
  constexpr std::uint64_t kHighBits = ~((std::uint64_t{1} << 27) - 1);
  for (std::int64_t j = 0; j < count; ++j) {
    const double high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(p[j]) & kHighBits);
    const double scaled = factors[j] * high, rest = factors[j] * (p[j] - high);
    const double old = hi[j], sum = old + scaled, part = sum - old;
    hi[j] = sum;
    lo[j] += ((old - (sum - part)) + (scaled - part)) + rest;
  }
}

// lo += factors[j] * low[j].
PLUMBLINE_PER_PROCESSOR
void add_scaled_low(const double* __restrict factors, const double* __restrict low,
                    std::int64_t count, double* __restrict lo) {
  for (std::int64_t j = 0; j < count; ++j) lo[j] += factors[j] * low[j];
}

// Of the finite, non-zero scales of one row or column over all blocks.
struct ScaleRange {
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  double lowest_bit = std::numeric_limits<double>::infinity();  // divides all of them
  int bits = 0;                                                 // the most that any of them has

  void add(float scale) {
    if (scale == 0 || !std::isfinite(scale)) return;
    const double x = std::fabs(static_cast<double>(scale));
    largest = std::max(largest, x);
    smallest = std::min(smallest, x);
    int exponent = 0;
    const auto significand = static_cast<std::uint32_t>(std::ldexp(std::frexp(x, &exponent), 24));
    bits = std::max(bits, 24 - std::countr_zero(significand));
    lowest_bit =
        std::min(lowest_bit, std::ldexp(1.0, exponent - 24 + std::countr_zero(significand)));
  }
};

std::vector<ScaleRange> ranges_of(const std::vector<float>& scales, std::int64_t count) {
  std::vector<ScaleRange> out(static_cast<std::size_t>(count));
  for (std::size_t at = 0; at < scales.size(); ++at)
    out[at % static_cast<std::size_t>(count)].add(scales[at]);
  return out;
}

// out[p] = x[p] * scale; whether that was exact.
PLUMBLINE_PER_PROCESSOR
bool scale_exactly(const float* x, float scale, std::int64_t count, float* out) {
  std::uint32_t inexact = 0;
  for (std::int64_t p = 0; p < count; ++p) {
    const float scaled = x[p] * scale;
    const double exact = static_cast<double>(x[p]) * static_cast<double>(scale);
    inexact |= static_cast<double>(scaled) != exact ? 1u : 0u;
    out[p] = scaled;
  }
  return inexact == 0;
}

// Vectors of one side with their scales multiplied in; false where that loses anything.
bool fold_scales(const std::vector<float>& vectors, const std::vector<float>& scales,
                 std::int64_t per_batch, std::int64_t k, std::int64_t depth, int threads,
                 std::vector<float>& out) {
  const std::int64_t count = static_cast<std::int64_t>(vectors.size()) / k;
  fill_with_zeros(out, count * k);
  std::atomic<bool> exact = true;
  for_each_block(count, 64, threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t v = first; v < last; ++v) {
      for (std::int64_t begin = 0; begin < k; begin += depth) {
        const float scale =
            scales[static_cast<std::size_t>(begin / depth * per_batch + v % per_batch)];
        if (scale == 0 || !std::isfinite(scale)) continue;
        const std::int64_t at = v * k + begin;
        if (!scale_exactly(vectors.data() + at, scale, std::min(depth, k - begin), out.data() + at))
          exact = false;
      }
    }
  });
  return exact;
}

// Whether every factor is the exact product of its scales: two of few bits, far from the ends of
// f32's range.
bool may_fold(const std::vector<ScaleRange>& a, const std::vector<ScaleRange>& b) {
  const auto tame = [](const ScaleRange& range) {
    return range.bits <= 12 &&
           (range.largest == 0 || (range.largest <= 0x1p60 && range.smallest >= 0x1p-60));
  };
  return std::all_of(a.begin(), a.end(), tame) && std::all_of(b.begin(), b.end(), tame);
}

double block_bound(const RowSplit& a, const RowSplit& b, const ScaleRange& scale_a,
                   const ScaleRange& scale_b, double blocks, ScaleProducts scale_products) {
  if (a.norm == 0 || b.norm == 0 || scale_a.largest == 0 || scale_b.largest == 0) return 0;
  constexpr double kUp = 1 + 0x1p-20;
  const double most = scale_a.largest * scale_b.largest * kUp + 0x1p-149;
  const double low = most * low_magnitude(a, b);
  const double products = bound_of(a, b);
  const double entering = (0x1p-25 + blocks * 0x1p-53) * most * (a.norm * b.norm) * kUp + low;
  const double least = scale_a.smallest * scale_b.smallest;
  // A factor is a multiple of the product of its scales' lowest bits, and of its own ulp where it
  // was rounded.
  double unit = scale_a.lowest_bit * scale_b.lowest_bit;
  if (scale_products != ScaleProducts::exact) {
    unit =
        std::max({unit, 0x1p-149, least < 0x1p-126 ? 0 : std::ldexp(1.0, std::ilogb(least) - 23)});
  }
  const double lattice = a.lattice * b.lattice;
  const bool exact =
      products == 0 && low <= 0x1p29 * most * lattice && entering <= 0x1p53 * unit * lattice;
  if (exact) return 0;
  return ((3 * blocks + 4) * 0x1p-53 * entering + most * blocks * products) * kUp;
}

}  // namespace

SumEnclosures gemm_block_sums(const GemmOperands& operands, const BlockScales& scales,
                              int threads) {
  const std::int64_t m = operands.m, n = operands.n, k = operands.k;
  PLUMB_ASSERT(scales.m == m && scales.n == n && scales.depth * scales.blocks >= k);
  SumEnclosures out;
  out.hi.resize(operands.batch * m * n);
  out.lo.resize(operands.batch * m * n);
  out.bound.resize(operands.batch * m * n);
  if (out.hi.empty() || k == 0) return out;
  if (!blas_self_test()) {
    for_each_piece(operands.batch * m * n, threads, [&](std::int64_t at) {
      const std::int64_t batch = at / (m * n), i = at / n % m, j = at % n;
      const Dyadic sum = exact_block_dot(operands.row(batch, i), operands.column(batch, j), k,
                                         scales.depth, scales.factors(i, j));
      out.hi[at] = sum.nearest_double();
      const Dyadic rest = sum - Dyadic(out.hi[at]);
      out.lo[at] = rest.nearest_double();
      const double missing = (rest - Dyadic(out.lo[at])).abs().nearest_double();
      out.bound[at] = missing == 0 ? 0 : missing * (1 + 0x1p-52);
    });
    return out;
  }

  const std::vector<ScaleRange> ranges_a = ranges_of(scales.a, m),
                                ranges_b = ranges_of(scales.b, n);
  if (scales.products == ScaleProducts::exact || may_fold(ranges_a, ranges_b)) {
    GemmOperands folded;
    folded.m = m;
    folded.n = n;
    folded.k = k;
    folded.batch = operands.batch;
    folded.batch_a = operands.batch_a;
    folded.batch_b = operands.batch_b;
    if (fold_scales(operands.a, scales.a, m, k, scales.depth, threads, folded.a) &&
        fold_scales(operands.b, scales.b, n, k, scales.depth, threads, folded.b)) {
      return gemm_sums(folded, threads);
    }
  }
  const OperandSplits splits = split_operands(operands, threads);
  const std::int64_t depth = std::min(scales.depth, k);
  std::vector<SplitRows> panel_blocks(static_cast<std::size_t>(scales.blocks));
  SplitRowsPool pool;
  const auto blocks_of_panel = [&](const Side& panel) {
    for_each_piece(scales.blocks, threads, [&](std::int64_t block) {
      const std::int64_t begin = block * depth;
      if (begin >= k) return;
      split_rows(panel, begin, std::min(depth, k - begin), std::min(n, kColumns) * depth, 1,
                 panel_blocks[static_cast<std::size_t>(block)]);
    });
  };
  const auto add_tile = [&](const Side& rows, std::int64_t first, std::int64_t left,
                            std::int64_t columns, double* hi, double* lo) {
    std::unique_ptr<SplitRows> split = pool.take();
    std::vector<double> p(rows.count * columns), low(splits.whole ? 0 : p.size());
    std::vector<double> factors(columns);
    for (std::int64_t block = 0; block * depth < k; ++block) {
      const std::int64_t begin = block * depth, length = std::min(depth, k - begin);
      split_rows(rows, begin, length, std::min(m, kRows) * depth, 1, *split);
      std::fill(p.begin(), p.end(), 0.0);
      std::fill(low.begin(), low.end(), 0.0);
      add_block(rows, *split, columns, panel_blocks[static_cast<std::size_t>(block)], begin, length,
                p.data(), low.data(), columns);
      const float* scales_b = scales.b.data() + block * n + left;
      for (std::int64_t i = 0; i < rows.count; ++i) {
        const float scale = scales.a[static_cast<std::size_t>(block * m + first + i)];
        multiply_scales(scale, scales_b, scales.products, columns, factors.data());
        add_scaled(factors.data(), p.data() + i * columns, columns, hi + i * n, lo + i * n);
        if (!splits.whole)
          add_scaled_low(factors.data(), low.data() + i * columns, columns, lo + i * n);
      }
    }
    pool.give_back(std::move(split));
  };
  for (std::int64_t batch = 0; batch < operands.batch; ++batch) {
    const std::int64_t first_a = operands.batch_a == 1 ? 0 : batch * m;
    const std::int64_t first_b = operands.batch_b == 1 ? 0 : batch * n;
    const Side a = {operands.a.data() + first_a * k, splits.a.data() + first_a, m, k};
    const Side b = {operands.b.data() + first_b * k, splits.b.data() + first_b, n, k};
    for (std::int64_t left = 0; left < n; left += kColumns) {
      const Side panel = b.part(left, std::min(n, left + kColumns));
      blocks_of_panel(panel);
      for_each_block(m, kRows, threads, [&](std::int64_t first, std::int64_t last) {
        const std::int64_t at = (batch * m + first) * n + left;
        add_tile(a.part(first, last), first, left, panel.count, out.hi.data() + at,
                 out.lo.data() + at);
        for (std::int64_t i = first; i < last; ++i) {
          for (std::int64_t j = left; j < left + panel.count; ++j) {
            const double bound =
                block_bound(a.splits[i], b.splits[j], ranges_a[static_cast<std::size_t>(i)],
                            ranges_b[static_cast<std::size_t>(j)],
                            static_cast<double>(scales.blocks), scales.products);
            if (bound > 0) out.bound[(batch * m + i) * n + j] = bound;
          }
        }
      });
    }
  }
  return out;
}

Dyadic exact_block_dot(const float* row, const float* column, std::int64_t k, std::int64_t depth,
                       std::span<const double> factors) {
  Dyadic sum;
  for (std::int64_t begin = 0; begin < k; begin += depth) {
    const double factor = factors[static_cast<std::size_t>(begin / depth)];
    if (factor == 0 || !std::isfinite(factor)) continue;
    sum = sum + Dyadic(factor) * exact_dot(row + begin, column + begin, std::min(depth, k - begin));
  }
  return sum;
}

}  // namespace plumbline
