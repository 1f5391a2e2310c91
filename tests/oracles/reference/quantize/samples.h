// SPDX-License-Identifier: MIT
// Matrices to quantize, and a kernel that does it on the host: one element after the other, with
// places to go wrong on purpose. It shares nothing with oracles/reference/quantize/quantize.cpp but
// encode() and decode().
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/quantize/quantize.h"

namespace plumbline::testing {

enum class Sample : std::uint8_t {
  normal,      // about one, each row and block at a size of its own
  any_bits,    // finite codes of the input format, uniformly
  ties,        // halfway between codes of e4m3 and s8, under a scale of exactly 1
  zeros,       // of both signs
  zero_block,  // normal, but columns 128 to 255 are zero
  subnormal,   // of f32 (bf16): the scale is at its least value
  huge,        // near the largest finite number
  with_nan,    // normal, with one NaN in each row
  with_inf,    // normal, with one infinity in each row
};

constexpr Sample kSamples[] = {Sample::normal, Sample::any_bits,   Sample::ties,
                               Sample::zeros,  Sample::zero_block, Sample::subnormal,
                               Sample::huge,   Sample::with_nan,   Sample::with_inf};
constexpr FormatId kCodeFormats[] = {FormatId::e4m3, FormatId::e5m2, FormatId::s8};
constexpr ScaleGroup kScaleGroups[] = {ScaleGroup::tensor, ScaleGroup::row,
                                       ScaleGroup::block_of_128};
constexpr QuantizeRule kQuantizeRules[] = {QuantizeRule::divide, QuantizeRule::multiply_inverse,
                                           QuantizeRule::multiply_limit};

inline float largest_code(FormatId code) {
  return code == FormatId::e4m3 ? 448.0f : code == FormatId::e5m2 ? 57344.0f : 127.0f;
}

inline float draw_value(Sample sample, FormatId code, std::int64_t i, std::int64_t j,
                        Random& random) {
  const auto sign = random.below(2) == 0 ? 1.0f : -1.0f;
  const auto uniform = static_cast<float>(random.unit());
  const float normal = sign * std::ldexp(uniform + 0x1p-20f, static_cast<int>(3 * i + j / 128));
  switch (sample) {
    case Sample::normal:
      return normal;
    case Sample::any_bits: {
      const auto bits = static_cast<std::uint32_t>(random.next());
      const auto value = std::bit_cast<float>(bits);
      return std::isfinite(value) ? value : uniform;
    }
    case Sample::ties:  // an element of each group is the largest code, so that its scale is 1
      if (j % 128 == 0) return sign * largest_code(code);
      if (code == FormatId::s8) return sign * (static_cast<float>(random.below(126)) + 0.5f);
      return sign * std::ldexp(static_cast<float>(17 + 2 * random.below(8)),
                               static_cast<int>(random.between(-9, 3)));
    case Sample::zeros:
      return sign * 0.0f;
    case Sample::zero_block:
      return j / 128 == 1 ? sign * 0.0f : normal;
    case Sample::subnormal:
      return sign * std::ldexp(uniform, -127);
    case Sample::huge:
      return sign * std::ldexp(0.5f + 0.49f * uniform, 128);
    case Sample::with_nan:
      return j == (5 * i + 1) ? std::numeric_limits<float>::quiet_NaN() : normal;
    case Sample::with_inf:
      return j == (5 * i + 1) ? sign * std::numeric_limits<float>::infinity() : normal;
  }
  return 0;
}

// Owns the tensor a QuantizeProblem points to. Not movable.
struct Matrix {
  Tensor x;
  QuantizeProblem problem;

  Matrix(std::int64_t m, std::int64_t n, Sample sample, FormatId code, ScaleGroup group,
         QuantizeRule rule = QuantizeRule::divide, FormatId input = FormatId::f32)
      : x(dense_layout(input, {m, n})) {
    Random random(static_cast<std::uint64_t>(sample) + 1);
    for (std::int64_t index = 0; index < m * n; ++index) {
      const float value = draw_value(sample, code, index / n, index % n, random);
      x.set_bits(index, encode(format(input), static_cast<double>(value),
                               {.overflow = Overflow::to_special}));
    }
    problem = {.m = m, .n = n, .x = &x, .code = code, .group = group, .rule = rule};
  }

  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  float at(std::int64_t i, std::int64_t j) const {
    return static_cast<float>(to_double(format(x.layout.format), x.bits(i * problem.n + j)));
  }

