// SPDX-License-Identifier: MIT
#include "oracles/formats/random_rounding.h"

#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"

namespace plumbline {

Pull pull_of(Rounding rounding, bool negative) {
  switch (rounding) {
    case Rounding::toward_zero:
      return Pull::toward_zero;
    case Rounding::up:
      return negative ? Pull::toward_zero : Pull::away;
    case Rounding::down:
      return negative ? Pull::away : Pull::toward_zero;
    default:
      return Pull::nearest;
  }
}

int random_step(Pull pull, double position, double noise) {
  switch (pull) {
    case Pull::toward_zero:
      return static_cast<int>(std::floor(position + noise - 0.5));
    case Pull::away:
      return static_cast<int>(std::ceil(position + noise - 0.5));
    case Pull::nearest:
      break;
  }
  return noise < position ? 1 : 0;
}

std::uint64_t encode_randomly(const Format& format, std::uint64_t usual, double sum, double error,
                              Rounding rounding, double noise) {
  PLUMB_ASSERT(format.precision() <= 24 && !format.is_integer);
  const double result = to_double(format, usual);
  if (!std::isfinite(result) || !std::isfinite(sum) || (result == sum && error == 0)) return usual;
  const bool negative = std::signbit(sum);
  const auto away = [&](std::uint64_t& code) {
    return negative ? next_down(format, code, code) : next_up(format, code, code);
  };
  const auto inward = [&](std::uint64_t& code) {
    if (to_double(format, code) == 0) return false;
    return negative ? next_up(format, code, code) : next_down(format, code, code);
  };
  std::uint64_t lower = encode(format, sum, {.rounding = Rounding::toward_zero});
  // Below the double in magnitude by less than it can say.
  if (to_double(format, lower) == sum) {
    if (error == 0) return usual;
    if (std::signbit(error) != negative) inward(lower);
  }
  std::uint64_t upper = lower;
  if (!away(upper)) return usual;
  const double from = to_double(format, lower), to = to_double(format, upper);
  const double position = ((sum - from) + error) / (to - from);
  int step = random_step(pull_of(rounding, negative), position, noise);
  std::uint64_t code = lower;
  for (; step > 0; --step) {
    if (!away(code)) return usual;
  }
  for (; step < 0; ++step) inward(code);
  return code;
}

}  // namespace plumbline
