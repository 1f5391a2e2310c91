// SPDX-License-Identifier: MIT
// Small GEMMs with their tensors, and a kernel to judge: the contract's accumulator
// (oracles/bounds/accumulator/model.h) and an epilogue written out here, with places to go wrong on
// purpose.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "oracles/base/random.h"
#include "oracles/bounds/accumulator/model.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/gemm/scales.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"
#include "tests/oracles/bounds/accumulator/dot_samples.h"

namespace plumbline::testing {

struct GemmSetup {
  std::int64_t m = 9, n = 10, k = 40, batch = 1;
  FormatId a = FormatId::bf16, b = FormatId::bf16, c = FormatId::bf16, output = FormatId::bf16;
  float alpha = 1, beta = 0;
  BiasKind bias = BiasKind::none;
  bool relu = false;
  Data data = Data::normal;
  std::uint64_t seed = 1;
  std::optional<ScaleBlock> scale_a{}, scale_b{};
  bool scale_d = false;
  std::int64_t zero_a = 0, zero_b = 0, zero_d = 0;
  bool special_scales = false;  // zeros, infinities, NaN, the largest and the smallest among them
  double scale_size = 1;        // about, of each scale
  Activation activation = Activation::none;  // where not relu
  FormatId scale_format = FormatId::f32;     // of scale_a and scale_b
};

inline Tensor tensor_of(FormatId id, std::vector<std::int64_t> shape) {
  TensorLayout layout;
  layout.format = id;
  layout.strides = contiguous_strides(shape);
  layout.shape = std::move(shape);
  return Tensor(layout);
}

inline void fill(Tensor& tensor, Data data, Random random) {
  const Format& stored_as = format(tensor.layout.format);
  for (std::int64_t p = 0; p < tensor.layout.count(); ++p) {
    const EncodeOptions saturating{Rounding::nearest_even, Overflow::saturate, 0};
    tensor.set_bits(p, encode(stored_as, draw(data, tensor.layout.format, random), saturating));
  }
}

inline std::int64_t blocks_in(std::int64_t size, std::int64_t block) {
  return block == 0 ? 1 : std::max<std::int64_t>((size + block - 1) / block, 1);
}

// Any 8-bit integers for integer formats.
inline void fill_operand(Tensor& tensor, Data data, Random random) {
  if (!format(tensor.layout.format).is_integer) return fill(tensor, data, random);
  for (std::int64_t p = 0; p < tensor.layout.count(); ++p) tensor.set_bits(p, random.next() & 0xff);
}

inline void fill_scales(Tensor& tensor, const GemmSetup& setup, Random random) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float specials[] = {0, -0.0f, infinity, -infinity, std::nanf(""), 3e38f, -1e-40f};
  for (std::int64_t p = 0; p < tensor.layout.count(); ++p) {
    float scale = static_cast<float>(setup.scale_size * (0.25 + random.unit()) *
                                     std::ldexp(1.0, static_cast<int>(random.between(-3, 3))));
    if (random.below(4) == 0) scale = -scale;
    if (setup.special_scales && random.below(3) == 0) scale = specials[random.below(7)];
    tensor.set_bits(p, encode(format(tensor.layout.format), static_cast<double>(scale)));
  }
}

// Owns what a GemmProblem points to. Not movable.
struct Gemm {
  Tensor a, b, c, bias, d, scale_a, scale_b, scale_d;
  GemmProblem problem;

