// SPDX-License-Identifier: MIT
// Activations as kernels compute them, in f32: each shape a formula takes, with the error that the
// contract allows the one function in it drawn at random, up to all of it.
#pragma once

#include <cmath>
#include <numbers>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/bounds/contract/contract.h"

namespace plumbline::testing {

class ActivationModel {
 public:
  // `freedom`: how much of what is allowed is used, 0 to 1.
  ActivationModel(EpilogueStep step, std::uint64_t seed, double freedom = 1)
      : step_(step), random_(seed), freedom_(freedom) {
    flushes_ = random_.below(2) == 0;
    shape_ = static_cast<int>(random_.below(12));
  }

  float operator()(float x) {
    using enum EpilogueStep;
    switch (step_) {
      case gelu_erff: {
        const float v = shape_ % 2 == 0 ? mul(x, near(0.70710678f)) : div(x, near(1.41421356f));
        return half_of(x, sigmoid(std::erf(wide(v)), v, kTwoUlp));
      }
      case gelu_tanh_tanhf:
        return by_tanh(x, inner(x), kTwoUlp);
      case gelu_tanh_tanh_approx:
        return by_tanh(x, inner(x), 0x1p-11);
      case gelu_tanh_expf:
        return quotient(x, off(std::exp(-2 * wide(inner(x))), kTwoUlp));
      case gelu_tanh_ex2_approx:
        return quotient(x, ex2(mul(-2 * inner(x), near(1.44269504f))));
      case silu_expf:
        return quotient(x, off(std::exp(-wide(x)), kTwoUlp));
      case silu_ex2_approx:
        return quotient(x, ex2(mul(x, near(-1.44269504f))));
      case silu_tanh_approx:
        return by_tanh(x, mul(0.5f, x), 0x1p-11);
      default:
        return x;
    }
  }

 private:
  static constexpr double kTwoUlp = 2.5 * 0x1p-23;

  static long double wide(float x) { return static_cast<long double>(x); }

  float flushed(float x) const {
    return flushes_ && std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
  }

  float mul(float a, float b) const { return flushed(flushed(a) * flushed(b)); }

  float add(float a, float b) const { return flushed(flushed(a) + flushed(b)); }

  float fma(float a, float b, float c) const {
    return flushed(std::fma(flushed(a), flushed(b), flushed(c)));
  }

  // A constant, or a neighbor of it.
  float near(float constant) {
    const auto draw = random_.below(3);
    return draw == 0   ? std::nextafter(constant, kFloatInfinity)
           : draw == 1 ? std::nextafter(constant, -kFloatInfinity)
                       : constant;
  }

  double part() {  // of an error: often one of its ends
    const auto draw = random_.below(4);
    return freedom_ * (draw == 0 ? -1 : draw == 1 ? 1 : 2 * random_.unit() - 1);
  }

  // erf and tanh, which are exact at infinities.
  float sigmoid(long double exact, float argument, double error) {
    return std::isinf(argument) ? static_cast<float>(exact) : off(exact, error);
  }

  // A value with a relative error up to `error`, rounded toward the exact one.
  float off(long double exact, double error) {
    const long double target = exact * (1 + static_cast<long double>(part() * error));
    auto out = static_cast<float>(target);
    if (!std::isfinite(out)) return out;
    const bool above = static_cast<long double>(out) > target;
    if (above != (target > exact) && static_cast<long double>(out) != target) return flushed(out);
    if (static_cast<long double>(out) != target)
      out = std::nextafter(out, static_cast<float>(exact));
    return flushed(out);
  }

  float ex2(float x) { return off(std::exp2(wide(x)), 0x1p-22); }

  float div(float a, float b) {
    if (random_.below(2) == 0 || !std::isfinite(a) || !std::isfinite(b)) return flushed(a / b);
    return off(wide(a) / wide(b), 0x1p-22);
  }

  // sqrt(2 / pi) (x + 0.044715 x^3)
  float inner(float x) {
    const float scale = near(0.7978845608f), factor = near(0.044715f);
    if (shape_ % 3 == 0) return mul(scale, add(x, mul(mul(mul(factor, x), x), x)));
    if (shape_ % 3 == 1) return mul(x, fma(mul(x, x), near(0.0356774081f), scale));
    return mul(mul(scale, x), fma(mul(factor, x), x, 1));
  }

  float by_tanh(float x, float argument, double error) {
    return half_of(x, sigmoid(std::tanh(wide(argument)), argument, error));
  }

  // x (1 + t) / 2
  float half_of(float x, float t) {
    const float half = mul(0.5f, x);
    switch (shape_ / 3) {
      case 0:
        return mul(half, add(1, t));
      case 1:
        return fma(half, t, half);
      case 2:
        return add(mul(half, t), half);
      default:
        return mul(x, fma(t, 0.5f, 0.5f));
    }
  }

  // x / (1 + e)
  float quotient(float x, float e) {
    const float divisor = add(1, e);
    if (shape_ / 3 == 0) return flushed(x / divisor);
    if (shape_ / 3 == 1) return div(x, divisor);
    if (shape_ / 3 == 2) return mul(x, flushed(1 / divisor));
    const float reciprocal = std::isfinite(divisor) ? off(1 / wide(divisor), 0x1p-23) : 1 / divisor;
    return mul(x, reciprocal);
  }

  EpilogueStep step_;
  Random random_;
  double freedom_;
  bool flushes_;
  int shape_;
};

inline constexpr EpilogueStep kSmoothSteps[] = {EpilogueStep::gelu_erff,
                                                EpilogueStep::gelu_tanh_tanhf,
                                                EpilogueStep::gelu_tanh_tanh_approx,
                                                EpilogueStep::gelu_tanh_expf,
                                                EpilogueStep::gelu_tanh_ex2_approx,
                                                EpilogueStep::silu_expf,
                                                EpilogueStep::silu_ex2_approx,
                                                EpilogueStep::silu_tanh_approx};

}  // namespace plumbline::testing
