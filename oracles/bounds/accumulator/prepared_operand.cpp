// SPDX-License-Identifier: MIT
// Exponent and lowest-bit weights from the f32 pattern, without branches so that the loops
// vectorise.
#include "oracles/bounds/accumulator/prepared_operand.h"

#include <bit>
#include <limits>

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

}  // namespace

PreparedElement prepare(float element, int minimum_exponent) {
  return prepare_element(element, power_of_two(minimum_exponent));
}

void PreparedVector::assign(const float* elements, std::int64_t k, int minimum_exponent) {
  const auto size = static_cast<std::size_t>(k);
  value.resize(size);
  exponent.resize(size);
  lowest.resize(size);
  const float minimum = power_of_two(minimum_exponent);
  for (std::size_t p = 0; p < size; ++p) {
    const PreparedElement prepared = prepare_element(elements[p], minimum);
    value[p] = prepared.value;
    exponent[p] = prepared.exponent;
    lowest[p] = prepared.lowest;
  }
}

void PreparedPanel::assign(const std::array<const float*, kPanelLanes>& vectors,
                           std::int64_t length, int minimum_exponent) {
  k = length;
  const auto size = static_cast<std::size_t>(length) * kPanelLanes;
  value.resize(size);
  exponent.resize(size);
  lowest.resize(size);
  const float minimum = power_of_two(minimum_exponent);
  // Interleave a short stretch first, so that the arithmetic runs over contiguous elements.
  constexpr std::int64_t kStretch = 64;
  for (std::int64_t begin = 0; begin < length; begin += kStretch) {
    const std::int64_t end = begin + kStretch < length ? begin + kStretch : length;
    float block[kStretch * kPanelLanes];
    for (int lane = 0; lane < kPanelLanes; ++lane) {
      const float* vector = vectors[static_cast<std::size_t>(lane)];
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
