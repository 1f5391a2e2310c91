// SPDX-License-Identifier: MIT
// Rows and columns for tests of the bounds: values of a format from a handful of distributions that
// stress different parts of the theory (rounding noise, same signs, wide exponents, cancellation,
// exact integers, the bottom of the range, sums that straddle a power of two).
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline::testing {

enum class Data { normal, positive, outliers, wide, cancelling, integers, sparse, tiny, binade };

inline constexpr Data kAllData[] = {Data::normal, Data::positive,   Data::outliers,
                                    Data::wide,   Data::cancelling, Data::integers,
                                    Data::sparse, Data::tiny,       Data::binade};

inline float stored(FormatId id, double x) {
  return static_cast<float>(to_double(
      format(id), encode(format(id), x, {Rounding::nearest_even, Overflow::saturate, 0})));
}

// About N(0, 1): the sum of twelve uniforms less six.
inline double bell(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

inline double draw(Data data, FormatId id, Random& random) {
  const Format& f = format(id);
  switch (data) {
    case Data::normal:
    case Data::cancelling:
      return bell(random);
    case Data::positive:
      return random.unit();
    case Data::outliers:
      return bell(random) * (random.below(50) == 0
                                 ? std::ldexp(1.0, static_cast<int>(random.between(-12, 12)))
                                 : 1);
    case Data::wide: {
      const int span = f.emax() > 60 ? 50 : (f.emax() - f.emin()) / 2;
      return bell(random) * std::ldexp(1.0, static_cast<int>(random.between(-span, span / 2)));
    }
    case Data::integers:
      return static_cast<double>(random.between(-4, 4));
    case Data::sparse:
      return random.below(4) == 0 ? bell(random) : 0;
    case Data::tiny:
      return bell(random) * std::ldexp(1.0, f.emin() / 2 - (f.emax() > 60 ? 2 : 0) +
                                                static_cast<int>(random.between(-10, 2)));
    case Data::binade: {  // products of about 1, 2^-12 and 2^-24: sums around powers of two with
                          // bits at the very end
      const int low = f.emin() / 2 > -12 ? f.emin() / 2 : -12;
      const double size =
          random.below(3) == 0 ? 1 : std::ldexp(1.0, low - static_cast<int>(random.below(2)));
      const double fine =
          random.below(2) == 0
              ? 1
              : 1 - std::ldexp(1.0, -static_cast<int>(random.between(1, f.precision())));
      return (random.below(2) == 0 ? size : -size) * fine;
    }
  }
  return 0;
}

struct DotSample {
  std::vector<float> row, column;
};

inline DotSample dot_sample(Data data, FormatId a, FormatId b, std::int64_t k, Random& random) {
  DotSample sample;
  for (std::int64_t p = 0; p < k; ++p) {
    sample.row.push_back(stored(a, draw(data, a, random)));
    sample.column.push_back(stored(b, draw(data, b, random)));
  }
  if (data == Data::cancelling) {  // the second half takes most of the first away again
    for (std::int64_t p = 0; p < k / 2; ++p) {
      const auto from = static_cast<std::size_t>(p), to = static_cast<std::size_t>(k - 1 - p);
      sample.row[to] = -sample.row[from];
      sample.column[to] = sample.column[from];
      if (random.below(8) == 0) sample.column[to] = stored(b, sample.column[from] * 1.01);
    }
  }
  return sample;
}

}  // namespace plumbline::testing
