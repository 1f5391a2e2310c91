// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/prepared.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "oracles/base/assert.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_block_sums.h"
#include "oracles/exact/parallel.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

std::vector<VectorSize> sizes_of(const std::vector<float>& vectors, std::int64_t count,
                                 std::int64_t k, int minimum_exponent, int threads) {
  std::vector<VectorSize> sizes(static_cast<std::size_t>(count));
  for_each_block(count, 64, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      sizes[static_cast<std::size_t>(v)] = vector_size(vectors.data() + v * k, k, minimum_exponent);
    }
  });
  return sizes;
}

float value_of(const Tensor& tensor, std::uint64_t bits) {
  return static_cast<float>(to_double(format(tensor.layout.format), bits));
}

double largest_scale(const GemmProblem& problem) {
  double largest = 0;
  for (const Tensor* scales : {problem.scale_a, problem.scale_b}) {
    for (std::int64_t p = 0; scales != nullptr && p < scales->layout.count(); ++p) {
      const double size = std::fabs(static_cast<double>(value_of(*scales, scales->bits(p))));
      if (std::isfinite(size)) largest = std::max(largest, size);
    }
  }
  return largest;
}

std::optional<BoundModel> model_of(const Contract& contract, int sm, const GemmProblem& problem) {
  const FormatId a = problem.a->layout.format, b = problem.b->layout.format;
  PLUMB_ASSERT(contract.check(sm, a, b).ok());
  if (contract.exact_integers()) return std::nullopt;
  std::optional<BoundModel> model = bound_model(contract, sm, a, b);
  PLUMB_ASSERT(model.has_value());
  // Without scales fma(p, 1, sum) is an addition.
  model->scaled = problem.block_scaled() && !contract.block_scale;
  if (model->any_scaling) model->any_scaling = largest_scale(problem);
  return model;
}

EpilogueScalars scalars_of(const GemmProblem& problem) {
  EpilogueScalars out{problem.alpha, problem.beta, problem.bias_kind != BiasKind::none,
                      problem.activation};
  out.has_scale_a = problem.scale_a != nullptr && !problem.scale_a_block.along_k();
  out.has_scale_b = problem.scale_b != nullptr && !problem.scale_b_block.along_k();
  out.has_scale_d = problem.scale_d != nullptr;
  if (out.has_scale_d) out.scale_d = value_of(*problem.scale_d, problem.scale_d->bits(0));
  out.zero_d = problem.zero_d;
  return out;
}

std::optional<BlockScales> scales_of(const GemmProblem& problem, const Contract& contract) {
  PLUMB_ASSERT(check_gemm(problem, contract).ok());
  if (contract.block_scale) {
    const FormatId a = problem.a->layout.format, b = problem.b->layout.format;
    return block_scales(problem, contract.scale_depth(a, b));
  }
  if (!problem.block_scaled()) return std::nullopt;
  return block_scales(problem, contract.interval);
}

}  // namespace

GemmTensorReader::GemmTensorReader(const Tensor& tensor)
    : tensor_(&tensor), offset_(tensor.layout.offset) {
  PLUMB_ASSERT(tensor.layout.shape.size() == 3);
  for (std::size_t d = 0; d < 3; ++d)
    strides_[d] = tensor.layout.shape[d] == 1 ? 0 : tensor.layout.strides[d];
}

PreparedGemm::PreparedGemm(const GemmProblem& gemm, const Contract& promised, int target,
                           int threads)
    : problem(gemm),
      contract(promised),
      sm(target),
      operands(decode_operands(*gemm.a, *gemm.b, threads, {gemm.zero_a, gemm.zero_b})),
      scalars(scalars_of(gemm)),
      epilogue(promised, scalars, gemm.output),
      model(model_of(promised, target, gemm)),
      scales(scales_of(gemm, promised)),
      grid(model ? model->accumulator_precision() : 24),
      a_priori(model ? std::optional<APriori>(std::in_place, *model, gemm.k) : std::nullopt),
      row_specials_(operands.a_special, gemm.k,
                    [&](std::int64_t row, std::int64_t p) {
                      const GemmPlace at{row / gemm.m, row % gemm.m, p};
                      return value_of(*gemm.a, GemmTensorReader(*gemm.a).bits(at));
                    }),
      column_specials_(operands.b_special, gemm.k, [&](std::int64_t column, std::int64_t p) {
        const GemmPlace at{column / gemm.n, p, column % gemm.n};
        return value_of(*gemm.b, GemmTensorReader(*gemm.b).bits(at));
      }) {
  row_sizes_ = sizes_of(operands.a, operands.batch_a * gemm.m, gemm.k,
                        minimum_exponent(GemmSide::a), threads);
  column_sizes_ = sizes_of(operands.b, operands.batch_b * gemm.n, gemm.k,
                           minimum_exponent(GemmSide::b), threads);
  if (scales) {
    scaled_rows_ = scaled_sizes(GemmSide::a, threads);
    scaled_columns_ = scaled_sizes(GemmSide::b, threads);
  }
  for (std::int64_t i = 0; scalars.has_scale_a && i < gemm.m; ++i)
    scale_a_.push_back(*scale_at(gemm, GemmSide::a, i, 0));
  for (std::int64_t j = 0; scalars.has_scale_b && j < gemm.n; ++j)
    scale_b_.push_back(*scale_at(gemm, GemmSide::b, j, 0));
  if (gemm.beta != 0) {
    PLUMB_ASSERT(gemm.c != nullptr);
    c_.emplace(*gemm.c);
  }
  if (gemm.bias_kind != BiasKind::none) {
    PLUMB_ASSERT(gemm.bias != nullptr);
    for (std::int64_t p = 0; p < gemm.bias->layout.count(); ++p) {
      bias_.push_back(value_of(*gemm.bias, gemm.bias->bits(p)));
    }
  }
}

