// SPDX-License-Identifier: MIT
// What class an accumulator ends in when operands hold NaN or Inf, by sign analysis of the products
// alone (IEEE 754: a NaN factor, Inf * 0 and Inf - Inf give NaN; otherwise an infinite product
// decides). Finite products never matter, unless they overflow on the way; running_bound.h looks
// after those.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "oracles/bounds/contract/value_class_set.h"

namespace plumbline {

struct SpecialElement {
  std::int64_t position;  // in k
  float value;            // NaN or an infinity
};

// The elements of vectors (rows of A or columns of B) that are not finite.
class SpecialElements {
 public:
  SpecialElements() = default;
  // flags: one per vector, non-zero if it holds any; element(vector, p) is read for flagged vectors
  // only.
  SpecialElements(std::span<const std::uint8_t> flags, std::int64_t k,
                  const std::function<float(std::int64_t vector, std::int64_t p)>& element);

  // By increasing position.
  std::span<const SpecialElement> of(std::int64_t vector) const {
    const auto begin = static_cast<std::size_t>(start_[static_cast<std::size_t>(vector)]);
    const auto end = static_cast<std::size_t>(start_[static_cast<std::size_t>(vector) + 1]);
    return std::span(elements_).subspan(begin, end - begin);
  }

 private:
  std::vector<std::int64_t> start_;
  std::vector<SpecialElement> elements_;
};

// The class of sum over k of row[k] * column[k], where row and column hold the finite elements
// (anything elsewhere): {finite} when there are no others.
ClassSet special_class(const float* row, const float* column,
                       std::span<const SpecialElement> row_specials,
                       std::span<const SpecialElement> column_specials);

}  // namespace plumbline