  std::string text() const {
    return "sample of " + std::string(format(problem.code).name) + ", " + x.layout.text() +
           ", group " + std::to_string(static_cast<int>(problem.group)) + ", " +
           std::string(quantize_rule_words()[static_cast<std::size_t>(problem.rule)]);
  }
};

// What a group's elements share, as a kernel finds it.
struct GroupScale {
  float amax = 0, scale = 1;
};

inline float scaled_down(const Matrix& matrix, float x, const GroupScale& group) {
  switch (matrix.problem.rule) {
    case QuantizeRule::divide:
      return x / group.scale;
    case QuantizeRule::multiply_inverse:
      return x * (1.0f / group.scale);
    case QuantizeRule::multiply_limit:
      break;
  }
  return x * (group.amax == 0 ? 1.0f : largest_code(matrix.problem.code) / group.amax);
}

// A kernel and the faults it may have.
struct Quantizer {
  std::function<float(const Matrix&, float x, const GroupScale&)> argument = scaled_down;
  std::function<double(float value)> before_conversion = [](float value) {
    return static_cast<double>(value);
  };
  EncodeOptions conversion{.overflow = Overflow::saturate};
  std::int64_t group_shift = 0;  // of the group whose scale is used

  // Rows [i0, i1) and columns [j0, j1) of group g.
  struct Extent {
    std::int64_t i0, i1, j0, j1;
  };

  static std::vector<Extent> extents(const Matrix& matrix) {
    const std::int64_t m = matrix.problem.m, n = matrix.problem.n;
    if (matrix.problem.group == ScaleGroup::tensor) return {{0, m, 0, n}};
    const std::int64_t width = matrix.problem.group == ScaleGroup::row ? n : 128;
    std::vector<Extent> all;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; j += width)
        all.push_back({i, i + 1, j, std::min(j + width, n)});
    }
    return all;
  }

  static GroupScale scale_of(const Matrix& matrix, const Extent& extent) {
    GroupScale group;
    for (std::int64_t i = extent.i0; i < extent.i1; ++i) {
      for (std::int64_t j = extent.j0; j < extent.j1; ++j) {
        const float magnitude = std::fabs(matrix.at(i, j));
        if (std::isnan(magnitude) || std::isnan(group.amax)) {
          group.amax = std::nanf("");
        } else {
          group.amax = std::fmax(group.amax, magnitude);
        }
      }
    }
    if (group.amax != 0) group.scale = group.amax / largest_code(matrix.problem.code);
    if (group.scale < 0x1p-126f) group.scale = 0x1p-126f;
    return group;
  }

  struct Outputs {
    Tensor q, scale, amax;

    const Tensor& tensor(int output) const { return output == 0 ? q : output == 1 ? scale : amax; }
  };

  Outputs run(const Matrix& matrix) const {
    const std::vector<Extent> groups = extents(matrix);
    const auto count = std::ssize(groups);
    Outputs out{Tensor(dense_layout(matrix.problem.code, {matrix.problem.m, matrix.problem.n})),
                Tensor(dense_layout(FormatId::f32, {count})),
                Tensor(dense_layout(FormatId::f32, {count}))};
    for (std::int64_t g = 0; g < count; ++g) {
      const Extent& extent = groups[static_cast<std::size_t>(g)];
      const GroupScale own = scale_of(matrix, extent);
      out.scale.set_bits(g, std::bit_cast<std::uint32_t>(own.scale));
      out.amax.set_bits(g, std::bit_cast<std::uint32_t>(own.amax));
      const std::int64_t used = std::min(g + group_shift, count - 1);
      const GroupScale group =
          used == g ? own : scale_of(matrix, groups[static_cast<std::size_t>(used)]);
      for (std::int64_t i = extent.i0; i < extent.i1; ++i) {
        for (std::int64_t j = extent.j0; j < extent.j1; ++j) {
          const double value = before_conversion(argument(matrix, matrix.at(i, j), group));
          out.q.set_bits(i * matrix.problem.n + j,
                         encode(format(matrix.problem.code), value, conversion));
        }
      }
    }
    return out;
  }
};

}  // namespace plumbline::testing
