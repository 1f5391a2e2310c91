// SPDX-License-Identifier: MIT
// A product of two f32 numbers is exact in f64, so its 53-bit significand and exponent are read
// from there. Where the operands' significands are narrow (8 bits each in bf16), its low bits are
// zero and dropped, and the rest fits a 64-bit bin; otherwise the bins have 128 bits. Neighbouring
// products go to different copies of the bins, because adding to a bin that was just written waits
// for the store.
#include "oracles/exact/superaccumulator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "oracles/exact/gemm_sums.h"

namespace plumbline {
namespace {

using boost::multiprecision::cpp_int;

// An upper bound of the significant bits of every number in a row.
int significand_bits(const float* row, std::int64_t k) {
  std::uint32_t used = 1u << 23;
  for (std::int64_t p = 0; p < k; ++p) used |= std::bit_cast<std::uint32_t>(row[p]);
  return 24 - std::countr_zero(used);
}

}  // namespace

template <typename Bin, int copies>
void Superaccumulator::add_all(const float* row, const float* column, std::int64_t k,
                               int dropped_bits) {
  std::array<std::array<Bin, kBins>, copies> bins{};
  const auto add = [&](std::int64_t p, std::array<Bin, kBins>& into) {
    const auto bits = std::bit_cast<std::int64_t>(double{row[p]} * double{column[p]});
    const int field =
        static_cast<int>(bits >> 52) & 0x7ff;  // 0 only for a zero product: none is subnormal
    const std::int64_t implicit_one = std::int64_t{field != 0} << 52;
    const std::int64_t magnitude =
        ((bits & ((std::int64_t{1} << 52) - 1)) | implicit_one) >> dropped_bits;
    const std::int64_t sign = bits >> 63;
    const int position = std::max(field - 1075 - kLowest + dropped_bits, 0);
    into[position / 32] += Bin{(magnitude ^ sign) - sign} << position % 32;
  };
  std::int64_t p = 0;
  for (; p + copies <= k; p += copies) {
    for (int copy = 0; copy < copies; ++copy) add(p + copy, bins[copy]);
  }
  for (; p < k; ++p) add(p, bins[0]);
  for (const auto& copy : bins) {
    for (int i = 0; i < kBins; ++i) bins_[i] += copy[i];
  }
}

void Superaccumulator::add_products(const float* row, const float* column, std::int64_t k) {
  const int width = significand_bits(row, k) + significand_bits(column, k);
  if (width > 24) return add_all<Wide, 4>(row, column, k, 0);
  // |addend| < 2^(width + 31), so a 64-bit bin holds 2^(32 - width) of them.
  const std::int64_t safe = std::int64_t{1} << (32 - width);
  for (std::int64_t p = 0; p < k; p += safe) {
    add_all<std::int64_t, 4>(row + p, column + p, std::min(safe, k - p), 53 - width);
  }
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
