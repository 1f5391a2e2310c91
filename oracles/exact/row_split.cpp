// SPDX-License-Identifier: MIT
#include "oracles/exact/row_split.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "oracles/base/assert.h"
#include "oracles/exact/per_processor.h"

namespace plumbline {
namespace {

// Sums are kept in this many lanes for every vector length, so that their bits are the same
// everywhere.
constexpr int kLanes = 16;

double total(const std::array<double, kLanes>& lanes) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

PLUMBLINE_PER_PROCESSOR
double sum_of_squares(const float* row, std::int64_t k) {
  std::array<double, kLanes> lanes{};
  std::int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double x = row[p + lane];
      lanes[lane] += x * x;
    }
  }
  for (; p < k; ++p) lanes[0] += double{row[p]} * double{row[p]};
  return total(lanes);
}

PLUMBLINE_PER_PROCESSOR
float largest_of(const float* row, std::int64_t k) {
  std::int32_t largest = 0;  // patterns of magnitudes are in their order
  for (std::int64_t p = 0; p < k; ++p) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(row[p]) & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return std::bit_cast<float>(largest);
}

// The exponent of the lowest set bit of any element of a row that is not zero. Written without
// branches, so that it becomes vector instructions.
PLUMBLINE_PER_PROCESSOR
int lattice_of(const float* row, std::int64_t k) {
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t p = 0; p < k; ++p) {
    const auto bits = std::bit_cast<std::int32_t>(row[p]);
    const std::int32_t field = (bits >> 23) & 0xff;
    const std::int32_t normal = field != 0;
    const std::int32_t significand = (bits & 0x7fffff) | normal << 23;
    const std::int32_t zero = significand == 0;
    const std::int32_t marked = significand | zero << 30;
    // A power of two becomes its logarithm by way of a float's exponent field.
    const auto lowest_bit = static_cast<float>(marked & -marked);
    const std::int32_t place = (std::bit_cast<std::int32_t>(lowest_bit) >> 23) - 127;
    const std::int32_t exponent = place + field - normal - 149 + (zero << 10);
    lowest = exponent < lowest ? exponent : lowest;
  }
  return lowest;
}

struct LowSums {
  double squares = 0;
  std::int64_t count = 0;
};

PLUMBLINE_PER_PROCESSOR
LowSums low_sums(const float* row, std::int64_t k, double anchor) {
  std::array<double, kLanes> lanes{}, counts{};
  const auto add = [&](double x, int lane) {
    const double low = x - ((x + anchor) - anchor);
    lanes[lane] += low * low;
    counts[lane] += low != 0 ? 1.0 : 0.0;
  };
  std::int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) add(row[p + lane], lane);
  }
  for (; p < k; ++p) add(row[p], 0);
  return {total(lanes), static_cast<std::int64_t>(total(counts))};
}

PLUMBLINE_PER_PROCESSOR
void write_both(const float* row, std::int64_t k, double anchor, double* high, double* low) {
  for (std::int64_t p = 0; p < k; ++p) {
    const double x = row[p];
    const double rounded = (x + anchor) - anchor;
    high[p] = rounded;
    low[p] = x - rounded;
  }
}

PLUMBLINE_PER_PROCESSOR
void write_high(const float* row, std::int64_t k, double anchor, double* high) {
  for (std::int64_t p = 0; p < k; ++p) high[p] = (row[p] + anchor) - anchor;
}

// At least the square root of a sum of k squares, given the sum as computed. Squares of f32 numbers
// are exact; k additions, the root and the product lose less than (k + 3) 2^-53 of it.
double norm_from(double squares, std::int64_t k) {
  return std::sqrt(squares) * (1 + static_cast<double>(k + 8) * 0x1p-53);
}

}  // namespace

RowScale scale_of(const float* row, std::int64_t k) {
  RowScale out;
  out.norm = norm_from(sum_of_squares(row, k), k);
  if (out.norm == 0) return out;
  std::frexp(out.norm, &out.exponent);
  out.largest = static_cast<double>(largest_of(row, k));
  out.lattice = lattice_of(row, k);
  return out;
}

RowSplit split_of(const float* row, std::int64_t k, const RowScale& scale, int bits) {
  PLUMB_ASSERT(bits >= 0 && bits <= 50);
  RowSplit out;
  if (scale.norm == 0) return out;
  // Adding 1.5 * 2^52 grid steps pushes everything below one step out of the significand.
  out.anchor = std::ldexp(1.5, 52 + scale.exponent - bits);
  out.norm = scale.norm;
  out.high_norm = scale.norm;
  out.lattice = std::ldexp(1.0, scale.lattice);
  if (scale.bits() <= bits) return out;
  const LowSums low = low_sums(row, k, out.anchor);
  out.low_count = low.count;
  out.low_norm = norm_from(low.squares, k);
  out.high_norm = (out.norm + out.low_norm) * (1 + 0x1p-52);
  return out;
}

RowSplit whole_split(const RowScale& scale) {
  RowSplit out;
  if (scale.norm == 0) return out;
  out.norm = out.high_norm = scale.norm;
  out.lattice = std::ldexp(1.0, scale.lattice);
  return out;  // an anchor of 0 leaves every element as it is
}

PLUMBLINE_PER_PROCESSOR
void add_floats(const float* values, std::int64_t count, double* sums) {
  for (std::int64_t p = 0; p < count; ++p) sums[p] += values[p];
}

void write_split(const float* row, std::int64_t k, const RowSplit& split, double* high,
                 double* low) {
  if (low != nullptr) {
    write_both(row, k, split.anchor, high, low);
  } else {
    write_high(row, k, split.anchor, high);
  }
}

PLUMBLINE_PER_PROCESSOR
void write_whole(const float* row, std::int64_t k, double* whole) {
  for (std::int64_t p = 0; p < k; ++p) whole[p] = row[p];
}

}  // namespace plumbline
