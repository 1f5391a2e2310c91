// SPDX-License-Identifier: MIT
#include "oracles/stages/stack.h"

#include <numbers>
#include <utility>

#include "oracles/base/assert.h"
#include "oracles/base/random.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

// About unit normal: the sum of twelve uniforms less six.
double normal(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

std::vector<float> drawn(std::int64_t count, double deviation, Random random) {
  const Format& bf16 = format(FormatId::bf16);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(to_double(bf16, encode(bf16, deviation * normal(random)))));
  return values;
}

}  // namespace

Stack random_stack(const StackShape& shape, std::uint64_t seed) {
  PLUMB_ASSERT(shape.width % shape.heads == 0);
  const Random random(seed);
  const std::int64_t square = shape.width * shape.width, wide = shape.width * shape.hidden;
  const double from_width = 1 / std::sqrt(static_cast<double>(shape.width)),
               from_hidden = 1 / std::sqrt(static_cast<double>(shape.hidden));
  Stack stack{shape, {}, drawn(shape.tokens * shape.width, 1, random.fork(0))};
  for (std::int64_t index = 0; index < shape.layers; ++index) {
    const Random of_layer = random.fork(static_cast<std::uint64_t>(index) + 1);
    StackLayer layer;
    layer.query = drawn(square, from_width, of_layer.fork(1));
    layer.key = drawn(square, from_width, of_layer.fork(2));
    layer.value = drawn(square, from_width, of_layer.fork(3));
    layer.out = drawn(square, from_width, of_layer.fork(4));
    layer.gate = drawn(wide, from_width, of_layer.fork(5));
    layer.up = drawn(wide, from_width, of_layer.fork(6));
    layer.down = drawn(wide, from_hidden, of_layer.fork(7));
    for (std::size_t half = 0; half < 2 && shape.adaptive; ++half) {
      layer.scale[half] = drawn(shape.width, 0.3, of_layer.fork(8 + half));
      layer.shift[half] = drawn(shape.width, 0.3, of_layer.fork(10 + half));
      layer.gain[half] = drawn(shape.width, 1, of_layer.fork(12 + half));
    }
    stack.layers.push_back(std::move(layer));
  }
  return stack;
}

}  // namespace plumbline
