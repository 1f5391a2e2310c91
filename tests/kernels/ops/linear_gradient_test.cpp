// SPDX-License-Identifier: MIT
// The three GEMMs of linear_backward are the gradients of a linear layer: L = sum of dy .* (x w^T +
// bias), differentiated numerically. L is linear in each variable, so central differences err by
// rounding alone: 2^-256 of L, over h = 2^-85.
#include "oracles/exact/real.h"
#include "oracles/reference/gemm/definition.h"
#include "oracles/reference/gemm/joined_oracle.h"
#include "tests/kernels/ops/operation_case.h"

namespace plumbline {
namespace {

using Number = RealOf<256>;

struct Layer {
  std::int64_t m, n, k;
  std::vector<Number> dy, x, w, bias;  // as the layer sees them: scaled

  Number loss() const {
    Number sum = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Number y = bias[static_cast<std::size_t>(j)];
        for (std::int64_t c = 0; c < k; ++c) {
          y += x[static_cast<std::size_t>(i * k + c)] * w[static_cast<std::size_t>(j * k + c)];
        }
        sum += dy[static_cast<std::size_t>(i * n + j)] * y;
      }
    }
    return sum;
  }

  Number derivative(std::vector<Number> Layer::* variables, std::int64_t index) const {
    const Number h = ldexp(Number(1), -85);
    Layer up = *this, down = *this;
    (up.*variables)[static_cast<std::size_t>(index)] += h;
    (down.*variables)[static_cast<std::size_t>(index)] -= h;
    return (up.loss() - down.loss()) / (2 * h);
  }
};

// bf16(fl(w * scale)) by integer arithmetic.
float dequantized(float w, float scale) {
  const auto bits = std::bit_cast<std::uint32_t>(w * scale);
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u);
}

Layer layer_of(const OperationCase& made) {
  Layer layer{made.problem.integer("m"),
              made.problem.integer("n"),
              made.problem.integer("k"),
              {},
              {},
              {},
              {}};
  const bool s8 = made.tensor("w").layout.format == FormatId::s8;
  for (std::int64_t p = 0; p < layer.m * layer.n; ++p) {
    layer.dy.push_back(Number(made.value("dy", p)) * Number(made.scale("scale_dy", 0)));
  }
  for (std::int64_t p = 0; p < layer.m * layer.k; ++p) {
    layer.x.push_back(Number(made.value("x", p)) * Number(made.scale("scale_x", 0)));
  }
  for (std::int64_t p = 0; p < layer.n * layer.k; ++p) {
    const float w = made.value("w", p);
    layer.w.push_back(s8 ? Number(dequantized(w, made.value("scale_w", p / layer.k)))
                         : Number(w) * Number(made.scale("scale_w", 0)));
  }
  for (std::int64_t j = 0; j < layer.n; ++j) layer.bias.push_back(Number(j) / 3);
  return layer;
}

void expect_gradients(const std::string& kernel, const std::string& fields) {
  const OperationCase made(kernel, "m=4 n=6 k=5 " + fields, 90);
  const auto& joined = dynamic_cast<const JoinedOracle&>(*made.oracle);
  const Layer layer = layer_of(made);

  struct Gradient {
    const char* name;
    std::vector<Number> Layer::* of;
  };

  const Gradient gradients[] = {{"dx", &Layer::x}, {"dw", &Layer::w}, {"db", &Layer::bias}};
  for (int output = 0; output < 3; ++output) {
    const auto& [name, of] = gradients[output];
    ASSERT_EQ(joined.output_name(output), name);
    const GemmProblem& gemm = joined.problem_of(output, 0);
    ASSERT_EQ(gemm.outputs(), std::ssize(layer.*of)) << name;
    for (std::int64_t index = 0; index < gemm.outputs(); ++index) {
      const Number defined(gemm_value(gemm, 0, index / gemm.n, index % gemm.n));
      const Number numeric = layer.derivative(of, index);
      EXPECT_LT(abs(defined - numeric), ldexp(abs(defined) + 1, -160))
          << kernel << " " << name << " " << index;
      EXPECT_NE(defined, 0) << "a gradient of random data";
    }
  }
}

TEST(LinearGradient, OfBf16IsTheDerivative) { expect_gradients("linear_bf16_backward", "out=f32"); }

TEST(LinearGradient, OfFp8WithScalesIsTheDerivative) {
  expect_gradients("linear_fp8_backward", "scales=tensor");
}

// The layer is that of the rounded weights.
TEST(LinearGradient, OfS8WeightsIsTheDerivativeAtTheirRoundedValues) {
  expect_gradients("linear_s8_backward", "out=f32");
}

}  // namespace
}  // namespace plumbline
