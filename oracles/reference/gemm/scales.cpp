// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "oracles/base/assert.h"
#include "oracles/bounds/contract/activation_range.h"
#include "oracles/bounds/contract/describe.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

std::int64_t blocks_of(std::int64_t size, std::int64_t block) {
  return block == 0 ? 1 : (size + block - 1) / block;
}

std::int64_t block_at(std::int64_t position, std::int64_t block) {
  return block == 0 ? 0 : position / block;
}

Error bad(std::string message, std::string hint) {
  return {ErrorKind::bad_input, std::move(message), "", std::move(hint)};
}

// Scales along k that an instruction takes.
Status check_block_scales(const GemmProblem& problem, const Contract& contract) {
  const std::string_view unit = word_of(unit_of(contract));
  const std::int64_t depth =
      contract.scale_depth(problem.a->layout.format, problem.b->layout.format);
  std::optional<FormatId> first;
  for (const auto& [tensor, block] : {std::pair{problem.scale_a, problem.scale_a_block},
                                      std::pair{problem.scale_b, problem.scale_b_block}}) {
    if (tensor == nullptr || !block.along_k()) continue;
    const FormatId stored = tensor->layout.format;
    if (stored != FormatId::ue8m0 && !(depth == 16 && stored == FormatId::e4m3)) {
      return bad(fmt::format("{} takes no scales in {}", unit, format(stored).name),
                 depth == 16 ? "they are ue8m0 or e4m3" : "they are ue8m0");
    }
    if (first && *first != stored) {
      return bad(fmt::format("{} takes scales of one format, not {} and {}", unit,
                             format(*first).name, format(stored).name),
                 "store both in one of them");
    }
    first = stored;
    if (block.depth % depth == 0) continue;
    return bad(fmt::format("scales change every {} of k, but {} takes one per {}", block.depth,
                           unit, depth),
               fmt::format("use blocks of {}, or of a multiple", depth));
  }
  return {};
}

}  // namespace

std::int64_t scale_entry(const GemmProblem& problem, GemmSide side, const TensorLayout& scale,
                         std::int64_t vector, std::int64_t p) {
  const bool of_a = side == GemmSide::a, tiled = is_in_tiles(scale);
  const ScaleBlock block = of_a ? problem.scale_a_block : problem.scale_b_block;
  const std::int64_t row = block_at(vector, block.vectors), depth = block_at(p, block.depth);
  const std::int64_t length =
      tiled ? scale.shape[3] * scale.shape[4] : blocks_of(problem.k, block.depth);
  return of_a || tiled ? row * length + depth : depth * blocks_of(problem.n, block.vectors) + row;
}

std::optional<float> scale_at(const GemmProblem& problem, GemmSide side, std::int64_t vector,
                              std::int64_t p) {
  const bool of_a = side == GemmSide::a;
  const Tensor* scale = of_a ? problem.scale_a : problem.scale_b;
  if (scale == nullptr) return 1.0f;
  const ScaleBlock block = of_a ? problem.scale_a_block : problem.scale_b_block;
  const TensorLayout& layout = scale->layout;
  const bool tiled = is_in_tiles(layout);  // which are whole
  const std::int64_t vectors = tiled  ? layout.shape[0] * 128
                               : of_a ? problem.m
                                      : problem.n,
                     depth = tiled ? layout.shape[3] * 4 * block.depth : problem.k;
  if (vector < 0 || vector >= vectors) return std::nullopt;
  if (block.along_k() && (p < 0 || p >= depth)) return std::nullopt;
  const std::int64_t entry = scale_entry(problem, side, layout, vector, p);
  return static_cast<float>(to_double(format(scale->layout.format), scale->bits(entry)));
}

ScaleProducts scale_products(const Contract& contract) {
  if (contract.block_scale) return ScaleProducts::exact;
  return contract.subnormals_flushed ? ScaleProducts::f32_flushed : ScaleProducts::f32;
}

