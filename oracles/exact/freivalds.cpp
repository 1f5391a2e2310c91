// SPDX-License-Identifier: MIT
#include "oracles/exact/freivalds.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/exact/parallel.h"
#include "oracles/exact/row_split.h"

namespace plumbline {
namespace {

using Words = std::vector<std::uint64_t>;  // integers modulo 2^64

// A row of A or a column of B as integers, integer = element * per_unit.
struct Vector {
  const float* elements;
  double per_unit = 0;  // 0: left out
};

Vector in_units(const float* elements, std::int64_t k) {
  const RowScale scale = scale_of(elements, k);
  const double per_unit = std::ldexp(1.0, -scale.lattice);
  return {elements, scale.norm * per_unit < 0x1p31 ? per_unit : 0};
}

std::uint64_t word(double integer) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(integer));
}

std::uint64_t dot(const Vector& a, const Words& b) {
  std::uint64_t sum = 0;
  for (std::size_t p = 0; p < b.size(); ++p)
    sum += static_cast<std::uint64_t>(static_cast<std::int32_t>(a.elements[p] * a.per_unit)) * b[p];
  return sum;
}

// sum += b * factor
void add(const Vector& b, std::uint64_t factor, Words& sum) {
  for (std::size_t p = 0; p < sum.size(); ++p) {
    sum[p] +=
        static_cast<std::uint64_t>(static_cast<std::int32_t>(b.elements[p] * b.per_unit)) * factor;
  }
}

// One element of the batch.
class Product {
 public:
  Product(const GemmOperands& operands, std::int64_t batch, Random random, int threads)
      : operands_(operands), batch_(batch), columns_(operands.n), r_(operands.n), b_r_(operands.k) {
    for (std::uint64_t& entry : r_) entry = random.next() | 1;
    std::mutex mutex;
    for_each_block(operands.n, 256, threads, [&](std::int64_t first, std::int64_t last) {
      Words part(b_r_.size());
      for (std::int64_t j = first; j < last; ++j) {
        columns_[j] = in_units(operands.column(batch, j), operands.k);
        if (columns_[j].per_unit != 0) add(columns_[j], r_[j], part);
      }
      const std::lock_guard lock(mutex);
      for (std::size_t p = 0; p < part.size(); ++p) b_r_[p] += part[p];
    });
    taking_part_ = std::ranges::count_if(columns_, [](const Vector& b) { return b.per_unit != 0; });
  }

  // The number of its sums that took part.
  std::int64_t check_row(std::int64_t i, const SumEnclosures& c, bool& right) const {
    const Vector a = in_units(operands_.row(batch_, i), operands_.k);
    if (a.per_unit == 0) return 0;
    const std::int64_t first = (batch_ * operands_.m + i) * operands_.n;
    std::uint64_t c_r = 0;
    bool integers = true;
    for (std::int64_t j = 0; j < operands_.n; ++j) {
      if (columns_[j].per_unit == 0) continue;
      if (c.bound[first + j] != 0) return 0;
      const double per_unit = a.per_unit * columns_[j].per_unit;
      for (const double part : {c.hi[first + j] * per_unit, c.lo[first + j] * per_unit}) {
        // Written so that a NaN is no integer either.
        if (!(std::abs(part) < 0x1p63) || std::trunc(part) != part) {
          integers = false;
          break;
        }
        c_r += word(part) * r_[j];
      }
    }
    right = integers && c_r == dot(a, b_r_);
    return taking_part_;
  }

 private:
  const GemmOperands& operands_;
  const std::int64_t batch_;
  std::vector<Vector> columns_;
  Words r_, b_r_;
  std::int64_t taking_part_ = 0;
};

}  // namespace

FreivaldsCheck freivalds_check(const GemmOperands& operands, const SumEnclosures& c,
                               std::uint64_t seed, int threads) {
  FreivaldsCheck out;
  std::mutex mutex;
  for (std::int64_t batch = 0; batch < operands.batch; ++batch) {
    const Product product(operands, batch, Random(seed).fork(batch), threads);
    for_each_block(operands.m, 64, threads, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        bool right = true;
        const std::int64_t sums = product.check_row(i, c, right);
        const std::lock_guard lock(mutex);
        out.sums += sums;
        if (!right)
          out.wrong_row = std::min(out.wrong_row.value_or(INT64_MAX), batch * operands.m + i);
      }
    });
  }
  return out;
}

}  // namespace plumbline
