// SPDX-License-Identifier: MIT
// Superaccumulator: a sum of products of f32 numbers as one wide fixed-point number, exact for all
// exponents and in time that does not depend on the data (about 1 ns a product). The number is cut
// into bins of 32 bits, each kept in a wider integer, so a product is added to one bin and carries
// wait until the end.
#pragma once

#include <array>
#include <cstdint>

namespace plumbline {

class Dyadic;

class Superaccumulator {
 public:
  // Adds row[0] * column[0] + ... + row[k - 1] * column[k - 1]; all finite. At most 2^40 products
  // in all.
  void add_products(const float* row, const float* column, std::int64_t k);

  Dyadic sum() const;

 private:
  __extension__ typedef __int128 Wide;

  // Bin i counts units of 2^(32 i - 350): a product is at least 2^-298 and is taken with 53 bits.
  static constexpr int kBins = 20;
  static constexpr int kLowest = -350;

  void add_narrow(const float* row, const float* column, std::int64_t k, int width);
  void add_wide(const float* row, const float* column, std::int64_t k);

  std::array<Wide, kBins> bins_{};
};

}  // namespace plumbline
