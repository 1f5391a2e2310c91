// SPDX-License-Identifier: MIT
#include "fuzz/attention/scales.h"

#include <algorithm>
#include <cmath>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

constexpr std::int64_t kRowsOfBlock = 64;
// Scales stay far from the ends of f32 for all values; see check_attention_scales().
constexpr std::int64_t kLargestExponent = 28, kSmallestExponent = -24;

// The least power of two, from 2^`exponent` on, that brings `largest` into the format's range.
std::int64_t exponent_needed(double largest, const Format& element, std::int64_t exponent) {
  const double most = to_double(element, element.max_finite());
  while (exponent < kLargestExponent && std::ldexp(largest, -static_cast<int>(exponent)) > most)
    ++exponent;
  return exponent;
}

constexpr int kFar = 12;  // as an exponent

// Integers have use of all their bits. A model's data that are yet to be quantized are left alone.
std::int64_t exponent_of_block(double largest, const Format& element) {
  if (largest == 0 || !element.is_integer) return exponent_needed(largest, element, 0);
  return exponent_needed(largest, element, kSmallestExponent);
}

// One of four is a power of two, under which what is exact stays exact.
double draw_factor(Random& random, double spread) {
  return random.below(4) == 0 ? 1 : 1 + random.unit() * spread;
}

}  // namespace

AttentionScales::AttentionScales(const Format& element, Tensor* scales, bool shared, bool free)
    : element_(element), scales_(scales), shared_(shared), free_(free) {
  if (!scales) return;
  const std::vector<std::int64_t>& shape = scales->layout.shape;
  whole_ = shape.size() == 1;
  if (!whole_) {
    sequences_ = shape[0];
    heads_ = shape[1];
  }
  if (shape.size() == 3) blocks_ = shape[2];
  largest_.assign(static_cast<std::size_t>(scales->layout.count()), 0);
  units_.assign(largest_.size(), 1);
}

// Packed sequences lie in one batch element, whose blocks they share.
std::size_t AttentionScales::entry(const AttentionSpot& at, std::int64_t row) const {
  if (whole_) return 0;
  const bool packed = blocks_ > 0 && sequences_ == 1;
  const std::int64_t head = (packed ? 0 : at.sequence) * heads_ + at.head;
  return static_cast<std::size_t>(blocks_ > 0 ? head * blocks_ + row / kRowsOfBlock : head);
}

void AttentionScales::see(const AttentionSpot& at, std::int64_t row, double value) {
  double& largest = largest_[entry(at, row)];
  largest = std::max(largest, std::fabs(value));
}

void AttentionScales::set(std::size_t at, double unit, double factor) {
  units_[at] = unit;
  const double scale = unit * static_cast<double>(static_cast<float>(factor));
  scales_->set_bits(static_cast<std::int64_t>(at), encode(format(scales_->layout.format), scale));
}

void AttentionScales::draw_head(Random random, std::size_t at) {
  const std::size_t seen = shared_ && !whole_ ? at % static_cast<std::size_t>(heads_) : at;
  // Smaller units leave the elements all their bits, unless they are too large already.
  const std::int64_t drawn = -random.between(0, 4);
  const std::int64_t exponent = std::max(drawn, exponent_needed(largest_[seen], element_, 0));
  const double unit = std::ldexp(1.0, static_cast<int>(exponent));
  set(at, seen == at ? unit : units_[seen], draw_factor(random, 0.25));
}

void AttentionScales::draw_blocks(const AttentionStream& stream, std::int64_t batch,
                                  std::int64_t head) {
  const auto first = static_cast<std::size_t>((batch * heads_ + head) * blocks_);
  const auto seen = shared_ ? static_cast<std::size_t>(head * blocks_) : first;
  const auto blocks = static_cast<std::size_t>(blocks_);
  double of_head = 0;
  for (std::size_t block = 0; block < blocks; ++block)
    of_head = std::max(of_head, largest_[seen + block]);
  const bool alike = stream({shared_ ? 0 : batch, head, 0, 0}).below(4) == 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    Random random = stream({batch, head, 1 + static_cast<std::int64_t>(block), 0});
    // Integers in coarser units lose bits; smaller ones leave other elements all of theirs, unless
    // they are too large already.
    const std::int64_t other = random.between(0, 2);
    double factor = draw_factor(random, 0x1p-6);
    const std::int64_t needed =
        exponent_of_block(alike ? of_head : largest_[seen + block], element_);
    const std::int64_t exponent = alike                 ? needed
                                  : element_.is_integer ? needed + other
                                                        : std::max(-other, needed);
    if (free_ && exponent + kFar <= kLargestExponent && random.below(8) == 0)
      factor = std::ldexp(factor, random.below(2) == 0 ? kFar : -kFar);
    const double unit =
        seen == first ? std::ldexp(1.0, static_cast<int>(exponent)) : units_[seen + block];
    set(first + block, unit, alike ? 1 : factor);
  }
}

void AttentionScales::draw(const AttentionStream& stream) {
  if (units_.empty()) return;
  if (whole_) return draw_head(stream({}), 0);
  for (std::int64_t batch = 0; batch < sequences_; ++batch) {
    for (std::int64_t head = 0; head < heads_; ++head) {
      if (blocks_ > 0) {
        draw_blocks(stream, batch, head);
      } else {
        draw_head(stream({batch, head, 0, 0}), static_cast<std::size_t>(batch * heads_ + head));
      }
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
  const double value = std::ldexp(draw_factor(random, 0.25), static_cast<int>(exponent));
  scale->set_bits(0, encode(format(scale->layout.format), value));
}

}  // namespace plumbline
