// SPDX-License-Identifier: MIT
// Exponent and lowest-bit weights from the f32 pattern, without branches so that the loops
// vectorise.
#include "oracles/bounds/accumulator/prepared_operand.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "oracles/exact/bound_arithmetic.h"

namespace plumbline {
namespace {

constexpr std::uint32_t kExponentMask = 0x7f800000u;
constexpr std::uint32_t kMantissaMask = 0x007fffffu;

float power_of_two(int exponent) {  // of a normal f32
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

inline PreparedElement prepare_element(float element, float minimum) {
  const auto bits = std::bit_cast<std::uint32_t>(element) & 0x7fffffffu;
  const bool zero = bits == 0 || bits >= kExponentMask;
  const float magnitude = std::bit_cast<float>(bits);
  const float binade = std::bit_cast<float>(bits & kExponentMask);
  // Clearing the lowest set bit and subtracting leaves that bit's weight. A normal power of two has
  // no mantissa bit to clear: its lowest bit is itself.
  const float without_lowest = std::bit_cast<float>(bits & (bits - 1));
  const bool power = (bits & kMantissaMask) == 0;
  const float lowest = power ? magnitude : magnitude - without_lowest;
  return {zero ? 0.0f : element, zero ? 0.0f : (binade > minimum ? binade : minimum),
          zero ? std::numeric_limits<float>::infinity() : lowest};
}

constexpr ScaledElement kNothing{0, 0, std::numeric_limits<double>::infinity()};

// The scale of element p, as an element of its own format is prepared.
ScaledElement prepare_scale(const OperandScales& scales, std::int64_t p) {
  const auto scale = static_cast<double>(scales.at(p));
  if (scale == 0 || !std::isfinite(scale)) return kNothing;
  const int exponent = std::max(std::ilogb(scale), scales.minimum_exponent);
  return {scale, std::ldexp(1.0, exponent), bound::lowest_bit(scale)};
}

inline ScaledElement scaled(const PreparedElement& element, const ScaledElement& scale,
                            bool of_groups) {
  if (element.value == 0 || scale.value == 0) return kNothing;
  return {static_cast<double>(element.value) * scale.value,
          of_groups ? scale.exponent : static_cast<double>(element.exponent) * scale.exponent,
          static_cast<double>(element.lowest) * scale.lowest};
}

// Calls put(p, element) for all k elements of an operand that has scales.
template <typename Put>
void for_each_scaled(const BoundOperand& operand, std::int64_t k, float minimum, const Put& put) {
  const OperandScales& scales = operand.scales;
  for (std::int64_t begin = 0; begin < k; begin += scales.depth) {
    const ScaledElement scale = prepare_scale(scales, begin);
    for (std::int64_t p = begin; p < std::min(k, begin + scales.depth); ++p)
      put(p, scaled(prepare_element(operand.elements[p], minimum), scale, scales.group > 1));
  }
}

std::size_t whole_groups(const BoundOperand& operand, std::int64_t k) {
  const std::int64_t group = operand.scales.group;
  return static_cast<std::size_t>((k + group - 1) / group * group);
}

}  // namespace

PreparedElement prepare(float element, int minimum_exponent) {
  return prepare_element(element, power_of_two(minimum_exponent));
}

ScaledElement prepare(const BoundOperand& operand, std::int64_t p, int minimum_exponent) {
  const PreparedElement element = prepare(operand.elements[p], minimum_exponent);
  if (operand.scales.values != nullptr) {
    return scaled(element, prepare_scale(operand.scales, p), operand.scales.group > 1);
  }
  return {static_cast<double>(element.value), static_cast<double>(element.exponent),
          static_cast<double>(element.lowest)};
}

void PreparedVector::assign(const BoundOperand& operand, std::int64_t k, int minimum_exponent) {
  source = operand;
  const std::size_t size = whole_groups(operand, k);
  value.assign(size, kNothing.value);
  exponent.assign(size, kNothing.exponent);
  lowest.assign(size, kNothing.lowest);
  const float minimum = power_of_two(minimum_exponent);
  const auto put = [this](std::int64_t at, const auto& prepared) {
    const auto p = static_cast<std::size_t>(at);
    value[p] = prepared.value;
    exponent[p] = prepared.exponent;
    lowest[p] = prepared.lowest;
  };
  if (operand.scales.values != nullptr) return for_each_scaled(operand, k, minimum, put);
  for (std::int64_t p = 0; p < k; ++p) put(p, prepare_element(operand.elements[p], minimum));
}

void PreparedPanel::assign(const std::array<BoundOperand, kPanelLanes>& operands,
                           std::int64_t length, int minimum_exponent) {
  k = length;
  sources = operands;
  beyond = {};
  const std::size_t size = whole_groups(operands[0], length) * kPanelLanes;
  const float minimum = power_of_two(minimum_exponent);
  if (operands[0].scales.values != nullptr) {
    value.assign(size, 0);
    exponent.assign(size, 0);
    lowest.assign(size, std::numeric_limits<float>::infinity());
    for (std::size_t lane = 0; lane < kPanelLanes; ++lane) {
      if (operands[lane].elements == nullptr) continue;
      for_each_scaled(operands[lane], k, minimum, [&](std::int64_t p, const ScaledElement& one) {
        // The exponent of a group may lie above that of its elements.
        if (std::fabs(one.value) >= 0x1p127 || one.exponent >= 0x1p127) {
          beyond[lane] = true;
          return;
        }
        const std::size_t at = static_cast<std::size_t>(p) * kPanelLanes + lane;
        value[at] = static_cast<float>(one.value);
        exponent[at] = static_cast<float>(one.exponent);
        lowest[at] = static_cast<float>(one.lowest);
      });
    }
    return;
  }
  value.resize(size);
  exponent.resize(size);
  lowest.resize(size);
  // Interleave a short piece first, so that the arithmetic runs over contiguous elements.
  constexpr std::int64_t kChunk = 64;
  for (std::int64_t begin = 0; begin < length; begin += kChunk) {
    const std::int64_t end = begin + kChunk < length ? begin + kChunk : length;
    float block[kChunk * kPanelLanes];
    for (int lane = 0; lane < kPanelLanes; ++lane) {
      const float* vector = operands[static_cast<std::size_t>(lane)].elements;
      for (std::int64_t p = begin; p < end; ++p) {
        block[(p - begin) * kPanelLanes + lane] = vector != nullptr ? vector[p] : 0.0f;
      }
    }
    const std::int64_t base = begin * kPanelLanes;
    for (std::int64_t p = 0; p < (end - begin) * kPanelLanes; ++p) {
      const PreparedElement prepared = prepare_element(block[p], minimum);
      value[static_cast<std::size_t>(base + p)] = prepared.value;
      exponent[static_cast<std::size_t>(base + p)] = prepared.exponent;
      lowest[static_cast<std::size_t>(base + p)] = prepared.lowest;
    }
  }
}

}  // namespace plumbline