int PreparedGemm::minimum_exponent(GemmSide side) const {
  if (!model) return 0;  // of integers
  return side == GemmSide::a ? model->a_minimum_exponent : model->b_minimum_exponent;
}

const Format& PreparedGemm::scale_format() const {
  if (problem.scale_a != nullptr && problem.scale_a_block.along_k())
    return format(problem.scale_a->layout.format);
  if (problem.scale_b != nullptr && problem.scale_b_block.along_k())
    return format(problem.scale_b->layout.format);
  return format(FormatId::ue8m0);
}

OperandScales PreparedGemm::operand_scales(GemmSide side, std::int64_t vector) const {
  if (!in_instruction()) return {};
  const bool of_a = side == GemmSide::a;
  return {.values = (of_a ? scales->a : scales->b).data() + vector,
          .stride = of_a ? scales->m : scales->n,
          .depth = scales->depth,
          .minimum_exponent = scale_format().emin(),
          .group = model->node.group};
}

BoundOperand PreparedGemm::row_operand(const GemmPlace& at) const {
  return {row(at), operand_scales(GemmSide::a, at.i)};
}

BoundOperand PreparedGemm::column_operand(const GemmPlace& at) const {
  return {column(at), operand_scales(GemmSide::b, at.j)};
}

std::vector<PreparedGemm::ScaledSize> PreparedGemm::scaled_sizes(GemmSide side, int threads) const {
  const bool rows = side == GemmSide::a;
  const std::int64_t per_batch = rows ? problem.m : problem.n;
  const std::vector<float>& vectors = rows ? operands.a : operands.b;
  const std::vector<float>& of_side = rows ? scales->a : scales->b;
  const int minimum = minimum_exponent(side);
  const double least = in_instruction() ? std::ldexp(1.0, scale_format().emin()) : 0;
  const std::int64_t count = per_batch * (rows ? operands.batch_a : operands.batch_b);
  std::vector<ScaledSize> out(static_cast<std::size_t>(count));
  for_each_block(count, 64, threads, [&](std::int64_t first, std::int64_t last) {
    std::vector<VectorSize> parts(static_cast<std::size_t>(scales->blocks));
    std::vector<float> factors(parts.size());
    for (std::int64_t v = first; v < last; ++v) {
      ScaledSize& scaled = out[static_cast<std::size_t>(v)];
      for (std::int64_t block = 0; block < scales->blocks; ++block) {
        const auto p = static_cast<std::size_t>(block);
        const std::int64_t begin = block * scales->depth;
        parts[p] = vector_size(vectors.data() + v * problem.k + begin,
                               std::min(scales->depth, problem.k - begin), minimum);
        factors[p] = of_side[static_cast<std::size_t>(block * per_batch + v % per_batch)];
        const double size = std::fabs(static_cast<double>(factors[p]));
        if (std::isfinite(size)) scaled.largest_scale = std::max(scaled.largest_scale, size);
        // A product of two below 2^63 does not overflow.
        if (!(size < 0x1p63)) scaled.may_be_special = true;
      }
      scaled.size = scaled_vector_size(parts, factors, least);
    }
  });
  return out;
}

// A factor exceeds the product of its scales by at most 2^-24 of it, or by half a subnormal step.
double PreparedGemm::scaled_magnitude(const GemmPlace& at, double products) const {
  const double scaled = magnitude_bound(scaled_row(at).size, scaled_column(at).size);
  return in_instruction() ? scaled : scaled * (1 + 0x1p-23) + 0x1p-149 * products;
}

