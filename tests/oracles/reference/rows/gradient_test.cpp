// SPDX-License-Identifier: MIT
// The gradients of the definitions are derivatives: L = sum of dY .* Y of the forward definition,
// with mean and rstd computed, differentiated numerically over MPFR numbers. Central differences
// err by h^2 of the third derivative: with h = 2^-70, 140 bits are right.
#include <gtest/gtest.h>

#include "oracles/base/random.h"
#include "oracles/exact/real.h"
#include "oracles/reference/rows/definition.h"

namespace plumbline {
namespace {

using Number = RealOf<256>;
using Row = RowOf<Number>;

struct Layer {
  RowKind forward, backward;
  std::vector<Row> rows;  // gamma and beta are those of the first

  Number loss() const {
    Number sum = 0;
    for (const Row& row : rows) {
      Row in = row;
      in.gamma = rows.front().gamma;
      in.beta = rows.front().beta;
      const RowResult<Number> out = defined_row(forward, in);
      for (std::size_t j = 0; j < row.x.size(); ++j) sum += row.dy[j] * out.out[j];
    }
    return sum;
  }

  Number derivative(std::size_t i, std::vector<Number> Row::* of, std::size_t j) const {
    const Number h = ldexp(Number(1), -70);
    Layer up = *this, down = *this;
    (up.rows[i].*of)[j] += h;
    (down.rows[i].*of)[j] -= h;
    return (up.loss() - down.loss()) / (2 * h);
  }

  // The inputs of the backward pass of a row.
  RowResult<Number> gradient(std::size_t i) const {
    Row in = rows[i];
    in.gamma = rows.front().gamma;
    const RowResult<Number> out = defined_row(forward, in);
    if (forward == RowKind::softmax) in.x = out.out;
    in.mean = out.mean;
    in.rstd = out.rstd;
    return defined_row(backward, in);
  }
};

Layer layer_of(RowKind forward, RowKind backward, std::size_t m, std::size_t n) {
  Random random(11);
  const auto numbers = [&](double center) {
    std::vector<Number> out;
    for (std::size_t j = 0; j < n; ++j) out.emplace_back(center + 2 * random.unit() - 1);
    return out;
  };
  Layer layer{forward, backward, {}};
  for (std::size_t i = 0; i < m; ++i) {
    Row row;
    row.x = numbers(0.5);
    row.dy = numbers(0);
    row.gamma = numbers(1.5);
    row.beta = numbers(0);
    row.scale = forward == RowKind::softmax ? Number(0.75) : Number(1);
    row.eps = Number(0.01);
    layer.rows.push_back(row);
  }
  return layer;
}

void expect_equal(const Number& defined, const Number& numeric, const char* what) {
  EXPECT_LT(abs(defined - numeric), ldexp(abs(defined) + 1, -120)) << what;
  EXPECT_NE(defined, 0) << "a gradient of random data";
}

void expect_dx(RowKind forward, RowKind backward) {
  const Layer layer = layer_of(forward, backward, 3, 5);
  for (std::size_t i = 0; i < 3; ++i) {
    const RowResult<Number> gradient = layer.gradient(i);
    for (std::size_t j = 0; j < 5; ++j)
      expect_equal(gradient.out[j], layer.derivative(i, &Row::x, j), "dX");
  }
}

// dgamma is the sum over rows of dY xhat, dbeta that of dY.
void expect_parameters(RowKind forward, RowKind backward) {
  const Layer layer = layer_of(forward, backward, 3, 5);
  for (std::size_t j = 0; j < 5; ++j) {
    Number dgamma = 0, dbeta = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      dgamma += layer.rows[i].dy[j] * layer.gradient(i).xhat[j];
      dbeta += layer.rows[i].dy[j];
    }
    expect_equal(dgamma, layer.derivative(0, &Row::gamma, j), "dgamma");
    if (forward == RowKind::layernorm)
      expect_equal(dbeta, layer.derivative(0, &Row::beta, j), "dbeta");
  }
}

TEST(RowGradient, OfSoftmaxIsTheDerivative) {
  expect_dx(RowKind::softmax, RowKind::softmax_backward);
}

TEST(RowGradient, OfRmsNormIsTheDerivative) {
  expect_dx(RowKind::rmsnorm, RowKind::rmsnorm_backward);
  expect_parameters(RowKind::rmsnorm, RowKind::rmsnorm_backward);
}

TEST(RowGradient, OfLayerNormIsTheDerivative) {
  expect_dx(RowKind::layernorm, RowKind::layernorm_backward);
  expect_parameters(RowKind::layernorm, RowKind::layernorm_backward);
}

}  // namespace
}  // namespace plumbline