  explicit Gemm(const GemmSetup& setup)
      : a(tensor_of(setup.a, {setup.batch, setup.m, setup.k})),
        b(tensor_of(setup.b, {setup.batch, setup.k, setup.n})),
        c(tensor_of(setup.c, {setup.batch, setup.m, setup.n})),
        bias(tensor_of(FormatId::f32, {setup.bias == BiasKind::per_row ? setup.m : setup.n})),
        d(tensor_of(setup.output, {setup.batch, setup.m, setup.n})) {
    const ScaleBlock block_a = setup.scale_a.value_or(kTensorScale),
                     block_b = setup.scale_b.value_or(kTensorScale);
    scale_a = tensor_of(setup.scale_format,
                        {blocks_in(setup.m, block_a.vectors), blocks_in(setup.k, block_a.depth)});
    scale_b = tensor_of(setup.scale_format,
                        {blocks_in(setup.k, block_b.depth), blocks_in(setup.n, block_b.vectors)});
    scale_d = tensor_of(FormatId::f32, {1});
    const Random random(setup.seed);
    fill_operand(a, setup.data, random.fork(1));
    fill_operand(b, setup.data, random.fork(2));
    fill_scales(scale_a, setup, random.fork(5));
    fill_scales(scale_b, setup, random.fork(6));
    fill_scales(scale_d, setup, random.fork(7));
    problem.scale_a = setup.scale_a ? &scale_a : nullptr;
    problem.scale_b = setup.scale_b ? &scale_b : nullptr;
    problem.scale_d = setup.scale_d ? &scale_d : nullptr;
    if (setup.scale_format != FormatId::f32) problem.scale_products = ScaleProducts::exact;
    problem.scale_a_block = block_a;
    problem.scale_b_block = block_b;
    problem.zero_a = setup.zero_a;
    problem.zero_b = setup.zero_b;
    problem.zero_d = setup.zero_d;
    fill(c, Data::normal, random.fork(3));
    fill(bias, Data::normal, random.fork(4));
    problem.m = setup.m;
    problem.n = setup.n;
    problem.k = setup.k;
    problem.batch = setup.batch;
    problem.a = &a;
    problem.b = &b;
    problem.c = &c;
    problem.bias = setup.bias == BiasKind::none ? nullptr : &bias;
    problem.bias_kind = setup.bias;
    problem.alpha = setup.alpha;
    problem.beta = setup.beta;
    problem.activation = setup.relu ? Activation::relu : setup.activation;
    problem.output = setup.output;
  }

  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  float value(const Tensor& tensor, std::int64_t linear) const {
    return static_cast<float>(to_double(format(tensor.layout.format), tensor.bits(linear)));
  }

  std::vector<float> row(std::int64_t batch, std::int64_t i) const {
    std::vector<float> out;
    for (std::int64_t p = 0; p < problem.k; ++p)
      out.push_back(value(a, (batch * problem.m + i) * problem.k + p));
    return out;
  }

  std::vector<float> column(std::int64_t batch, std::int64_t j) const {
    std::vector<float> out;
    for (std::int64_t p = 0; p < problem.k; ++p)
      out.push_back(value(b, (batch * problem.k + p) * problem.n + j));
    return out;
  }
};

// The scale a kernel reads for a row (column) at an element of k.
inline float scale_read(const Gemm& gemm, GemmSide side, std::int64_t vector, std::int64_t p) {
  const bool of_a = side == GemmSide::a;
  const GemmProblem& problem = gemm.problem;
  if ((of_a ? problem.scale_a : problem.scale_b) == nullptr) return 1;
  const ScaleBlock block = of_a ? problem.scale_a_block : problem.scale_b_block;
  const std::int64_t v = block.vectors == 0 ? 0 : vector / block.vectors;
  const std::int64_t d = block.depth == 0 ? 0 : p / block.depth;
  const Tensor& scale = of_a ? gemm.scale_a : gemm.scale_b;
  return gemm.value(scale, (of_a ? v : d) * scale.layout.shape[1] + (of_a ? d : v));
}

// A kernel and the faults it may have. Each hook sees the element it is called for.
struct Kernel {
  NamedContract promised;
  std::function<void(std::vector<float>& row, std::vector<float>& column)>
      products;                                         // changes what is summed
  std::function<float(float accumulator)> accumulator;  // changes the accumulator
  std::function<std::int64_t(std::int64_t i, std::int64_t j)> bias_index;
  std::function<void(GemmProblem&)> problem;  // changes the scalars
  // Changes what is read as a scale.
  std::function<float(const Gemm&, GemmSide side, std::int64_t vector, std::int64_t p)> scale =
      scale_read;
  std::function<std::int64_t(const Gemm&, std::int64_t sum, std::int64_t i, std::int64_t j)>
      integer_sum;                       // changes the sum of an integer kernel
  std::function<float(float x)> smooth;  // a smooth activation
  bool flushes = false;  // every step after the accumulator takes numbers below 2^-126 for 0
  EncodeOptions output{};

  float kept(float x) const {
    return flushes && std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
  }

  float accumulated(const Gemm& gemm, std::int64_t i, std::int64_t j, const std::vector<float>& row,
                    const std::vector<float>& column) const {
    const Contract& contract = promised.contract;
    const auto k = static_cast<std::int64_t>(row.size());
    AccumulatorOptions options;
    for (std::int64_t p = 0; contract.scales_sums() && p < k; p += contract.interval) {
      const float of_a = gemm.problem.scale_a_block.along_k() ? scale(gemm, GemmSide::a, i, p) : 1;
      const float of_b = gemm.problem.scale_b_block.along_k() ? scale(gemm, GemmSide::b, j, p) : 1;
      options.factors.push_back(kept(kept(of_a) * kept(of_b)));
    }
    const std::int64_t depth = contract.scale_depth(promised.a, promised.b);
    for (std::int64_t p = 0; contract.block_scale && p < k; p += depth) {
      const GemmProblem& given = gemm.problem;
      const bool of_a = given.scale_a_block.along_k(), of_b = given.scale_b_block.along_k();
      options.scale_format = (of_a ? gemm.scale_a : gemm.scale_b).layout.format;
      options.scales_a.push_back(of_a ? scale(gemm, GemmSide::a, i, p) : 1);
      options.scales_b.push_back(of_b ? scale(gemm, GemmSide::b, j, p) : 1);
    }
    return run_accumulator(contract, promised.sm, promised.a, promised.b, row.data(), column.data(),
                           k, options)
        .value;
  }

