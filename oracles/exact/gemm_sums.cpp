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
// Work is cut into blocks of fixed sizes, each added up by one thread in a fixed order, so the bits
// do not depend on the number of threads. hi does not depend on anything; lo where bound > 0 may
// differ between processors for which OpenBLAS has different kernels.
#include "oracles/exact/gemm_sums.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "oracles/exact/blas.h"
#include "oracles/exact/large_pages.h"
#include "oracles/exact/parallel.h"
#include "oracles/exact/row_split.h"

namespace plumbline {
namespace {

constexpr std::int64_t kRows = 512;      // of A in one task
constexpr std::int64_t kColumns = 2048;  // of B, split once for all tasks
constexpr std::int64_t kDepth = 2048;    // of k at a time
constexpr int kBits = 26;
constexpr std::int64_t kSparse =
    200;  // fewer than one low part in 200 elements are added one by one

// Rows of A or columns of B with their splits.
struct Side {
  const float* values;
  const RowSplit* splits;
  std::int64_t count, k;

  const float* row(std::int64_t i) const { return values + i * k; }

  Side part(std::int64_t begin, std::int64_t end) const {
    return {row(begin), splits + begin, end - begin, k};
  }
};

struct LowPart {
  std::int64_t row, p;
  double value;
};

// Some rows over a stretch of k, split. The memory is kept for the next rows: touching new pages is
// a good part of the time that does not go into products.
struct SplitRows {
  Buffer high;               // high[i * depth + p]
  bool many = false;         // the low parts are
  Buffer low;                //   a matrix like high, or
  std::vector<LowPart> few;  //   these
};

class SplitRowsPool {
 public:
  std::unique_ptr<SplitRows> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<SplitRows>();
    std::unique_ptr<SplitRows> out = std::move(free_.back());
    free_.pop_back();
    return out;
  }

  void give_back(std::unique_ptr<SplitRows> rows) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(rows));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<SplitRows>> free_;
};

bool mostly_low(const Side& side) {
  std::int64_t low = 0;
  for (std::int64_t i = 0; i < side.count; ++i) low += side.splits[i].low_count;
  return low * kSparse >= side.count * side.k;
}

// Splits elements [begin, begin + depth) of all rows. `most` is the largest count * depth this
// `out` will ever be used for.
void split_rows(const Side& side, std::int64_t begin, std::int64_t depth, std::int64_t most,
                int threads, SplitRows& out) {
  out.many = mostly_low(side);
  out.few.clear();
  if (!out.high) out.high = make_buffer(most);
  if (out.many && !out.low) out.low = make_buffer(most);
  constexpr std::int64_t kBlock = 64;
  std::vector<std::vector<LowPart>> found((side.count + kBlock - 1) / kBlock);
  for_each_block(side.count, kBlock, threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const float* row = side.row(i) + begin;
      const RowSplit& split = side.splits[i];
      double* high = out.high.get() + i * depth;
      write_split(row, depth, split, high, out.many ? out.low.get() + i * depth : nullptr);
      if (out.many || split.low_count == 0) continue;
      for (std::int64_t p = 0; p < depth; ++p) {
        const double rest = row[p] - high[p];
        if (rest != 0) found[first / kBlock].push_back({i, p, rest});
      }
    }
  });
  for (const auto& block : found) out.few.insert(out.few.end(), block.begin(), block.end());
}

// lo += Al Bh for a few low parts of A; one column at a time, so that its high parts stay in cache.
void add_few_rows(const std::vector<LowPart>& few, const double* high_b, std::int64_t depth,
                  std::int64_t columns, double* lo, std::int64_t n) {
  for (std::int64_t j = 0; j < columns; ++j) {
    for (const LowPart& part : few) lo[part.row * n + j] += part.value * high_b[j * depth + part.p];
  }
}

// lo += A Bl for a few low parts of B.
void add_few_columns(const std::vector<LowPart>& few, const float* row, double* lo) {
  for (const LowPart& part : few) lo[part.row] += part.value * row[part.p];
}

