// SPDX-License-Identifier: MIT
// Vectors run over the columns of the result, so that their width changes no sum. No fused
// multiply-add: not every processor has one.
#include "oracles/exact/ordered_product.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "oracles/exact/ordered_product.cpp"
#include <hwy/foreach_target.h>  // includes this file once per instruction set
#include <hwy/highway.h>

#ifndef PLUMBLINE_ORDERED_PRODUCT_TYPES
#define PLUMBLINE_ORDERED_PRODUCT_TYPES

namespace plumbline::ordered {

// Columns that are computed together. Their values of B lie side by side, k after k.
constexpr std::size_t kPanel = 8;

// Element (i, p) is first[i * row + p * step].
struct Left {
  const double* first;
  std::int64_t row, step;
};

}  // namespace plumbline::ordered

#endif

HWY_BEFORE_NAMESPACE();

namespace plumbline::ordered::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, kPanel>;

// `kRows` rows of a panel's sums, to sums[row * kPanel + column].
template <int kRows>
HWY_INLINE void rows_of_panel(std::int64_t k, const Left& a, const double* HWY_RESTRICT panel,
                              double* HWY_RESTRICT sums) {
  const Doubles d;
  constexpr std::size_t kLanes = hn::MaxLanes(Doubles()), kVectors = kPanel / kLanes;
  hn::Vec<Doubles> sum[kRows][kVectors];
  for (auto& row : sum)
    for (auto& one : row) one = hn::Zero(d);
  for (std::int64_t p = 0; p < k; ++p, panel += kPanel) {
    hn::Vec<Doubles> b[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) b[v] = hn::LoadU(d, panel + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const auto left = hn::Set(d, a.first[r * a.row + p * a.step]);
      for (std::size_t v = 0; v < kVectors; ++v)
        sum[r][v] = hn::Add(sum[r][v], hn::Mul(left, b[v]));
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kVectors; ++v)
      hn::StoreU(sum[r][v], d, sums + r * kPanel + v * kLanes);
}

// All rows of the panel's `columns` columns.
void panel_product(std::int64_t m, std::int64_t columns, std::int64_t k, const Left& a,
                   const double* panel, double* c, std::int64_t ldc) {
  constexpr int kRows = 4;
  double sums[kRows * kPanel];
  const auto add = [&](std::int64_t row, int rows) {
    for (int r = 0; r < rows; ++r) {
      double* to = c + (row + r) * ldc;
      for (std::int64_t j = 0; j < columns; ++j) to[j] += sums[r * kPanel + j];
    }
  };
  std::int64_t i = 0;
  for (; i + kRows <= m; i += kRows) {
    rows_of_panel<kRows>(k, {a.first + i * a.row, a.row, a.step}, panel, sums);
    add(i, kRows);
  }
  for (; i < m; ++i) {
    rows_of_panel<1>(k, {a.first + i * a.row, a.row, a.step}, panel, sums);
    add(i, 1);
  }
}

}  // namespace plumbline::ordered::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace plumbline {
namespace ordered {
namespace {

HWY_EXPORT(panel_product);

// fill(panel, first, columns) lays B's columns [first, first + columns) side by side.
template <typename Fill>
void by_panels(std::int64_t m, std::int64_t n, std::int64_t k, const Left& a, double* c,
               std::int64_t ldc, const Fill& fill) {
  const auto width = static_cast<std::int64_t>(kPanel);
  std::vector<double> panel(static_cast<std::size_t>(k) * kPanel);
  for (std::int64_t first = 0; first < n; first += width) {
    const std::int64_t columns = std::min(width, n - first);
    if (columns < width) std::fill(panel.begin(), panel.end(), 0.0);
    fill(panel.data(), first, columns);
    HWY_DYNAMIC_DISPATCH(panel_product)(m, columns, k, a, panel.data(), c + first, ldc);
  }
}

}  // namespace
}  // namespace ordered

void add_ordered_product(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                         std::int64_t lda, const double* b, std::int64_t ldb, double* c,
                         std::int64_t ldc) {
  using ordered::kPanel;
  ordered::by_panels(
      m, n, k, {a, lda, 1}, c, ldc, [&](double* panel, std::int64_t first, std::int64_t columns) {
        for (std::int64_t j = 0; j < columns; ++j) {
          const double* column = b + (first + j) * ldb;
          for (std::int64_t p = 0; p < k; ++p)
            panel[static_cast<std::size_t>(p) * kPanel + static_cast<std::size_t>(j)] = column[p];
        }
      });
}

void add_ordered_product_across(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                                std::int64_t lda, const double* b, std::int64_t ldb, double* c,
                                std::int64_t ldc) {
  using ordered::kPanel;
  ordered::by_panels(
      m, n, k, {a, 1, lda}, c, ldc, [&](double* panel, std::int64_t first, std::int64_t columns) {
        for (std::int64_t p = 0; p < k; ++p)
          std::copy_n(b + p * ldb + first, columns, panel + static_cast<std::size_t>(p) * kPanel);
      });
}

}  // namespace plumbline

#endif  // HWY_ONCE
