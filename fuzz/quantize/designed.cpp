// SPDX-License-Identifier: MIT
// Designed cases of quantization: the smallest inputs that must show a maximum missed, a scale of
// another row or block, a group of zeros, a code rounded the wrong way or twice.
#include "fuzz/quantize/designed.h"

#include <fmt/format.h>

#include <array>

#include "fuzz/case/classes.h"
#include "fuzz/case/designed_cases.h"
#include "fuzz/case/far_apart.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 3> kFormatsAndScale = {"in", "out", "scale"};
constexpr std::array<std::string_view, 2> kInputAndScale = {"in", "scale"};
constexpr std::array<std::string_view, 1> kScale = {"scale"};

class Designer : public DesignedCases {
 public:
  explicit Designer(const Manifest& manifest)
      : every_(every_choice(manifest, kFormatsAndScale)),
        inputs_(every_choice(manifest, kInputAndScale)),
        scales_(every_choice(manifest, kScale)) {}

  void maxima();
  void codes();
  void range();
  void layouts();
  void empty();

 private:
  // In every format and with every kind of scale that the kernel has.
  void add(std::int64_t m, std::int64_t n, std::string_view value, std::string_view shape,
           std::string_view purpose) {
    for (const std::string& words : every_) add_one(m, n, words, value, shape, "tight", purpose);
  }

  // In every format of x: maxima are found before there is a code.
  void add_maxima(std::int64_t m, std::int64_t n, std::string_view value, std::string_view shape,
                  std::string_view purpose) {
    for (const std::string& words : inputs_) add_one(m, n, words, value, shape, "tight", purpose);
  }

  // In the kernel's first formats, with every kind of scale.
  void add_layout(std::int64_t m, std::int64_t n, std::string_view strides, std::string_view value,
                  std::string_view shape, std::string_view layout, std::string_view purpose) {
    for (const std::string& words : scales_) {
      add_one(m, n, fmt::format("{} {}", words, strides), value, shape, layout, purpose);
    }
  }

  void add_one(std::int64_t m, std::int64_t n, std::string_view rest, std::string_view value,
               std::string_view shape, std::string_view layout, std::string_view purpose) {
    put(fmt::format("m={} n={} {}", m, n, rest), value, shape, layout, purpose);
  }

  std::vector<std::string> every_, inputs_, scales_;
};

void Designer::maxima() {
  const std::string_view missed = "the maximum in the last row or column, or just past a block";
  add(33, 129, "edge_maxima", "block_plus_1", missed);
  add(5, 200, "edge_maxima", "vector_tail", missed);
  add_maxima(9, 127, "edge_maxima", "block_minus_1", missed);
  add(8, 256, "edge_maxima", "blocks", missed);
  add_maxima(1, 1, "edge_maxima", "one", missed);
  add_maxima(257, 17, "edge_maxima", "row_edge", missed);
  add_maxima(4, 3000, "edge_maxima", "wide", "a long row's maximum, joined from many parts");
  add_layout(1, 32771, "", "edge_maxima", "wide", "tight",
             "a long row's maximum, joined from more parts than a block has threads");
  add_maxima(2000, 24, "edge_maxima", "tall", "a tensor's maximum, joined from many blocks");
  const std::string_view scale = "maxima at and next to powers of two and multiples of the limit";
  add(40, 256, "maxima", "blocks", scale);
  add(7, 131, "maxima", "vector_tail", scale);
  add_maxima(64, 1, "maxima", "one_column", "every element is its row's maximum");
  const std::string_view zero = "a tensor, rows and blocks without any but zeros have the scale 1";
  add(12, 260, "zero_groups", "vector_tail", zero);
  add_maxima(1, 16, "zero_groups", "one_row", zero);
  add(37, 300, "power_scaled", "prime", "the scale of another row or block");
  add(40, 384, "power_scaled", "blocks", "the scale of another row or block");
}

void Designer::codes() {
  const std::string_view ties = "ties decided the wrong way, truncation, and codes rounded twice";
  add(24, 256, "midpoints", "blocks", ties);
  add(9, 300, "midpoints", "vector_tail", ties);
  const std::string_view near = "quotients next to midpoints: the order of the two roundings";
  add(24, 256, "ties", "blocks", near);
  add(13, 131, "ties", "prime", near);
  add(33, 129, "ones", "block_plus_1", "every element is the maximum: the largest code everywhere");
  add(16, 160, "integers", "vector_tail", "a scale of 1");
  add(20, 144, "normal", "vector_tail", "ordinary data");
}

void Designer::range() {
  const std::string_view special = "NaN and Inf reach their own row or block, and no other";
  for (const std::int64_t m : {8, 9, 10}) add(m, 256, "specials", "blocks", special);
  add(11, 130, "specials", "vector_tail", special);
  add(8, 256, "subnormal", "blocks", "subnormal maxima, and scales at their least");
  add(6, 256, "large", "blocks", "maxima up to the largest finite number");
  add(16, 256, "wide", "blocks", "elements far below the smallest code");
}

void Designer::layouts() {
  const std::string_view rows = "rows of X or of the codes taken for tight";
  add_layout(20, 100, "ldx=112", "normal", "vector_tail", "padded_x", rows);
  add_layout(20, 100, "ldq=112", "normal", "vector_tail", "padded_q", rows);
  add_layout(20, 128, "ldx=144 ldq=160", "normal", "blocks", "padded_both", rows);
  add_layout(20, 128, "ldx=131 ldq=129", "normal", "blocks", "padded_odd", rows);
  add_layout(6, 100, fmt::format("ldx={}", kFarApart), "normal", "vector_tail", "padded_x",
             kFarPurpose);
  add_layout(6, 100, fmt::format("ldq={}", kFarApart), "normal", "vector_tail", "padded_q",
             kFarPurpose);
  add_layout(1, 40, "ldx=123456789 ldq=123456789", "normal", "one_row", "padded_odd",
             "strides of a dimension of size 1 must not be used");
}

// Groups without elements are groups.
void Designer::empty() {
  add_layout(0, 40, "", "normal", "empty_m", "tight", "no rows: a tensor's scale is 1");
  add_layout(40, 0, "", "normal", "empty_n", "tight", "no columns: the scales of all rows are 1");
  add_layout(0, 0, "", "normal", "empty_m", "tight", "nothing at all");
}

}  // namespace

std::vector<DesignedCase> quantize_designed(const Manifest& manifest) {
  Designer designer(manifest);
  designer.maxima();
  designer.codes();
  designer.range();
  designer.layouts();
  designer.empty();
  return designer.take();
}

}  // namespace plumbline
