// SPDX-License-Identifier: MIT
// Operands split for exact products, and the product of some rows of A with some columns of B over
// a range of k as hi + lo (see gemm_sums.cpp for the theory). For oracles/exact and its tests only:
// other code includes gemm_sums.h or gemm_block_sums.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "oracles/base/large_pages.h"
#include "oracles/exact/gemm_operands.h"
#include "oracles/exact/row_split.h"

namespace plumbline {

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

// Some rows over a range of k, split. The memory is kept for the next rows: touching new pages is a
// good part of the time that does not go into products.
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

// Splits elements [begin, begin + depth) of all rows. `most` is the largest count * depth this
// `out` will ever be used for.
void split_rows(const Side& side, std::int64_t begin, std::int64_t depth, std::int64_t most,
                int threads, SplitRows& out);

// One block of rows of A against one panel of columns of B over one range of k. hi and lo point
// at the block's first element and have row length n.
void add_block(const Side& a, SplitRows& split_a, std::int64_t columns, const SplitRows& split_b,
               std::int64_t begin, std::int64_t depth, double* hi, double* lo, std::int64_t n);

// At least the sum of the magnitudes of what add_block() adds to lo, over any part of k.
double low_magnitude(const RowSplit& a, const RowSplit& b);

// What lo may lack, over all of k or any part of it.
double bound_of(const RowSplit& a, const RowSplit& b);

struct OperandSplits {
  std::vector<RowScale> a_scales, b_scales;
  std::vector<RowSplit> a, b;
  bool whole = false;  // nothing is split: sums of whole products are exact in FP64 in any order
};

OperandSplits split_operands(const GemmOperands& operands, int threads);

}  // namespace plumbline