// One block of rows of A against one panel of columns of B over one stretch of k. hi and lo point
// at the block's first element and have row length n.
void add_block(const Side& a, SplitRows& split_a, std::int64_t columns, const SplitRows& split_b,
               std::int64_t begin, std::int64_t depth, double* hi, double* lo, std::int64_t n) {
  const double* high_b = split_b.high.get();
  const auto add = [&](const double* left, const double* right, double* to) {
    add_product(a.count, columns, depth, left, depth, right, depth, to, n);
  };
  add(split_a.high.get(), high_b, hi);
  if (split_a.many) add(split_a.low.get(), high_b, lo);
  add_few_rows(split_a.few, high_b, depth, columns, lo, n);
  if (split_b.many) {
    double* whole = split_a.high.get();  // not needed any more
    for (std::int64_t i = 0; i < a.count; ++i)
      write_whole(a.row(i) + begin, depth, whole + i * depth);
    add(whole, split_b.low.get(), lo);
  }
  if (split_b.few.empty()) return;
  for (std::int64_t i = 0; i < a.count; ++i)
    add_few_columns(split_b.few, a.row(i) + begin, lo + i * n);
}

double bound_of(const RowSplit& a, const RowSplit& b) {
  const std::int64_t terms = a.low_count + b.low_count;
  if (terms <= 1) return 0;
  // Rounded five times, hence the factor.
  const double magnitudes = (a.low_norm * b.high_norm + a.norm * b.low_norm) * (1 + 0x1p-40);
  if (magnitudes <= 0x1p53 * (a.lattice * b.lattice)) return 0;
  return static_cast<double>(terms) * 0x1p-53 * magnitudes;
}

// One product; hi and lo are zero on entry.
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
  for_each_block(a.count, 64, threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t j = 0; j < n; ++j) bound[i * n + j] = bound_of(a.splits[i], b.splits[j]);
    }
  });
}

std::vector<RowScale> scales_of(const std::vector<float>& values, std::int64_t rows, std::int64_t k,
                                int threads) {
  std::vector<RowScale> out(rows);
  for_each_block(rows, 64, threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) out[i] = scale_of(values.data() + i * k, k);
  });
  return out;
}

int bits_needed(const std::vector<RowScale>& scales) {
  int bits = 0;
  for (const RowScale& scale : scales) bits = std::max(bits, scale.bits());
  return bits;
}

std::vector<RowSplit> splits_of(const std::vector<float>& values,
                                const std::vector<RowScale>& scales, std::int64_t k, int bits,
                                int threads) {
  std::vector<RowSplit> out(scales.size());
  for_each_block(static_cast<std::int64_t>(out.size()), 64, threads,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t i = first; i < last; ++i)
                     out[i] = split_of(values.data() + i * k, k, scales[i], bits);
                 });
  return out;
}

// What a side may use of the 52 bits when the other needs `needed`.
int bits_beside(int needed) { return needed >= kBits ? kBits : std::min(50, 2 * kBits - needed); }

SumEnclosures zero_sums(const GemmOperands& operands) {
  SumEnclosures out;
  const std::int64_t count = operands.batch * operands.m * operands.n;
  fill_with_zeros(out.hi, count);
  fill_with_zeros(out.lo, count);
  fill_with_zeros(out.bound, count);
  return out;
}

}  // namespace

SumEnclosures gemm_sums(const GemmOperands& operands, int threads) {
  if (!blas_self_test()) return gemm_sums_without_blas(operands, threads);
  SumEnclosures out = zero_sums(operands);
  const std::int64_t m = operands.m, n = operands.n, k = operands.k;
  if (out.hi.empty() || k == 0) return out;

  const auto scales_a = scales_of(operands.a, operands.batch_a * m, k, threads);
  const auto scales_b = scales_of(operands.b, operands.batch_b * n, k, threads);
  const int needed_a = bits_needed(scales_a), needed_b = bits_needed(scales_b);
  const auto splits_a = splits_of(operands.a, scales_a, k, bits_beside(needed_b), threads);
  const auto splits_b = splits_of(operands.b, scales_b, k, bits_beside(needed_a), threads);

  const auto sums_of_batch = [&](std::int64_t batch, int threads_within) {
    const std::int64_t first_a = operands.batch_a == 1 ? 0 : batch * m;
    const std::int64_t first_b = operands.batch_b == 1 ? 0 : batch * n;
    const Side a = {operands.a.data() + first_a * k, splits_a.data() + first_a, m, k};
    const Side b = {operands.b.data() + first_b * k, splits_b.data() + first_b, n, k};
    const std::int64_t first = batch * m * n;
    add_sums(a, b, threads_within, out.hi.data() + first, out.lo.data() + first,
             out.bound.data() + first);
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