BlockScales block_scales(const GemmProblem& problem, std::int64_t interval) {
  PLUMB_ASSERT(interval > 0);
  BlockScales out;
  out.depth = interval;
  out.blocks = blocks_of(problem.k, interval);
  out.m = problem.m;
  out.n = problem.n;
  out.products = problem.scale_products;
  const auto fill = [&](GemmSide side, bool along_k, std::int64_t count, std::vector<float>& to) {
    for (std::int64_t block = 0; block < out.blocks; ++block) {
      for (std::int64_t v = 0; v < count; ++v)
        to.push_back(along_k ? kept_scale(problem.scale_products,
                                          *scale_at(problem, side, v, block * interval))
                             : 1.0f);
    }
  };
  fill(GemmSide::a, problem.scale_a_block.along_k(), problem.m, out.a);
  fill(GemmSide::b, problem.scale_b_block.along_k(), problem.n, out.b);
  return out;
}

GemmProblem with_dequantized_b(const GemmProblem& problem, FormatId to) {
  const Format &from = format(problem.b->layout.format), &narrow = format(to);
  const std::int64_t n = problem.n, k = problem.k, count = problem.b->layout.count();
  TensorLayout layout = problem.b->layout;
  layout.format = to;
  layout.offset = 0;
  layout.strides = contiguous_strides(layout.shape);
  auto b = std::make_shared<Tensor>(layout);
  for (std::int64_t at = 0; at < count; ++at) {
    const float value = static_cast<float>(to_double(from, problem.b->bits(at)) -
                                           static_cast<double>(problem.zero_b));
    const auto kept = [&](float x) { return kept_scale(problem.scale_products, x); };
    const float scale = kept(*scale_at(problem, GemmSide::b, at % n, at / n % k));
    b->set_bits(at, encode(narrow, static_cast<double>(kept(value * scale))));
  }
  GemmProblem out = problem;
  out.quantized = std::make_shared<const GemmProblem>(problem);
  out.b = b.get();
  out.dequantized_b = std::move(b);
  out.scale_b = nullptr;
  out.scale_b_block = {};
  out.zero_b = 0;
  return out;
}

Status check_gemm(const GemmProblem& problem, const Contract& contract) {
  if (contract.dequantize_b && problem.dequantized_b == nullptr) {
    GemmProblem dequantized = problem;  // its B is one without scales and zero point
    dequantized.scale_b = nullptr;
    dequantized.scale_b_block = {};
    dequantized.zero_b = 0;
    Contract rest = contract;
    rest.dequantize_b.reset();
    return check_gemm(dequantized, rest);
  }
  if ((problem.zero_a != 0 || problem.zero_b != 0) && contract.unit != Unit::int32) {
    return bad("the zero points zero_a and zero_b need unit int32", "leave them at 0");
  }
  const bool told =
      std::any_of(contract.epilogue.begin(), contract.epilogue.end(),
                  [&](EpilogueStep step) { return activation_of(step) == problem.activation; });
  if (is_smooth(problem.activation) && !told) {
    std::string ways;
    for (const std::string_view word : epilogue_words()) {
      if (activation_of(*epilogue_step(word)) == problem.activation)
        ways += fmt::format("{}\"{}\"", ways.empty() ? "" : ", ", word);
    }
    return bad(fmt::format("the contract's epilogue does not say how {} is computed",
                           word_of(problem.activation)),
               fmt::format("name the step that the kernel does: {}", ways));
  }
  if (!problem.block_scaled()) return {};
  if (contract.block_scale) return check_block_scales(problem, contract);
  if (!contract.scales_sums()) {
    return bad(
        fmt::format("scales along k need promotion \"{}\" or \"{}\"",
                    word_of(Promotion::scaled_fma), word_of(Promotion::scaled)),
        "or a unit with .block_scale, which applies them itself; or use tensor, row or column "
        "scales");
  }
  for (const auto& [tensor, block] : {std::pair{problem.scale_a, problem.scale_a_block},
                                      std::pair{problem.scale_b, problem.scale_b_block}}) {
    if (tensor == nullptr || !block.along_k() || block.depth % contract.interval == 0) continue;
    return bad(fmt::format("scales change every {} of k, but sums are promoted every {}",
                           block.depth, contract.interval),
               fmt::format("the interval has to divide {}", block.depth));
  }
  return {};
}

}  // namespace plumbline
