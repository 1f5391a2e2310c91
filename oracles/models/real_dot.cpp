// SPDX-License-Identifier: MIT
#include "oracles/models/real_dot.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

constexpr int kMostTerms = 32;

// 2^e for the exponents that occur here.
double power_of_two(int e) {
  PLUMB_ASSERT(e >= -1022 && e <= 1023);
  return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

int exponent_of(double value, int smallest) { return std::max(std::ilogb(value), smallest); }

// To nearest f16, or to f32 toward zero; overflow gives Inf, as node() has it.
float converted(double exact, NodeOutput output) {
  if (output == NodeOutput::f16_nearest_even) {
    const Format& f16 = format(FormatId::f16);
    return static_cast<float>(to_double(f16, encode(f16, exact)));
  }
  if (std::fabs(exact) >= 0x1p128)
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(exact));
  float result = static_cast<float>(exact);
  if (std::fabs(static_cast<double>(result)) > std::fabs(exact))
    result = std::nextafter(result, 0.0f);
  if (output != NodeOutput::e8m13_toward_zero) return result;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) & ~std::uint32_t{0x3ff});
}

// Products on their way into one node.
class Node {
 public:
  explicit Node(const NodeModel& model) : model_(model), alignment_(model.zero_exponent) {}

  void add(double a, int a_exponent, double b, int b_exponent) {
    const double product = a * b;
    if (product == 0) return;
    add(product);
    alignment_ = std::max(alignment_, a_exponent + b_exponent);
  }

  // Products that are added exactly. Each one that is not 0 aligns, also where they sum to 0.
  void add_group(RealSpan a, RealSpan b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double product = a.values[i] * b.values[i];
      sum += product;
      if (product != 0) alignment_ = std::max(alignment_, a.exponents[i] + b.exponents[i]);
    }
    add(sum);
  }

  float sum(float c) const {
    int alignment = alignment_;
    const double start = static_cast<double>(c);
    if (c != 0)
      alignment = std::max(alignment, exponent_of(start, accumulator_format(model_.output).emin()));
    const double units = power_of_two(model_.fraction_bits - alignment);
    double sum = std::trunc(start * units);  // whole numbers far below 2^53
    for (int i = 0; i < count_; ++i) sum += std::trunc(products_[i] * units);
    return sum == 0 ? 0.0f : converted(sum / units, model_.output);
  }

 private:
  void add(double addend) {
    PLUMB_ASSERT(count_ < kMostTerms);
    products_[count_++] = addend;
  }

  const NodeModel& model_;
  double products_[kMostTerms];
  int count_ = 0;
  int alignment_;
};

float in_order(const NodeModel& model, RealSpan a, RealSpan b, float c) {
  const auto step = static_cast<std::size_t>(model.products);
  for (std::size_t first = 0; first < a.size(); first += step) {
    Node node(model);
    const std::size_t end = std::min(a.size(), first + step);
    const auto group = static_cast<std::size_t>(model.group);
    for (std::size_t i = first; i < end; i += group) {
      if (group == 1) {
        node.add(a.values[i], a.exponents[i], b.values[i], b.exponents[i]);
      } else {
        const std::size_t count = std::min(group, end - i);
        node.add_group(a.sub(i, count), b.sub(i, count));
      }
    }
    c = node.sum(c);
  }
  return c;
}

// As dot() has it: k mod 4 in {0, 1}, then {2, 3}, from zero; then one addition of C.
float hopper_fp8(const NodeModel& model, RealSpan a, RealSpan b, float c) {
  const auto step = 2 * static_cast<std::size_t>(model.products);
  for (std::size_t first = 0; first < a.size(); first += step) {
    float fresh = 0;
    for (const std::size_t half : {0, 2}) {
      Node node(model);
      for (std::size_t i = first; i < std::min(a.size(), first + step); ++i) {
        if ((i - first) % 4 / 2 * 2 == half)
          node.add(a.values[i], a.exponents[i], b.values[i], b.exponents[i]);
      }
      fresh = node.sum(fresh);
    }
    c = model.output == NodeOutput::f16_nearest_even
            ? converted(static_cast<double>(c) + static_cast<double>(fresh), model.output)
            : c + fresh;
  }
  return c;
}

}  // namespace

void RealOperands::append(double value, const Format& as) {
  values.push_back(value);
  exponents.push_back(value == 0 ? as.emin() : exponent_of(value, as.emin()));
}

void RealOperands::append_scaled(double value, const Format& as, double scale,
                                 const Format& of_scale, const NodeModel& node) {
  append(value, as);
  const int exponent = scale == 0 ? of_scale.emin() : exponent_of(scale, of_scale.emin());
  values.back() *= scale;
  exponents.back() = node.group > 1 ? exponent : exponents.back() + exponent;
}

std::size_t products_per_instruction(const DotModel& model) {
  const auto products = static_cast<std::size_t>(model.node.products);
  return model.chaining == Chaining::hopper_fp8 ? 2 * products : products;
}

float dot_of_reals(const DotModel& model, RealSpan a, RealSpan b, float c) {
  PLUMB_ASSERT(a.size() == b.size());
  return model.chaining == Chaining::hopper_fp8 ? hopper_fp8(model.node, a, b, c)
                                                : in_order(model.node, a, b, c);
}

}  // namespace plumbline
