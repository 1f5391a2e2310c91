// SPDX-License-Identifier: MIT
#include "oracles/bounds/contract/silu_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "oracles/bounds/contract/attention.h"
#include "oracles/bounds/contract/f32_errors.h"

namespace plumbline {
namespace {

// Where silu is smallest, and how small: its derivative sigma (1 + x (1 - sigma)) is 0 there, so
// that x sigma = x + 1.
constexpr double kMinimumAt = -1.2784645427610738, kMinimum = kMinimumAt + 1;
constexpr double kLowest = -87;           // no step overflows from here on
constexpr double kDoubleError = 0x1p-48;  // of silu() below, with room

double silu(double x) { return x / (1 + std::exp(-x)); }

F32Range by_steps(SiluForm form, const F32Range& g) {
  const F32Range one = F32Range::of(1);
  const F32Range divisor = one + ex2_approx(g * F32Range::of(kMinusLog2E));
  return form == SiluForm::quotient ? g / divisor : g * (one / divisor);
}

// delta above, for all g in [low, high]; infinite where e^-g may be off by so much, over an
// interval from closed to wide open gates, that nothing follows.
double relative_error(SiluForm form, double low, double high) {
  using bound::kF32Unit;
  using std::numbers::log2e;
  const double constant = std::fabs(static_cast<double>(kMinusLog2E) / log2e + 1) + 0x1p-52;
  const double largest = std::max(std::fabs(low), std::fabs(high));
  const double drift =
      largest * log2e * (constant + kF32Unit + constant * kF32Unit) * bound::kSlack + 0x1p-149;
  const double growth = bound::exp2_growth(drift);
  const double power = growth + kEx2Error + growth * kEx2Error;
  const double weight = 1 / (1 + std::exp(low)) * bound::kSlack;
  const double roundings = form == SiluForm::quotient ? 1 + kF32Unit : 1 + 2 * kF32Unit + 0x1p-47;
  const double least = (1 - kF32Unit) * (1 - power * weight * bound::kSlack);
  if (!(least > 0.5)) return std::numeric_limits<double>::infinity();
  return (roundings / least - 1) * bound::kSlack + kDoubleError + 0x1p-125;
}

// `error`: relative, of the steps.
F32Range by_analysis(double low, double high, double error) {
  const double at_low = silu(low), at_high = silu(high);
  const bool has_minimum = low <= kMinimumAt && kMinimumAt <= high;
  const double least = has_minimum ? kMinimum : std::min(at_low, at_high);
  const double most = std::max(at_low, at_high);
  return f32_within(least - std::fabs(least) * error - 0x1p-148,
                    most + std::fabs(most) * error + 0x1p-148);
}

}  // namespace

F32Range silu_range(SiluForm form, const F32Range& g) {
  const F32Range steps = by_steps(form, g);
  const double low = static_cast<double>(g.low), high = static_cast<double>(g.high);
  if (g.is_point() || !g.has_numbers() || low < kLowest || std::isinf(high)) return steps;
  const double error = relative_error(form, low, high);
  if (std::isinf(error)) return steps;
  const F32Range real = by_analysis(low, high, error);
  return {std::max(steps.low, real.low), std::min(steps.high, real.high), steps.nan};
}

}  // namespace plumbline
