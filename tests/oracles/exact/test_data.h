// SPDX-License-Identifier: MIT
// Operands for the tests of this room: every kind of data that has ever made an exact sum hard, in
// any input format.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/tensor.h"

namespace plumbline {

enum class Kind : std::uint8_t {
  normal,      // standard normal, near enough
  uniform,     // (-1, 1)
  positive,    // (0, 1): no cancellation at all
  outliers,    // normal, 1 % times 2^20 and 1 % times 2^-20
  all_bits,    // any finite code, subnormals included
  cancelling,  // the second half of k repeats the first with A negated: every sum is 0
  nearly,      // the same but for the last k: every sum is one product
  zero_rows,   // normal, every other row zero
  integers,    // -8 ... 8
  one_hot,     // A has a single 1 in each row
  subnormal,   // the smallest few codes
  extremes,    // largest and smallest codes in turn
  sparse,      // one element in 16
};

inline constexpr Kind kKinds[] = {
    Kind::normal,     Kind::uniform,  Kind::positive,  Kind::outliers, Kind::all_bits,
    Kind::cancelling, Kind::nearly,   Kind::zero_rows, Kind::integers, Kind::one_hot,
    Kind::subnormal,  Kind::extremes, Kind::sparse};

inline double normal_value(Random& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum - 6;
}

inline std::uint64_t random_finite_code(const Format& format, Random& random) {
  for (;;) {
    const std::uint64_t bits = random.next() >> (64 - format.storage_bits);
    if (std::isfinite(to_double(format, bits))) return bits;
  }
}

inline std::uint64_t random_code(const Format& format, Kind kind, Random& random) {
  const auto rounded = [&](double value) {
    return encode(format, value,
                  {.rounding = Rounding::nearest_even, .overflow = Overflow::saturate});
  };
  switch (kind) {
    case Kind::uniform:
      return rounded(2 * random.unit() - 1);
    case Kind::positive:
      return rounded(random.unit());
    case Kind::outliers: {
      const std::uint64_t lot = random.below(100);
      return rounded(normal_value(random) * (lot == 0 ? 0x1p20 : lot == 1 ? 0x1p-20 : 1));
    }
    case Kind::all_bits:
      return random_finite_code(format, random);
    case Kind::integers:
      return rounded(static_cast<double>(random.between(-8, 8)));
    case Kind::subnormal:
      return random.below(4);
    case Kind::extremes:
      return random.below(2) == 0 ? format.max_finite() : 1;
    case Kind::sparse:
      return rounded(random.below(16) == 0 ? normal_value(random) : 0);
    default:
      return rounded(normal_value(random));
  }
}

struct Operands {
  Tensor a, b;  // [batch, m, k] and [batch, k, n], contiguous
};

inline Tensor zero_tensor(FormatId format, std::vector<std::int64_t> shape) {
  TensorLayout layout;
  layout.format = format;
  layout.strides = contiguous_strides(shape);
  layout.shape = std::move(shape);
  return Tensor(layout);
}

inline Operands make_operands(FormatId id, Kind kind, std::int64_t batch, std::int64_t m,
                              std::int64_t n, std::int64_t k, std::uint64_t seed) {
  const Format& row = format(id);
  Random random(seed);
  Operands out = {zero_tensor(id, {batch, m, k}), zero_tensor(id, {batch, k, n})};
  const auto fill = [&](Tensor& tensor) {
    for (std::int64_t i = 0; i < tensor.layout.count(); ++i)
      tensor.set_bits_at(i, random_code(row, kind, random));
  };
  fill(out.a);
  fill(out.b);
  const std::int64_t half = k / 2;
  for (std::int64_t i = 0; i < batch * m; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      const std::int64_t at = i * k + p;
      const double value = to_double(row, out.a.bits_at(at));
      if (kind == Kind::zero_rows && i % 2 == 0) out.a.set_bits_at(at, 0);
      if (kind == Kind::one_hot) out.a.set_bits_at(at, encode(row, p == i % k ? 1.0 : 0.0));
      if (kind != Kind::cancelling && kind != Kind::nearly) continue;
      if (p >= 2 * half) out.a.set_bits_at(at, kind == Kind::nearly ? encode(row, value) : 0);
      if (p >= half && p < 2 * half)
        out.a.set_bits_at(at, encode(row, -to_double(row, out.a.bits_at(at - half))));
    }
  }
  if (kind == Kind::cancelling || kind == Kind::nearly) {
    for (std::int64_t z = 0; z < batch; ++z) {
      for (std::int64_t p = half; p < 2 * half; ++p) {
        for (std::int64_t j = 0; j < n; ++j) {
          out.b.set_bits_at((z * k + p) * n + j, out.b.bits_at((z * k + p - half) * n + j));
        }
      }
    }
  }
  return out;
}

}  // namespace plumbline
