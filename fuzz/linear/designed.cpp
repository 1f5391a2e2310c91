// SPDX-License-Identifier: MIT
// Designed cases of a linear layer's backward pass: gradients transposed in square problems, rows
// missing from column sums, tails of each of the three sizes, scales of another channel.
#include "fuzz/linear/designed.h"

#include <fmt/format.h>

#include <array>

#include "fuzz/case/classes.h"
#include "fuzz/case/designed_cases.h"
#include "fuzz/gemm/shapes.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 2> kWords = {"out", "scales"};

class Designer : public DesignedCases {
 public:
  explicit Designer(const Manifest& manifest)
      : tile_(gemm_tile(manifest)), words_(every_choice(manifest, kWords)) {}

  // With every output format and every kind of scales that the kernel has.
  void add(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view value,
           std::string_view shape, std::string_view purpose) {
    for (const std::string& words : words_) {
      put(fmt::format("m={} n={} k={} {}", m, n, k, words), value, shape, "tight", purpose);
    }
  }

  void selection();
  void tails();
  void bias_gradient();
  void arithmetic();
  void empty();

 private:
  GemmTile tile_;
  std::vector<std::string> words_;
};

// With more tokens than output features dy is made for dw, with fewer for dx (linear/fill.cpp); in
// square problems the seed decides, so there are several.
void Designer::selection() {
  const std::string_view transposed = "a gradient or an operand transposed where it still fits";
  for (const std::int64_t size : {16, 32, 48, 64}) {
    add(size, size, size, "index_code", "square", transposed);
    add(size, size, size, "one_hot", "square", transposed);
  }
  for (const std::string_view value : {"index_code", "one_hot"}) {
    add(48, 32, 32, value, "prime", transposed);
    add(32, 48, 48, value, "prime", transposed);
  }
  add(32, 32, 48, "index_code", "prime", transposed);
  add(48, 32, 32, "integers", "prime", transposed);
  add(37, 53, 71, "power_scaled", "prime", "rows or columns taken for others");
  add(64, 48, 80, "power_scaled", "prime", "rows or columns taken for others");
}

// The last token, the last feature out and the last feature in.
void Designer::tails() {
  const std::string_view purpose =
      "the last partial tile of a size: skipped, cut short, or too long";
  const std::int64_t edges[] = {tile_.m, tile_.n, tile_.k};
  for (const std::int64_t edge : edges) {
    for (const std::int64_t size : {edge - 1, edge, edge + 1}) {
      if (size < 1) continue;
      const std::string_view shape = size < edge    ? "tile_minus_1"
                                     : size == edge ? "tile"
                                                    : "tile_plus_1";
      add(size, 16, 16, "ones", shape, purpose);
      add(16, size, 16, "ones", shape, purpose);
      add(16, 16, size, "integers", shape, purpose);
    }
  }
  add(2 * tile_.m + 3, 9, 17, "integers", "two_tiles_plus_3", purpose);
  add(9, 2 * tile_.m + 3, 17, "integers", "two_tiles_plus_3", purpose);
  add(9, 17, 2 * tile_.n + 3, "integers", "two_tiles_plus_3", purpose);
  add(1, 1, 1, "ones", "one", purpose);
  add(1, 24, 40, "index_code", "one_token", "one token: db is dy, dw is an outer product");
  add(5, 7, 9, "normal", "tiny", purpose);
  add(tile_.m + 16, tile_.n + 16, tile_.n + 32, "integers", "many_tiles", purpose);
}

void Designer::bias_gradient() {
  const std::string_view purpose = "db without its last rows, or with some counted twice";
  for (const std::int64_t tokens :
       {std::int64_t{2}, std::int64_t{31}, std::int64_t{33}, tile_.m + 1, 2 * tile_.m + 16,
        std::int64_t{1000}, std::int64_t{4100}}) {
    const std::string_view shape = tokens >= 1000 ? "many_tokens" : "tile_plus_1";
    add(tokens, 16, 16, "ones", shape, purpose);
    add(tokens, 9, 8, "positive", shape, purpose);
  }
  add(40, tile_.n + 1, 1, "integers", "one_feature", "db past the first tile of features");
  add(40, 300, 8, "index_code", "tile_plus_1", "db past the first tile of features");
}

void Designer::arithmetic() {
  const std::string_view narrow = "an accumulator narrower than declared";
  for (const bool tokens : {true, false}) {
    const auto deep = [&](std::int64_t depth, std::string_view value, std::string_view why) {
      const std::string_view shape = tokens ? "many_tokens" : "many_features";
      add(tokens ? depth : 16, tokens ? 16 : depth, 16, value, depth >= 1000 ? shape : "tile", why);
    };
    deep(2048, "early_large", narrow);
    deep(4096, "positive", narrow);
    deep(64, "width_ladder", narrow);
    deep(2048, "width_ladder", narrow);
    deep(2048, "cancelling", "partial sums rounded to a narrow format before they are joined");
    deep(64, "large", "overflow of the accumulator and of the cast");
    deep(64, "subnormal", "subnormal inputs or outputs flushed to zero");
    deep(256, "wide", "alignment of products of very different size");
    deep(256, "outliers", "outlier channels");
    deep(32, "ties", "the output cast at and next to midpoints");
    deep(96, "specials", "NaN and Inf reach their own row or column only");
    deep(48, "specials", "scales that are 0, Inf or NaN");
  }
}

// Nothing to sum is not nothing to do.
void Designer::empty() {
  add(0, 24, 40, "normal", "empty_m", "no tokens: dw and db are zeros");
  add(0, tile_.m + 16, tile_.n + 16, "normal", "empty_m", "no tokens: dw and db are zeros");
  add(24, 0, 40, "normal", "empty_n", "no output features: dx is zeros");
  add(24, 40, 0, "normal", "empty_k", "no input features: db alone");
  add(0, 0, 0, "normal", "empty_m", "nothing at all");
}

}  // namespace

std::vector<DesignedCase> linear_designed(const Manifest& manifest) {
  Designer designer(manifest);
  designer.selection();
  designer.tails();
  designer.bias_gradient();
  designer.arithmetic();
  designer.empty();
  return designer.take();
}

}  // namespace plumbline
