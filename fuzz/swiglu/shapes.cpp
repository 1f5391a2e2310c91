// SPDX-License-Identifier: MIT
#include "fuzz/swiglu/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "fuzz/case/draw.h"
#include "kernels/manifest/manifest.h"
#include "oracles/base/assert.h"

namespace plumbline {

namespace {

constexpr std::array<std::int64_t, 14> kPrimes = {2,  3,  5,  7,  11, 13,  17,
                                                  31, 37, 61, 67, 71, 127, 131};

std::int64_t SwigluSizes::* const kFields[] = {&SwigluSizes::tokens, &SwigluSizes::d,
                                               &SwigluSizes::hidden, &SwigluSizes::d_out};

SwigluSizes small(Random& random) {
  SwigluSizes sizes;
  for (const auto field : kFields) sizes.*field = random.between(1, 40);
  return sizes;
}

// The widths at which one of the four sizes is cut: hidden is that of a tile, and of a step along
// k.
std::int64_t draw_edge(const SwigluSizes& tile, std::int64_t SwigluSizes::* field, Random& random) {
  if (field == &SwigluSizes::hidden)
    return draw_one_of(random, std::array{tile.hidden, 2 * tile.hidden, tile.d});
  if (field == &SwigluSizes::d)
    return draw_one_of(random, std::array{tile.d, 2 * tile.d, 3 * tile.d});
  return tile.*field;
}

// Some sizes at `offset` from an edge; others small.
SwigluSizes draw_edges(const SwigluSizes& tile, std::int64_t offset, Random& random) {
  SwigluSizes sizes = small(random);
  const std::uint64_t which = 1 + random.below(15);
  for (std::size_t i = 0; i < std::size(kFields); ++i) {
    const std::int64_t edge = draw_edge(tile, kFields[i], random);
    if ((which >> i & 1) != 0) sizes.*kFields[i] = std::max<std::int64_t>(1, edge + offset);
  }
  return sizes;
}

SwigluSizes one(const SwigluSizes&, Profile, Random&) { return {}; }

SwigluSizes tiny(const SwigluSizes&, Profile, Random& random) {
  SwigluSizes sizes;
  for (const auto field : kFields) sizes.*field = random.between(1, 16);
  return sizes;
}

SwigluSizes square(const SwigluSizes&, Profile, Random& random) {
  const std::int64_t size = random.between(2, 80);
  return {size, size, size, size};
}

SwigluSizes tile_minus_1(const SwigluSizes& tile, Profile, Random& random) {
  return draw_edges(tile, -1, random);
}

SwigluSizes whole_tile(const SwigluSizes& tile, Profile, Random& random) {
  SwigluSizes sizes;
  for (const auto field : kFields) sizes.*field = draw_edge(tile, field, random);
  return sizes;
}

SwigluSizes tile_plus_1(const SwigluSizes& tile, Profile, Random& random) {
  return draw_edges(tile, 1, random);
}

SwigluSizes two_tiles_plus_3(const SwigluSizes& tile, Profile, Random& random) {
  SwigluSizes sizes = small(random);
  for (int i = 0; i < 2; ++i) {
    const auto field = kFields[random.below(4)];
    sizes.*field = 2 * tile.*field + 3;
  }
  return sizes;
}

SwigluSizes many_tiles(const SwigluSizes& tile, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick ? 2 : profile == Profile::standard ? 4 : 8;
  SwigluSizes sizes;
  for (const auto field : kFields) sizes.*field = random.between(tile.*field, most * tile.*field);
  return sizes;
}

SwigluSizes prime(const SwigluSizes&, Profile, Random& random) {
  SwigluSizes sizes;
  for (const auto field : kFields) sizes.*field = draw_one_of(random, kPrimes);
  return sizes;
}

SwigluSizes one_token(const SwigluSizes&, Profile, Random& random) {
  return {1, random.between(1, 150), random.between(1, 150), random.between(1, 150)};
}

SwigluSizes one_feature(const SwigluSizes&, Profile, Random& random) {
  SwigluSizes sizes = small(random);
  sizes.*kFields[1 + random.below(3)] = 1;
  return sizes;
}

SwigluSizes long_sums(const SwigluSizes&, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick      ? 4000
                            : profile == Profile::standard ? 12000
                                                           : 40000;
  SwigluSizes sizes = small(random);
  sizes.d = random.between(1000, most);
  return sizes;
}

SwigluSizes wide_hidden(const SwigluSizes&, Profile profile, Random& random) {
  const std::int64_t most = profile == Profile::quick ? 3000 : 12000;
  SwigluSizes sizes = small(random);
  sizes.hidden = random.between(1000, most);
  return sizes;
}

template <std::int64_t SwigluSizes::* field>
SwigluSizes empty(const SwigluSizes&, Profile, Random& random) {
  SwigluSizes sizes;
  for (const auto one : kFields) sizes.*one = random.between(1, 150);
  sizes.*field = 0;
  return sizes;
}

// clang-format off
constexpr std::array kShapeClasses = {
    SwigluShapeClass{{"one", "one token, one feature everywhere"}, one},
    SwigluShapeClass{{"tiny", "every size at most 16: less than one fragment"}, tiny},
    SwigluShapeClass{{"square", "all four sizes alike: matrices read transposed still fit"}, square},
    SwigluShapeClass{{"tile_minus_1", "one short of a tile: masks of the last line"}, tile_minus_1},
    SwigluShapeClass{{"tile", "whole tiles: no mask at all"}, whole_tile},
    SwigluShapeClass{{"tile_plus_1", "one past a tile: a second tile with one line"}, tile_plus_1},
    SwigluShapeClass{{"two_tiles_plus_3", "a short tail after whole tiles"}, two_tiles_plus_3},
    SwigluShapeClass{{"many_tiles", "a grid of tiles in both launches"}, many_tiles},
    SwigluShapeClass{{"prime", "sizes that divide nothing"}, prime},
    SwigluShapeClass{{"one_token", "tokens = 1: decoding"}, one_token},
    SwigluShapeClass{{"one_feature", "d, hidden or d_out is 1"}, one_feature},
    SwigluShapeClass{{"long_sums", "thousands of input features: long sums in gate and up"}, long_sums},
    SwigluShapeClass{{"wide_hidden", "thousands of hidden features: long sums in y"}, wide_hidden},
    SwigluShapeClass{{"empty_tokens", "tokens = 0: nothing to do"}, empty<&SwigluSizes::tokens>},
    SwigluShapeClass{{"empty_d", "d = 0: h and y are zeros, not what was there before"}, empty<&SwigluSizes::d>},
    SwigluShapeClass{{"empty_hidden", "hidden = 0: y is zeros, not what was there before"}, empty<&SwigluSizes::hidden>},
    SwigluShapeClass{{"empty_out", "d_out = 0: h alone has elements"}, empty<&SwigluSizes::d_out>},
};

// clang-format on

// One of the orders that the kernel has.
std::string_view draw_order(const Manifest& manifest, Random& random) {
  const auto field = std::find_if(manifest.schema().begin(), manifest.schema().end(),
                                  [](const Field& one) { return one.name == "weights"; });
  PLUMB_ASSERT(field != manifest.schema().end());
  return draw_one_of(random, field->choices);
}

std::string nk(const Manifest&, Random&) { return "weights=nk"; }

std::string kn(const Manifest&, Random&) { return "weights=kn"; }

std::string padded_8(const Manifest& manifest, Random& random) {
  const std::string_view order = draw_order(manifest, random);
  return fmt::format("weights={} pad={}", order, 8 * random.between(1, 9));
}

std::string padded_odd(const Manifest& manifest, Random& random) {
  const std::string_view order = draw_order(manifest, random);
  return fmt::format("weights={} pad={}", order, 2 * random.between(0, 20) + 1);
}

// clang-format off
constexpr std::array kLayoutClasses = {
    SwigluLayoutClass{{"nk", "weights stored by their outputs, as layers hold them"}, nk},
    SwigluLayoutClass{{"kn", "weights stored by their inputs"}, kn},
    SwigluLayoutClass{{"padded_8", "space after every row, still aligned where rows were"}, padded_8},
    SwigluLayoutClass{{"padded_odd", "rows at odd distances: loads that assume alignment"}, padded_odd},
};
// clang-format on

}  // namespace

SwigluSizes swiglu_tile(const Manifest& manifest) {
  SwigluSizes tile = {64, 32, 64, 64};
  const auto read = [&](const char* name, std::int64_t& size) {
    if (const auto found = manifest.tile.find(name); found != manifest.tile.end())
      size = std::max<std::int64_t>(1, found->second);
  };
  read("tokens", tile.tokens);
  read("d", tile.d);
  read("hidden", tile.hidden);
  read("d_out", tile.d_out);
  return tile;
}

std::span<const SwigluShapeClass> swiglu_shape_classes() { return kShapeClasses; }

std::span<const SwigluLayoutClass> swiglu_layout_classes() { return kLayoutClasses; }

}  // namespace plumbline
