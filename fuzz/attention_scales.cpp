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

// Smaller units leave the elements all their bits, unless they are too large already.
double draw_unit(Random& random, double largest, const Format& element) {
  const std::int64_t drawn = -random.between(0, 4);
  return std::ldexp(1.0, static_cast<int>(std::max(drawn, exponent_needed(largest, element))));
}

double largest_of_all(const AttentionContext& context, std::string_view name, bool shared,
                      const LargestOfHead& largest) {
  const bool of_queries = name == "q" || name == "do";
  const std::int64_t heads = of_queries ? context.heads : context.kv_heads;
  double most = 0;
  for (std::int64_t sequence = 0; sequence < (shared ? 1 : std::ssize(context.sequences));
       ++sequence) {
    for (std::int64_t head = 0; head < heads; ++head)
      most = std::max(most, largest(sequence, head));
  }
  return most;
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
  const AttentionStream stream = context.stream(fmt::format("{}_scale", name));
  const auto set = [&](std::int64_t index, Random& random) {
    const double scale = units_.back() * static_cast<double>(draw_factor(random));
    scales->set_bits(index, encode(format(scales->layout.format), scale));
  };
  whole_ = scales->layout.shape.size() == 1;
  if (whole_) {
    Random random = stream({});
    units_.push_back(draw_unit(random, largest_of_all(context, name, shared, largest), element));
    set(0, random);
    return;
  }
  heads_ = scales->layout.shape[1];
  for (std::int64_t sequence = 0; sequence < scales->layout.shape[0]; ++sequence) {
    for (std::int64_t head = 0; head < heads_; ++head) {
      Random random = stream({sequence, head, 0, 0});
      const double unit = draw_unit(random, largest(shared ? 0 : sequence, head), element);
      const bool repeated = shared && sequence > 0;
      units_.push_back(repeated ? units_[static_cast<std::size_t>(head)] : unit);
      set(sequence * heads_ + head, random);
    }
  }
}

void fill_ds_scale(const AttentionContext& context, Tensor* scale) {
  if (!scale) return;
  Random random = context.stream("ds_scale")({});
  const std::uint64_t extreme = random.below(8);
  const std::int64_t exponent = extreme == 0   ? random.between(16, kLargestExponent)
                                : extreme == 1 ? -random.between(12, kLargestExponent)
                                               : random.between(-4, 14);
  const double value =
      std::ldexp(static_cast<double>(draw_factor(random)), static_cast<int>(exponent));
  scale->set_bits(0, encode(format(scale->layout.format), value));
}

}  // namespace plumbline
