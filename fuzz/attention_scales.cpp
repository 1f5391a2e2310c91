// SPDX-License-Identifier: MIT
#include "fuzz/attention_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

// Scales stay far from the ends of f32, whatever the values; see check_attention_scales().
constexpr std::int64_t kLargestExponent = 28;

// The least power of two that brings `largest` into the format's range, if that takes any.
std::int64_t exponent_needed(double largest, const Format& element) {
  const double most = to_double(element, element.max_finite());
  std::int64_t exponent = 0;
  while (exponent < kLargestExponent && std::ldexp(largest, -static_cast<int>(exponent)) > most)
    ++exponent;
  return exponent;
}

// One of four is a power of two, under which what is exact stays exact.
float draw_factor(Random& random) {
  const double factor = random.below(4) == 0 ? 1 : 1 + random.unit() / 4;
  return static_cast<float>(factor);
}

}  // namespace

AttentionScales::AttentionScales(const AttentionContext& context, std::string_view name,
                                 const Format& element, Tensor* scales, bool shared,
                                 const LargestOfHead& largest) {
  if (!scales) return;
  heads_ = scales->layout.shape[1];
  const AttentionStream stream = context.stream(fmt::format("{}_scale", name));
  for (std::int64_t sequence = 0; sequence < scales->layout.shape[0]; ++sequence) {
    for (std::int64_t head = 0; head < heads_; ++head) {
      Random random = stream({sequence, head, 0, 0});
      // Smaller units leave the elements all their bits, unless they are too large already.
      const std::int64_t drawn = -random.between(0, 4);
      const std::int64_t exponent =
          std::max(drawn, exponent_needed(largest(shared ? 0 : sequence, head), element));
      const bool repeated = shared && sequence > 0;
      units_.push_back(repeated ? units_[static_cast<std::size_t>(head)]
                                : std::ldexp(1.0, static_cast<int>(exponent)));
      const double scale = units_.back() * static_cast<double>(draw_factor(random));
      scales->set_bits(sequence * heads_ + head, encode(format(scales->layout.format), scale));
    }
  }
}

}  // namespace plumbline
