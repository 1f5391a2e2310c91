// SPDX-License-Identifier: MIT
// The operations that work row by row on a matrix [m, n]: softmax, RMSNorm, LayerNorm and their
// gradients. oracles/bounds/contract/rows.h has the formulas.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "oracles/bounds/contract/rows.h"
#include "oracles/formats/tensor.h"

namespace plumbline {

enum class RowKind : std::uint8_t {
  softmax,
  softmax_backward,
  rmsnorm,
  rmsnorm_backward,
  layernorm,
  layernorm_backward,
};

// One row of the inputs. What an operation does not have is empty, or its neutral number.
template <typename Number>
struct RowOf {
  std::vector<Number> x;   // of a softmax's gradient: y
  std::vector<Number> dy;  // gradients only
  std::vector<Number> gamma, beta;
  Number scale = 1, eps = 0, mean = 0, rstd = 1;
  Number gamma_plus = 0;                // what is added to gamma
  FormatId normalized = FormatId::f32;  // of what meets gamma; f32: it is not rounded

  std::int64_t n() const { return static_cast<std::int64_t>(x.size()); }
};

// What a row gives. Numbers or ranges of them.
template <typename Number>
struct RowResult {
  std::vector<Number> out;   // Y or dX
  std::vector<Number> xhat;  // gradients of norms: what dy is multiplied by in dgamma
  Number mean{}, rstd{};     // norms
};

struct RowProblem {
  RowKind kind = RowKind::softmax;
  std::int64_t m = 0, n = 0;
  float scale = 1, eps = 0, gamma_plus = 0;
  RowContract contract;
  // Null where the operation has none.
  const Tensor *x = nullptr, *dy = nullptr, *gamma = nullptr, *beta = nullptr, *mean = nullptr,
               *rstd = nullptr;
  std::vector<const Tensor*> outputs;  // layouts; explain() also reads mean and rstd
  std::vector<std::string_view> output_names;

  bool has_column_sums() const {
    return kind == RowKind::rmsnorm_backward || kind == RowKind::layernorm_backward;
  }

  RowOf<float> row(std::int64_t i) const { return row(i, 0, n); }

  // Some of its columns.
  RowOf<float> row(std::int64_t i, std::int64_t first, std::int64_t count) const;
};

template <typename Number>
RowOf<Number> converted(const RowOf<float>& row) {
  const auto each = [](const std::vector<float>& values) {
    std::vector<Number> out;
    out.reserve(values.size());
    for (const float value : values) out.emplace_back(static_cast<double>(value));
    return out;
  };
  const auto one = [](float value) { return Number(static_cast<double>(value)); };
  return {each(row.x),  each(row.dy),  each(row.gamma), each(row.beta),      one(row.scale),
          one(row.eps), one(row.mean), one(row.rstd),   one(row.gamma_plus), row.normalized};
}

}  // namespace plumbline
