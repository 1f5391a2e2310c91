// SPDX-License-Identifier: MIT
// A product of two f32 numbers is exact in f64, so its 53-bit significand and exponent are read
// from there. Where the operands' significands are narrow (8 bits each in bf16) its low bits are
// zero and dropped, the rest fits a 64-bit bin, and shifting into place is done in vectors;
// otherwise the bins have 128 bits. Neighboring products go to different copies of the bins,
// because adding to a bin that was just written waits for the store.
#include "oracles/exact/superaccumulator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/exact/per_processor.h"

namespace plumbline {
namespace {

using boost::multiprecision::cpp_int;

// An upper bound of the significant bits of every number in a row.
PLUMBLINE_PER_PROCESSOR
int significand_bits(const float* row, std::int64_t k) {
  std::uint32_t used = 1u << 23;
  for (std::int64_t p = 0; p < k; ++p) used |= std::bit_cast<std::uint32_t>(row[p]);
  return 24 - std::countr_zero(used);
}

// magnitude * 2^(32 * bin + shift - 350) for one product, the last `dropped` bits being zero.
struct Placed {
  std::uint64_t magnitude, sign, bin, shift;  // sign: 0 or all ones
};

inline Placed place(float x, float y, std::uint64_t lowest, std::uint64_t dropped) {
  const auto bits = std::bit_cast<std::uint64_t>(double{x} * double{y});
  const std::uint64_t field = bits >> 52 & 0x7ff;  // 0 for a zero product: none is subnormal
  const std::uint64_t normal = field != 0 ? ~std::uint64_t{0} : 0;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t position = (field - 1075 - lowest + dropped) & normal;
  return {(fraction | (normal & std::uint64_t{1} << 52)) >> dropped, -(bits >> 63), position / 32,
          position % 32};
}

constexpr int kChunk = 64;

PLUMBLINE_PER_PROCESSOR
void place_chunk(const float* row, const float* column, std::uint64_t lowest, std::uint64_t dropped,
                 std::int64_t* addends, std::uint64_t* bins) {
  for (int p = 0; p < kChunk; ++p) {
    const Placed placed = place(row[p], column[p], lowest, dropped);
    addends[p] =
        static_cast<std::int64_t>((placed.magnitude << placed.shift ^ placed.sign) - placed.sign);
    bins[p] = placed.bin;
  }
}

}  // namespace

// |addend| < 2^(width + 31), so a 64-bit bin holds 2^(32 - width) of them, and the copies together
// more.
void Superaccumulator::add_narrow(const float* row, const float* column, std::int64_t k,
                                  int width) {
  constexpr int kCopies = 4;
  std::array<std::array<std::int64_t, kBins>, kCopies> copies{};
  std::array<std::int64_t, kChunk> addends;
  std::array<std::uint64_t, kChunk> bins;
  for (std::int64_t p = 0; p < k; p += kChunk) {
    if (k - p >= kChunk) {
      place_chunk(row + p, column + p, kLowest, 53 - width, addends.data(), bins.data());
    } else {
      std::array<float, kChunk> row_end{}, column_end{};
      std::copy(row + p, row + k, row_end.begin());
      std::copy(column + p, column + k, column_end.begin());
      place_chunk(row_end.data(), column_end.data(), kLowest, 53 - width, addends.data(),
                  bins.data());
    }
    for (int i = 0; i < kChunk; i += kCopies) {
      copies[0][bins[i]] += addends[i];
      copies[1][bins[i + 1]] += addends[i + 1];
      copies[2][bins[i + 2]] += addends[i + 2];
      copies[3][bins[i + 3]] += addends[i + 3];
    }
  }
  for (const auto& copy : copies) {
    for (int i = 0; i < kBins; ++i) bins_[i] += copy[i];
  }
}

void Superaccumulator::add_wide(const float* row, const float* column, std::int64_t k) {
  for (std::int64_t p = 0; p < k; ++p) {
    const Placed placed = place(row[p], column[p], kLowest, 0);
    const Wide addend = Wide{placed.magnitude} << placed.shift;
    bins_[placed.bin] += placed.sign != 0 ? -addend : addend;
  }
}

void Superaccumulator::add_products(const float* row, const float* column, std::int64_t k) {
  const int width = significand_bits(row, k) + significand_bits(column, k);
  if (width > 24) return add_wide(row, column, k);
  const std::int64_t safe = std::int64_t{1} << (32 - width);
  for (std::int64_t p = 0; p < k; p += safe)
    add_narrow(row + p, column + p, std::min(safe, k - p), width);
}

Dyadic Superaccumulator::sum() const {
  // Carries, to digits of 32 bits and a sign, least significant first.
  std::array<std::uint32_t, kBins + 4> digits{};
  const auto spread = [&](bool negate) {
    Wide carry = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (i < kBins) carry += negate ? -bins_[i] : bins_[i];
      digits[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return carry < 0;
  };
  const bool negative = spread(false);
  if (negative) spread(true);
  const auto nonzero = [](std::uint32_t digit) { return digit != 0; };
  const auto low = std::find_if(digits.begin(), digits.end(), nonzero);
  const auto high = std::find_if(digits.rbegin(), digits.rend(), nonzero).base();
  if (low == digits.end()) return Dyadic();
  cpp_int magnitude;
  import_bits(magnitude, low, high, 32, false);
  if (negative) magnitude = -magnitude;
  return Dyadic(std::move(magnitude), kLowest + 32 * static_cast<int>(low - digits.begin()));
}

Dyadic exact_dot(const float* row, const float* column, std::int64_t k) {
  Superaccumulator sum;
  sum.add_products(row, column, k);
  return sum.sum();
}

}  // namespace plumbline
