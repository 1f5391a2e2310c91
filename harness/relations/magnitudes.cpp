// SPDX-License-Identifier: MIT
#include "harness/relations/magnitudes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

constexpr int kF32Bits = 24;
constexpr int kRoom = 7;  // binades below the largest: for a doubling and a few factors' rounding

Magnitudes joined(const std::optional<Magnitudes>& some, const Magnitudes& more) {
  return some ? *some | more : more;
}

Magnitudes of_number(const Format& f, double value) {
  Magnitudes one;
  const int exponent = std::ilogb(value);
  one.least = one.most = exponent;
  one.normal = f.is_integer || exponent >= f.emin();
  one.unit = f.is_integer ? 0 : std::max(exponent, f.emin()) - f.mantissa_bits;
  return one;
}

}  // namespace

Magnitudes operator*(const Magnitudes& x, const Magnitudes& y) {
  return {x.finite && y.finite, x.normal && y.normal, x.least + y.least, x.most + y.most + 1,
          x.unit + y.unit};
}

Magnitudes operator|(const Magnitudes& x, const Magnitudes& y) {
  return {x.finite && y.finite, x.normal && y.normal, std::min(x.least, y.least),
          std::max(x.most, y.most), std::min(x.unit, y.unit)};
}

Magnitudes magnitudes(const Tensor& tensor) {
  const Format& f = format(tensor.layout.format);
  std::optional<Magnitudes> all;
  bool finite = true;
  for (std::int64_t i = 0; i < tensor.layout.count(); ++i) {
    const double value = to_double(f, tensor.bits(i));
    if (!std::isfinite(value)) finite = false;
    if (std::isfinite(value) && value != 0) all = joined(all, of_number(f, value));
  }
  Magnitudes result = all.value_or(Magnitudes{});
  result.finite = finite;
  return result;
}

Magnitudes magnitudes(const CaseTensors& tensors, std::string_view name) {
  const Tensor* tensor = tensors.find(name);
  return tensor ? magnitudes(*tensor) : Magnitudes{};
}

Magnitudes magnitudes(float value) {
  Tensor one(dense_layout(FormatId::f32, {1}));
  one.set_bits(0, std::bit_cast<std::uint32_t>(value));
  return magnitudes(one);
}

int digits_of(std::int64_t count) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count)));
}

Magnitudes rounded(const Magnitudes& x) {
  Magnitudes result = x;
  result.unit = std::max(x.unit, x.least - (kF32Bits - 1));
  return result;
}

bool sums_are_normal(const Magnitudes& terms, std::int64_t count, FormatId accumulator) {
  const Format& f = format(accumulator);
  return terms.finite && terms.unit >= f.emin() &&
         terms.most + digits_of(count) <= f.emax() - kRoom;
}

}  // namespace plumbline