double PreparedGemm::largest_factor(const GemmPlace& at) const {
  return scaled_row(at).largest_scale * scaled_column(at).largest_scale * (1 + 0x1p-23) + 0x1p-149;
}

bool PreparedGemm::cannot_overflow(const GemmPlace& at, double magnitude) const {
  return a_priori->cannot_overflow(magnitude) &&
         (!scales || in_instruction() ||
          a_priori->cannot_overflow(magnitude_bound(row_size(at), column_size(at))));
}

double PreparedGemm::error_any(const GemmPlace& at, double magnitude) const {
  return a_priori->error(magnitude, scales && !in_instruction() ? largest_factor(at) : 1);
}

bool PreparedGemm::has_special_factor(const GemmPlace& at) const {
  if (!scaled_row(at).may_be_special && !scaled_column(at).may_be_special) return false;
  const std::vector<double> all = factors(at);
  return !std::all_of(all.begin(), all.end(), [](double x) { return std::isfinite(x); });
}

ClassSet PreparedGemm::products_class(const GemmPlace& at, std::span<const SpecialElement> of_row,
                                      std::span<const SpecialElement> of_column) const {
  ClassSet classes = special_class(row(at), column(at), of_row, of_column);
  if (!model || !model->fma || !model->flushes) return classes;
  // Infinity times an element that counts as 0 is NaN.
  const auto flushed = [this](const float* vector) {
    std::vector<float> out(vector, vector + problem.k);
    for (float& x : out) x = std::fabs(x) < 0x1p-126f ? 0 : x;
    return out;
  };
  const std::vector<float> row_here = flushed(row(at)), column_here = flushed(column(at));
  if (special_class(row_here.data(), column_here.data(), of_row, of_column)
          .is_only(ResultClass::nan))
    classes.add(ResultClass::nan);
  return classes;
}

// Per interval the class of its products, then of what the promotion makes of them.
ClassSet PreparedGemm::scaled_classes(const GemmPlace& at) const {
  const std::span<const SpecialElement> of_row = row_specials_.of(row_vector(at)),
                                        of_column = column_specials_.of(column_vector(at));
  const auto within = [](std::span<const SpecialElement> all, std::int64_t begin,
                         std::int64_t end) {
    const auto before = [](const SpecialElement& x, std::int64_t p) { return x.position < p; };
    const auto first = std::lower_bound(all.begin(), all.end(), begin, before);
    return std::span<const SpecialElement>(first, std::lower_bound(first, all.end(), end, before));
  };
  std::vector<ClassSet> classes;
  for (std::int64_t block = 0; block < scales->blocks; ++block) {
    const std::int64_t begin = block * scales->depth, end = begin + scales->depth;
    classes.push_back(
        products_class(at, within(of_row, begin, end), within(of_column, begin, end)));
  }
  const std::vector<double> all = factors(at);
  return running_bound(*model, row(at), column(at), problem.k, {all.data(), classes.data()})
      .classes;
}

ClassSet PreparedGemm::special_classes(const GemmPlace& at) const {
  if (scales && !in_instruction()) return scaled_classes(at);
  if (scales && has_special_factor(at)) return ResultClass::nan;
  const ClassSet classes =
      products_class(at, row_specials_.of(row_vector(at)), column_specials_.of(column_vector(at)));
  if (classes.is_only(ResultClass::nan) || !model) return classes;
  if (cannot_overflow(at, magnitude(at))) return classes;
  // The finite products may overflow before an infinite one comes; afterwards they change nothing.
  ClassSet before = bound(at).classes;
  before.add(ResultClass::finite);
  return ClassSet::of_sum(before, classes);
}

EpilogueOperands PreparedGemm::epilogue_operands(const GemmPlace& at) const {
  EpilogueOperands out;
  if (c_) out.c = value_of(*problem.c, c_->bits(at));
  if (problem.bias_kind == BiasKind::per_row) out.bias = bias_at(at.i);
  if (problem.bias_kind == BiasKind::per_column) out.bias = bias_at(at.j);
  if (!scale_a_.empty()) out.scale_a = scale_a_[static_cast<std::size_t>(at.i)];
  if (!scale_b_.empty()) out.scale_b = scale_b_[static_cast<std::size_t>(at.j)];
  return out;
}

RunningBound PreparedGemm::bound(const GemmPlace& at) const {
  const std::vector<double> all = factors(at);
  return running_bound(*model, row_operand(at), column_operand(at), problem.k,
                       {model->scaled ? all.data() : nullptr, nullptr});
}

Dyadic PreparedGemm::exact_sum(const GemmPlace& at) const {
  if (scales) return exact_block_dot(row(at), column(at), problem.k, scales->depth, factors(at));
  return exact_dot(row(at), column(at), problem.k);
}

}  // namespace plumbline
