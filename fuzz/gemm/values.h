// SPDX-License-Identifier: MIT
// Value classes of GEMM, as patterns: four functions from a logical position to a value. A value
// depends on the position, not on where it lies in memory or on the sizes around it (unless the
// class is about k as a whole), so that cropping a matrix keeps what remains.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/formats/format.h"

namespace plumbline {

struct At {
  std::int64_t batch, row, column;
};

// Draws of their own for every position of one tensor.
class ElementStream {
 public:
  ElementStream(const Random& random, std::string_view tensor);

  Random operator()(const At& at) const {
    const auto batch = static_cast<std::uint64_t>(at.batch),
               row = static_cast<std::uint64_t>(at.row);
    return random_.fork((batch << 56) ^ (row << 28) ^ static_cast<std::uint64_t>(at.column));
  }

 private:
  Random random_;
};

struct GemmContext {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  const Format* a = nullptr;
  const Format* b = nullptr;
  const Format* c = nullptr;
  const Format* bias = nullptr;
  bool f32_output = false;
  Random random{0};  // of (class, seed)

  ElementStream stream(std::string_view tensor) const { return {random, tensor}; }
};

// One element set after the pattern has filled everything.
struct Placement {
  std::string_view tensor;  // "a", "b", "c" or "bias"
  At at;                    // bias: column counts
  double value;
};

struct GemmPattern {
  std::function<double(const At&)> a, b,
      c;  // a: row i, column k; b: row k, column j; c: row i, column j
  std::function<double(std::int64_t)> bias;  // index i or j
  std::vector<Placement> placements;
};

struct GemmValueClass {
  std::string_view name;
  GemmPattern (*pattern)(const GemmContext&);
};

// An entry of a scale tensor for data of a class: powers of two where the class is exact, anything
// else elsewhere.
double gemm_scale(std::string_view value_class, Random random);

// A pattern's value as an element of integer formats: fractions are spread over their range, and u8
// takes magnitudes.
double gemm_in_range(const Format& element, double value);

// All classes of values.h that GEMM has.
std::span<const GemmValueClass> gemm_value_classes();

// gemm/values_random.cpp
GemmPattern gemm_normal(const GemmContext& context);
GemmPattern gemm_positive(const GemmContext& context);
GemmPattern gemm_ones(const GemmContext& context);
GemmPattern gemm_outliers(const GemmContext& context);
GemmPattern gemm_early_large(const GemmContext& context);
// gemm/values_range.cpp
GemmPattern gemm_wide(const GemmContext& context);
GemmPattern gemm_subnormal(const GemmContext& context);
GemmPattern gemm_large(const GemmContext& context);
GemmPattern gemm_specials(const GemmContext& context);
GemmPattern gemm_zero_slices(const GemmContext& context);
// gemm/values_cancelling.cpp
GemmPattern gemm_cancelling(const GemmContext& context);
// gemm/values_exact.cpp
GemmPattern gemm_integers(const GemmContext& context);
GemmPattern gemm_power_scaled(const GemmContext& context);
GemmPattern gemm_one_hot(const GemmContext& context);
GemmPattern gemm_index_code(const GemmContext& context);
// gemm/values_rungs.cpp
GemmPattern gemm_width_ladder(const GemmContext& context);
GemmPattern gemm_ties(const GemmContext& context);

}  // namespace plumbline