  std::int32_t integer_accumulated(const Gemm& gemm, std::int64_t i, std::int64_t j,
                                   const std::vector<float>& row,
                                   const std::vector<float>& column) const {
    std::int64_t sum = 0;
    for (std::size_t p = 0; p < row.size(); ++p) {
      sum += (static_cast<std::int64_t>(row[p]) - gemm.problem.zero_a) *
             (static_cast<std::int64_t>(column[p]) - gemm.problem.zero_b);
    }
    if (integer_sum) sum = integer_sum(gemm, sum, i, j);
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(sum)));
  }

  // Computes the element as the contract says: scales, alpha, beta * C, bias, relu, the output's
  // scale and zero point in f32.
  std::uint64_t element(const Gemm& gemm, std::int64_t batch, std::int64_t i,
                        std::int64_t j) const {
    GemmProblem p = gemm.problem;
    if (problem) problem(p);
    std::vector<float> row = gemm.row(batch, i), column = gemm.column(batch, j);
    if (products) products(row, column);
    float x = 0;
    if (promised.contract.exact_integers()) {
      const std::int32_t sum = integer_accumulated(gemm, i, j, row, column);
      if (p.output == FormatId::s32) return static_cast<std::uint32_t>(sum);
      x = static_cast<float>(sum);
    } else {
      x = accumulated(gemm, i, j, row, column);
    }
    if (accumulator) x = accumulator(x);
    const bool of_a = p.scale_a != nullptr && !p.scale_a_block.along_k();
    const bool of_b = p.scale_b != nullptr && !p.scale_b_block.along_k();
    const float scale_a_here = kept(of_a ? scale(gemm, GemmSide::a, i, 0) : 1);
    const float scale_b_here = kept(of_b ? scale(gemm, GemmSide::b, j, 0) : 1);
    x = kept(x);
    const std::vector<EpilogueStep>& steps = promised.contract.epilogue;
    if (std::find(steps.begin(), steps.end(), EpilogueStep::scale_ab) != steps.end()) {
      x = kept(x * kept(scale_a_here * scale_b_here));
    } else {
      if (of_a) x = kept(x * scale_a_here);
      if (of_b) x = kept(x * scale_b_here);
    }
    if (p.alpha != 1) x = kept(kept(p.alpha) * x);
    if (p.beta != 0) {
      const float c_here = kept(gemm.value(gemm.c, (batch * p.m + i) * p.n + j));
      x = kept(x + kept(kept(p.beta) * c_here));
    }
    if (p.bias_kind != BiasKind::none) {
      const std::int64_t at = bias_index                         ? bias_index(i, j)
                              : p.bias_kind == BiasKind::per_row ? i
                                                                 : j;
      x = kept(x + kept(gemm.value(gemm.bias, at)));
    }
    if (p.activation == Activation::relu && x < 0) x = 0;
    if (smooth && p.activation != Activation::relu) x = smooth(x);
    if (p.scale_d != nullptr) x = kept(x * kept(gemm.value(gemm.scale_d, 0)));
    if (p.zero_d != 0) x = std::nearbyint(x) + static_cast<float>(p.zero_d);
    return encode(format(p.output), static_cast<double>(x), output);
  }

  void run(Gemm& gemm) const {
    for (std::int64_t index = 0; index < gemm.problem.outputs(); ++index) {
      const std::int64_t j = index % gemm.problem.n, row = index / gemm.problem.n;
      gemm.d.set_bits(index, element(gemm, row / gemm.problem.m, row % gemm.problem.m, j));
    }
  }
};

inline Kernel kernel(NamedContract promised) {
  Kernel out;
  out.output = promised.contract.output;
  out.promised = std::move(promised);
  return out;
}

inline NamedContract hopper_bf16() {
  return {"hopper bf16", tensor_core_contract(), 90, FormatId::bf16, FormatId::bf16};
}

}  // namespace plumbline::testing
