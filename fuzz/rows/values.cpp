// SPDX-License-Identifier: MIT
#include "fuzz/rows/values.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/case/draw.h"
#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"

namespace plumbline {

namespace {

double normal(const RowSpot&, Random& random) { return draw_normal(random); }

double positive(const RowSpot&, Random& random) { return (256 - 255 * random.unit()) / 256; }

double ones(const RowSpot&, Random&) { return 1; }

// Channels 20 to 100 times larger, and one element in 1000 a hundred times larger again.
double outliers(const RowSpot& spot, Random& random) {
  Random of_column = spot.of_column;
  const double factor =
      of_column.below(24) == 0 ? static_cast<double>(of_column.between(20, 100)) : 1.0;
  const double value = factor * draw_normal(random);
  return random.below(1000) == 0 ? 100 * value : value;
}

// Every row has an exponent of its own, and its elements lie up to 2^20 below it.
double wide(const RowSpot& spot, Random& random) {
  Random of_row = spot.of_row;
  const std::int64_t top = of_row.between(-30, 30);
  return draw_scaled(random, top - random.between(0, 20));
}

// In every third row the least normal numbers and those up to a third of the exponents above them:
// results are small and yet not subnormal.
double subnormal(const RowSpot& spot, Random& random) {
  Random of_row = spot.of_row;
  if (of_row.below(3) == 0) {
    const std::int64_t least = spot.format.emin();
    return draw_scaled(random, least + random.between(0, -least / 3));
  }
  const double sign = draw_sign(random);
  const auto significand =
      static_cast<double>(1 + random.below((std::uint64_t{1} << spot.format.mantissa_bits) - 1));
  return sign * std::ldexp(significand, spot.format.emin() - spot.format.mantissa_bits);
}

// Squares and sums on either side of the largest f32.
double large(const RowSpot& spot, Random& random) {
  Random of_row = spot.of_row;
  const std::int64_t top =
      of_row.below(2) == 0 ? of_row.between(56, 66) : of_row.between(100, spot.format.emax());
  return draw_scaled(random, top - random.between(0, 4));
}

// Of ten rows one has a NaN, one +Inf, one -Inf, one nothing but -Inf, one every third element, one
// the first half and one the last: whole vectors and tiles of a masked row, before its first finite
// element and after its last. One has zeros of both signs, one NaN beside -Inf, and one all of it.
double specials(const RowSpot& spot, Random& random) {
  Random of_row = spot.of_row;
  const auto chosen = static_cast<std::int64_t>(of_row.below(static_cast<std::uint64_t>(spot.n)));
  switch (spot.row % 10) {
    case 0:
    case 1:
    case 2:
      if (spot.column == chosen)
        return std::array{kNan, kInfinity, -kInfinity}[static_cast<std::size_t>(spot.row % 10)];
      break;
    case 3:
      return -kInfinity;
    case 4:
      if (spot.column % 3 == 1) return -kInfinity;
      break;
    case 5:
      if (spot.column < spot.n / 2) return -kInfinity;
      break;
    case 6:
      if (spot.column >= (spot.n + 1) / 2) return -kInfinity;
      break;
    case 7:
      if (random.below(4) == 0) return -0.0;
      break;
    case 8:
      if (random.below(4) == 0) return random.below(2) == 0 ? kNan : -kInfinity;
      break;
    default:
      if (random.below(3) == 0)
        return std::array{kNan, kInfinity, -kInfinity, 0.0, -0.0}[random.below(5)];
  }
  return draw_normal(random);
}

double integers(const RowSpot&, Random& random) {
  return static_cast<double>(random.between(-7, 7));
}

double power_scaled(const RowSpot& spot, Random& random) {
  Random of_row = spot.of_row;
  const double factor = std::ldexp(1.0, static_cast<int>(of_row.between(-24, 24)));
  return factor * static_cast<double>(random.between(-7, 7));
}

double one_hot(const RowSpot& spot, Random&) {
  Random of_row = spot.of_row;
  const auto chosen = static_cast<std::int64_t>(of_row.below(static_cast<std::uint64_t>(spot.n)));
  return spot.column == chosen ? 64 : 0;
}

// A mean of its own for each row, up to 2^12, and a spread of a few units in the last place.
double offset(const RowSpot& spot, Random& random) {
  Random of_row = spot.of_row;
  const double sign = draw_sign(of_row);
  const auto exponent = static_cast<int>(of_row.between(0, 12));
  const auto significand = static_cast<double>(of_row.between(136, 248) + random.between(-4, 4));
  return sign * std::ldexp(significand, exponent - 7);
}

// Of eight rows one is zeros, of both signs.
double equal_rows(const RowSpot& spot, Random& random) {
  if (spot.row % 8 == 7) return draw_sign(random) * 0.0;
  Random of_row = spot.of_row;
  return 4 * draw_normal(of_row);
}

constexpr std::array kClasses = {
    RowValueClass{"normal", normal},
    RowValueClass{"positive", positive, false, false, InRange::positive},
    RowValueClass{"ones", ones, true, false, InRange::one},
    RowValueClass{"outliers", outliers},
    RowValueClass{"wide", wide},
    RowValueClass{"subnormal", subnormal},
    RowValueClass{"large", large, false, false, InRange::ends},
    RowValueClass{"specials", specials, false, true},
    RowValueClass{"integers", integers, true},
    RowValueClass{"power_scaled", power_scaled, true},
    RowValueClass{"one_hot", one_hot, true},
    RowValueClass{"offset_rows", offset},
    RowValueClass{"equal_rows", equal_rows, false, false, InRange::equal_rows},
};

}  // namespace

std::span<const RowValueClass> row_value_classes() { return kClasses; }

const RowValueClass& row_value_class(std::string_view name) {
  const auto found = std::find_if(kClasses.begin(), kClasses.end(),
                                  [&](const RowValueClass& one) { return one.name == name; });
  PLUMB_ASSERT(found != kClasses.end());
  return *found;
}

double row_weight(const RowValueClass& values, std::int64_t column, Random& random) {
  if (values.exact) return draw_one_of(random, std::array{1.0, 2.0, 0.5, -1.0});
  if (values.specials && column % 7 == 5) return column % 2 == 0 ? kNan : kInfinity;
  return 1 + draw_normal(random) / 4;
}

double row_offset(const RowValueClass& values, Random& random) {
  return values.exact ? static_cast<double>(random.between(-3, 3)) : draw_normal(random);
}

}  // namespace plumbline
