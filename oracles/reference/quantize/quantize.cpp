// SPDX-License-Identifier: MIT
#include "oracles/reference/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "oracles/exact/real.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

constexpr float kLeastScale = 0x1p-126f;
constexpr EncodeOptions kSaturating{.overflow = Overflow::saturate};

float to_f32(const Real& value) {
  const Format& f32 = format(FormatId::f32);
  return static_cast<float>(to_double(f32, encode(f32, value)));
}

}  // namespace

std::span<const std::string_view> quantize_rule_words() {
  static constexpr std::array<std::string_view, 3> kWords = {"x / scale", "x * (1 / scale)",
                                                             "x * (limit / amax)"};
  return kWords;
}

float QuantizeProblem::element(std::int64_t i, std::int64_t j) const {
  return static_cast<float>(to_double(format(x->layout.format), x->bits(i * n + j)));
}

float QuantizeProblem::limit() const {
  const Format& f = format(code);
  return f.is_integer ? 127.0f : static_cast<float>(to_double(f, f.max_finite()));
}

std::vector<float> quantize_maxima(const QuantizeProblem& problem) {
  std::vector<float> maxima(static_cast<std::size_t>(problem.groups()), 0.0f);
  for (std::int64_t i = 0; i < problem.m; ++i) {
    for (std::int64_t j = 0; j < problem.n; ++j) {
      float& amax = maxima[static_cast<std::size_t>(problem.group_of(i, j))];
      const float magnitude = std::fabs(problem.element(i, j));
      if (std::isnan(magnitude) || magnitude > amax) amax = std::isnan(amax) ? amax : magnitude;
    }
  }
  return maxima;
}

float quantize_scale(float amax, float limit) {
  if (amax == 0) return 1.0f;
  const float scale = amax / limit;
  return scale < kLeastScale ? kLeastScale : scale;
}

float quantize_argument(QuantizeRule rule, float x, float scale, float amax, float limit) {
  switch (rule) {
    case QuantizeRule::divide:
      return x / scale;
    case QuantizeRule::multiply_inverse:
      return x * (1.0f / scale);
    case QuantizeRule::multiply_limit:
      return x * (amax == 0 ? 1.0f : limit / amax);
  }
  return x;
}

std::uint64_t quantize_code(const Format& code, float argument) {
  return encode(code, static_cast<double>(argument), kSaturating);
}

std::uint64_t defined_maximum(const QuantizeProblem& problem, std::int64_t group) {
  using Number = RealOf<64>;  // every input is exact in it
  const Format& f32 = format(FormatId::f32);
  Number largest = 0;
  for (std::int64_t i = 0; i < problem.m; ++i) {
    for (std::int64_t j = 0; j < problem.n; ++j) {
      if (problem.group_of(i, j) != group) continue;
      const Number x(problem.element(i, j));
      if (isnan(x)) return f32.canonical_nan;
      if (abs(x) > largest) largest = abs(x);
    }
  }
  return encode(f32, static_cast<double>(largest));
}

std::uint64_t defined_scale(float amax, float limit) {
  const Format& f32 = format(FormatId::f32);
  if (amax == 0) return encode(f32, 1.0);
  const Real quotient = Real(amax) / Real(limit);
  return encode(f32, quotient < Real(kLeastScale) ? Real(kLeastScale) : quotient);
}

std::uint64_t defined_code(const QuantizeProblem& problem, float x, float scale, float amax) {
  Real argument = x;
  switch (problem.rule) {
    case QuantizeRule::divide:
      argument = Real(x) / Real(scale);
      break;
    case QuantizeRule::multiply_inverse:
      argument = Real(x) * Real(to_f32(Real(1) / Real(scale)));
      break;
    case QuantizeRule::multiply_limit:
      argument = amax == 0 ? Real(x) : Real(x) * Real(to_f32(Real(problem.limit()) / Real(amax)));
      break;
  }
  return encode(format(problem.code), static_cast<double>(to_f32(argument)), kSaturating);
}

}  // namespace plumbline
