// SPDX-License-Identifier: MIT
// Designed cases of the row operations: the smallest inputs that must show a column or row left out
// of a sum, padding in it, the parameters of another row or column, a mean or maximum not
// subtracted, and what becomes of special values.
#include "fuzz/rows/designed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fuzz/case/classes.h"
#include "fuzz/case/designed_cases.h"
#include "fuzz/case/far_apart.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 1> kOut = {"out"};

class Designer : public DesignedCases {
 public:
  Designer(const Manifest& manifest, std::span<const std::string_view> strides)
      : outputs_(every_choice(manifest, kOut)), strides_(strides) {
    for (const Field& field : manifest.schema()) {
      has_scale_ |= field.name == "scale" && !field.fixed;
      has_eps_ |= field.name == "eps" && !field.fixed;
    }
  }

  void sums();
  void numbers();
  void range();
  void layouts();
  void empty();

 private:
  void add(std::int64_t m, std::int64_t n, std::string_view value, std::string_view shape,
           std::string_view purpose, std::string_view rest = "",
           std::string_view layout = "tight") {
    for (const std::string& words : outputs_) {
      put(fmt::format("m={} n={} {} {}", m, n, words, rest), value, shape, layout, purpose);
    }
  }

  // In the kernel's first format, where a case takes long.
  void add_once(std::int64_t m, std::int64_t n, std::string_view value, std::string_view shape,
                std::string_view purpose) {
    put(fmt::format("m={} n={} {}", m, n, outputs_.front()), value, shape, "tight", purpose);
  }

  std::string padded(std::int64_t stride) const {
    std::string text;
    for (const std::string_view field : strides_) text += fmt::format("{}={} ", field, stride);
    return text;
  }

  std::vector<std::string> outputs_;
  std::span<const std::string_view> strides_;
  bool has_scale_ = false, has_eps_ = false;
};

void Designer::sums() {
  const std::string_view missed = "a column left out of a sum, or one too many";
  for (const std::int64_t n : {1, 2, 7, 9, 31, 33, 127, 129}) {
    add(3, n, "positive", n == 1 ? "one_column" : "tiny", missed);
  }
  add(2, 1023, "normal", "block_minus_1", missed);
  add(2, 1024, "integers", "blocks", missed);
  add(2, 1025, "positive", "block_plus_1", missed);
  add(1, 20000, "ones", "wide", "a long row whose sums are exact");
  add_once(2, 8192, "normal", "wide", "a path of its own for a width that models have");
  const std::string_view longest = "a row longer than 16 bits count, and in f32 than shared memory";
  add_once(1, 65573, "normal", "wide", longest);
  const std::string_view rows = "a row left out of a sum along columns, or a stripe of them";
  for (const std::int64_t m : {1, 2, 31, 32, 33, 65}) add(m, 12, "positive", "row_edge", rows);
  add(1030, 5, "normal", "tall", "more rows than blocks: what one leaves to the next");
  add(40, 200, "power_scaled", "vector_tail", "a value of another row: off by a power of two");
  add(9, 64, "one_hot", "power", "one element stands out: exact almost everywhere");
  add(12, 72, "offset_rows", "vector_tail", "a large mean and a small spread");
  add(4, 4096, "offset_rows", "wide", "a large mean and a small spread, over many columns");
  add(12, 64, "equal_rows", "power", "a row without spread: exactly beta, or exactly 1 / n");
  add(12, 100, "equal_rows", "vector_tail", "a row without spread");
}

void Designer::numbers() {
  if (has_scale_) {
    for (const std::string_view scale : {"0.125", "2.5", "-0.75", "0"}) {
      add(5, 70, "normal", "vector_tail", "the scale left out, or applied twice",
          fmt::format("scale={}", scale));
    }
  }
  if (has_eps_) {
    for (const std::string_view eps : {"0.25", "0"}) {
      const std::string rest = fmt::format("eps={}", eps);
      add(5, 70, "normal", "vector_tail", "eps left out", rest);
      add(5, 16, "equal_rows", "power", "eps decides alone, or a division by zero", rest);
    }
    add(5, 70, "subnormal", "vector_tail", "eps decides alone");
  }
}

void Designer::range() {
  const std::string_view special = "NaN and Inf reach their own row or column, and no other";
  add(12, 40, "specials", "vector_tail", special);
  add(6, 1, "specials", "one_column", special);
  add(6, 1030, "specials", "block_plus_1", special);
  add_once(7, 2100, "specials", "wide",
           "vectors and tiles of a row that are masked before its first finite element");
  add(8, 48, "subnormal", "vector_tail", "subnormal elements, sums and outputs");
  add(8, 48, "large", "vector_tail", "sums and squares about the largest f32");
  add(8, 80, "wide", "vector_tail", "elements far below their row's largest");
  add(8, 80, "outliers", "vector_tail", "channels that dominate a row");
}

void Designer::layouts() {
  const std::string_view rows = "rows taken for tight";
  add(6, 40, "normal", "vector_tail", rows, padded(48), "padded_all");
  add(6, 40, "normal", "vector_tail", rows, padded(43), "padded_odd");
  add(3, 1032, "normal", "block_plus_1", rows, padded(1040), "padded_all");
  add(6, 40, "normal", "vector_tail", kFarPurpose, padded(kFarApart), "padded_all");
  add(1, 40, "normal", "one_row", "strides of a dimension of size 1 must not be used",
      padded(12345679), "padded_odd");
  for (const std::string_view field : strides_) {
    add(5, 24, "normal", "vector_tail", rows, fmt::format("{}=32", field), "padded_in");
  }
}

void Designer::empty() { add(0, 40, "normal", "empty_m", "no rows: sums along columns are 0"); }

}  // namespace

std::vector<DesignedCase> row_designed(const Manifest& manifest,
                                       std::span<const std::string_view> strides) {
  Designer designer(manifest, strides);
  designer.sums();
  designer.numbers();
  designer.range();
  designer.layouts();
  designer.empty();
  return designer.take();
}

}  // namespace plumbline
