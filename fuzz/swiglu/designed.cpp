// SPDX-License-Identifier: MIT
// Designed cases of a SwiGLU MLP: gates at every level, gate and up taken for each other, columns
// of the interleaved product exchanged, tails of all four sizes, h rounded otherwise than declared.
#include "fuzz/swiglu/designed.h"

#include <fmt/format.h>

#include <array>

#include "fuzz/case/classes.h"
#include "fuzz/case/designed_cases.h"
#include "fuzz/case/far_apart.h"
#include "fuzz/swiglu/shapes.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 2> kWords = {"weights", "out"};

class Designer : public DesignedCases {
 public:
  explicit Designer(const Manifest& manifest)
      : tile_(swiglu_tile(manifest)), words_(every_choice(manifest, kWords)) {}

  // With every order of weights and format of y that the kernel has.
  void add(const SwigluSizes& sizes, std::string_view value, std::string_view shape,
           std::string_view purpose, std::int64_t pad = 0) {
    for (const std::string& words : words_) {
      const bool kn = words.find("weights=kn") != words.npos;
      put(fmt::format("tokens={} d={} hidden={} d_out={} pad={} {}", sizes.tokens, sizes.d,
                      sizes.hidden, sizes.d_out, pad, words),
          value, shape,
          pad > 0 ? "padded_8"
          : kn    ? "kn"
                  : "nk",
          purpose);
    }
  }

  void activation();
  void selection();
  void tails();
  void arithmetic();
  void empty();

 private:
  SwigluSizes tile_;
  std::vector<std::string> words_;
};

void Designer::activation() {
  const std::string_view purpose =
      "silu wrong somewhere: a sign, a base, a branch, an overflow, a gate rounded too early";
  add({16, 2, 64, 8}, "gate_levels", "tiny", purpose);
  add({16, 16, 200, 8}, "gate_levels", "two_tiles_plus_3", purpose);
  add({tile_.tokens, 64, tile_.hidden, 8}, "gate_levels", "tile", purpose);
  add({24, 48, 40, 24}, "normal", "tiny", "gate and up exchanged, or one of them used twice");
  add({24, 48, 40, 24}, "positive", "tiny", "gate and up exchanged, or one of them used twice");
}

// h is 32 times a selected element of up, y a selection of that.
void Designer::selection() {
  const std::string_view purpose =
      "a column of gate or up in another's place, or a matrix transposed where it still fits";
  for (const std::int64_t size : {16, 32, 48, 64}) {
    add({size, size, size, size}, "index_code", "square", purpose);
    add({size, size, size, size}, "one_hot", "square", purpose);
  }
  add({37, 53, 71, 29}, "power_scaled", "prime", "rows or columns taken for others");
  add({16, 24, 2 * tile_.hidden + 3, 40}, "index_code", "two_tiles_plus_3", purpose);
}

void Designer::tails() {
  const std::string_view purpose =
      "the last partial tile of a size: skipped, cut short, or too long";
  std::int64_t SwigluSizes::* const fields[] = {&SwigluSizes::tokens, &SwigluSizes::d,
                                                &SwigluSizes::hidden, &SwigluSizes::d_out};
  for (const auto field : fields) {
    const std::int64_t edge = tile_.*field;
    for (const std::int64_t size : {edge - 1, edge, edge + 1, 2 * edge + 3}) {
      if (size < 1) continue;
      const std::string_view shape = size < edge        ? "tile_minus_1"
                                     : size == edge     ? "tile"
                                     : size == edge + 1 ? "tile_plus_1"
                                                        : "two_tiles_plus_3";
      SwigluSizes sizes = {9, 16, 16, 16};
      sizes.*field = size;
      add(sizes, "integers", shape, purpose);
    }
  }
  // hidden is cut by the first launch, and the depth of the second.
  for (const std::int64_t hidden : {tile_.d - 1, tile_.d + 1, 3 * tile_.d + 1}) {
    if (hidden > 0) add({9, 16, hidden, 16}, "ones", "tile_plus_1", purpose);
  }
  add({1, 1, 1, 1}, "ones", "one", purpose);
  add({1, 24, 40, 24}, "normal", "one_token", "one token, as in decoding");
  add({tile_.tokens + 16, tile_.d + 16, tile_.hidden + 32, tile_.d_out + 16}, "integers",
      "many_tiles", purpose);
  add({6, 16, 24, 16}, "integers", "tiny", kFarPurpose, kFarApart);
}

void Designer::arithmetic() {
  const auto deep = [&](std::int64_t depth, std::string_view value, std::string_view why) {
    const bool far = depth >= 1000;
    add({16, depth, 24, 16}, value, far ? "long_sums" : "tile", why);
    add({16, 24, depth, 16}, value, far ? "wide_hidden" : "tile", why);
  };
  const std::string_view narrow = "an accumulator narrower than declared";
  deep(2048, "early_large", narrow);
  deep(2048, "width_ladder", narrow);
  deep(64, "width_ladder", narrow);
  deep(1024, "cancelling", "partial sums rounded to a narrow format before they are joined");
  deep(64, "large", "overflow of the accumulator, of the product and of the cast");
  deep(64, "subnormal", "subnormal inputs or outputs flushed to zero");
  deep(256, "wide", "alignment of products of very different size");
  deep(256, "outliers", "outlier channels");
  deep(96, "specials", "NaN and Inf reach what they belong to only");
  const std::string_view cast = "h and y at and next to midpoints: truncation, ties away";
  for (const std::int64_t size : {17, 32, 48}) add({40, size, 40, 24}, "ties", "prime", cast);
}

// Nothing to sum is not nothing to do.
void Designer::empty() {
  add({0, 24, 40, 16}, "normal", "empty_tokens", "no tokens: nothing is launched");
  add({24, 0, 40, 16}, "normal", "empty_d", "nothing to sum: h and y are zeros");
  add({24, 40, 0, 16}, "normal", "empty_hidden", "no hidden features: y is zeros");
  add({24, 40, 16, 0}, "normal", "empty_out", "no output features: h alone");
  add({0, 0, 0, 0}, "normal", "empty_tokens", "nothing at all");
}

}  // namespace

std::vector<DesignedCase> swiglu_designed(const Manifest& manifest) {
  Designer designer(manifest);
  designer.activation();
  designer.selection();
  designer.tails();
  designer.arithmetic();
  designer.empty();
  return designer.take();
}

}  // namespace plumbline
