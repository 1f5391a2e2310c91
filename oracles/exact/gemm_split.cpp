// SPDX-License-Identifier: MIT
#include "oracles/exact/gemm_split.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/exact/blas.h"
#include "oracles/exact/ordered_product.h"
#include "oracles/exact/parallel.h"

namespace plumbline {
namespace {

constexpr int kBits = 26;
constexpr std::int64_t kSparse =
    200;  // fewer than one low part in 200 elements are added one by one

bool mostly_low(const Side& side) {
  std::int64_t low = 0;
  for (std::int64_t i = 0; i < side.count; ++i) low += side.splits[i].low_count;
  return low * kSparse >= side.count * side.k;
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

// norm / lattice: a row's length in units of its own lattice.
double longest(const std::vector<RowScale>& scales) {
  double most = 0;
  for (const RowScale& scale : scales) {
    if (scale.norm > 0) most = std::max(most, std::ldexp(scale.norm, -scale.lattice));
  }
  return most;
}

std::vector<RowSplit> whole_rows(const std::vector<RowScale>& scales) {
  std::vector<RowSplit> out(scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) out[i] = whole_split(scales[i]);
  return out;
}

}  // namespace

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

void add_block(const Side& a, SplitRows& split_a, std::int64_t columns, const SplitRows& split_b,
               std::int64_t begin, std::int64_t depth, double* hi, double* lo, std::int64_t n) {
  const double* high_b = split_b.high.get();
  // The first is exact in any order of additions. What the others round is in the bounds, and has
  // to be the same on every machine.
  add_product(a.count, columns, depth, split_a.high.get(), depth, high_b, depth, hi, n);
  const auto add = [&](const double* left, const double* right, double* to) {
    add_ordered_product(a.count, columns, depth, left, depth, right, depth, to, n);
  };
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

double low_magnitude(const RowSplit& a, const RowSplit& b) {
  // Rounded three times, hence the factor.
  return (a.low_norm * b.high_norm + a.norm * b.low_norm) * (1 + 0x1p-40);
}

double bound_of(const RowSplit& a, const RowSplit& b) {
  const std::int64_t terms = a.low_count + b.low_count;
  if (terms <= 1) return 0;
  const double magnitudes = low_magnitude(a, b);
  if (magnitudes <= 0x1p53 * (a.lattice * b.lattice)) return 0;
  return static_cast<double>(terms) * 0x1p-53 * magnitudes;
}

OperandSplits split_operands(const GemmOperands& operands, int threads) {
  OperandSplits out;
  const std::int64_t k = operands.k;
  out.a_scales = scales_of(operands.a, operands.batch_a * operands.m, k, threads);
  out.b_scales = scales_of(operands.b, operands.batch_b * operands.n, k, threads);
  // By Cauchy-Schwarz no partial sum of products exceeds the product of the norms; all are
  // multiples of the product of the lattices.
  out.whole = longest(out.a_scales) * longest(out.b_scales) <= 0x1p53 * (1 - 0x1p-40);
  if (out.whole) {
    out.a = whole_rows(out.a_scales);
    out.b = whole_rows(out.b_scales);
    return out;
  }
  const int needed_a = bits_needed(out.a_scales), needed_b = bits_needed(out.b_scales);
  out.a = splits_of(operands.a, out.a_scales, k, bits_beside(needed_b), threads);
  out.b = splits_of(operands.b, out.b_scales, k, bits_beside(needed_a), threads);
  return out;
}

}  // namespace plumbline
