// SPDX-License-Identifier: MIT
// Quantisation: codes q of a matrix x [m, n] with one f32 scale per tensor, per row or per block of
// 128 columns, so that x is about q * scale. Every step is one rounded f32 operation, so the
// contract fixes all bits of all three outputs:
//
//   amax  = the largest |x| of the group; NaN if any element is NaN
//   scale = amax == 0 ? 1 : max(amax / limit, 2^-126)   limit: the largest finite code; 127 for s8
//   q     = the nearest code (ties to even, saturating; NaN becomes NaN, or 0 in s8) of what the
//           rule says
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "oracles/formats/tensor.h"

namespace plumbline {

enum class ScaleGroup : std::uint8_t { tensor, row, block_of_128 };

// What is converted to a code.
enum class QuantizeRule : std::uint8_t {
  divide,            // x / scale
  multiply_inverse,  // x * (1 / scale)
  multiply_limit,    // x * (limit / amax)
};

std::span<const std::string_view> quantize_rule_words();  // in the order of QuantizeRule

struct QuantizeProblem {
  std::int64_t m = 0, n = 0;
  const Tensor* x = nullptr;  // [m, n], f32 or bf16
  FormatId code = FormatId::e4m3;
  ScaleGroup group = ScaleGroup::tensor;
  QuantizeRule rule = QuantizeRule::divide;

  std::int64_t groups_per_row() const {
    return group == ScaleGroup::block_of_128 ? (n + 127) / 128 : 1;
  }

  std::int64_t groups() const { return group == ScaleGroup::tensor ? 1 : m * groups_per_row(); }

  std::int64_t group_of(std::int64_t i, std::int64_t j) const {
    return group == ScaleGroup::tensor ? 0
           : group == ScaleGroup::row  ? i
                                       : i * groups_per_row() + j / 128;
  }

  float element(std::int64_t i, std::int64_t j) const;
  float limit() const;
};

// amax of every group.
std::vector<float> quantize_maxima(const QuantizeProblem& problem);

// The steps in f32 arithmetic of the host, which rounds to nearest even.
float quantize_scale(float amax, float limit);
float quantize_argument(QuantizeRule rule, float x, float scale, float amax, float limit);
std::uint64_t quantize_code(const Format& code, float argument);

// The same over MPFR numbers: the definition.
std::uint64_t defined_maximum(const QuantizeProblem& problem, std::int64_t group);  // f32 bits
std::uint64_t defined_scale(float amax, float limit);                               // f32 bits
std::uint64_t defined_code(const QuantizeProblem& problem, float x, float scale, float amax);

}  // namespace plumbline
