// SPDX-License-Identifier: MIT
// One dot product as the contract's hardware does it.
#include "oracles/bounds/accumulator/model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"
#include "oracles/models/node.h"

namespace plumbline {
namespace {

float rounded_to_bf16(float x) {
  const Format& bf16 = format(FormatId::bf16);
  return static_cast<float>(to_double(bf16, encode(bf16, static_cast<double>(x))));
}

// Subnormal numbers become zeros, as operands and results of f32 atomics on global memory do.
float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

class Machine {
 public:
  Machine(const Contract& contract, int sm, FormatId a, FormatId b, const float* row,
          const float* column, std::int64_t k, const AccumulatorOptions& options)
      : contract_(contract),
        a_(format(a)),
        b_(format(b)),
        row_(row),
        column_(column),
        keep_steps_(options.keep_steps),
        factors_(options.factors),
        scale_format_(options.scale_format) {
    if (contract.unit != Unit::tensor_core) return;
    const auto model = contract.unit_model(sm, a, b);
    PLUMB_ASSERT(model.has_value());
    model_ = *model;
    for (std::int64_t p = 0; p < k; ++p) {
      a_codes_.push_back(static_cast<std::uint32_t>(encode(a_, static_cast<double>(row[p]))));
      b_codes_.push_back(static_cast<std::uint32_t>(encode(b_, static_cast<double>(column[p]))));
    }
    if (!contract.block_scale) return;
    scale_depth_ = contract.scale_depth(a, b);
    scales_a_ = decoded_scales(options.scales_a, k);
    scales_b_ = decoded_scales(options.scales_b, k);
  }

  // One accumulator over [begin, end), from zero.
  float chain(std::int64_t begin, std::int64_t end) {
    if (contract_.unit == Unit::int32) return integers(begin, end);
    float value = 0;
    const std::int64_t step = contract_.unit == Unit::fma_f32           ? 1
                              : model_.chaining == Chaining::hopper_fp8 ? 2 * model_.node.products
                                                                        : model_.node.products;
    for (std::int64_t base = begin; base < end; base += step) {
      const std::int64_t stop = std::min(end, base + step);
      value = contract_.unit == Unit::fma_f32 ? fma(row_[base], column_[base], value)
                                              : instruction(base, stop, value);
      if (keep_steps_) steps.push_back({stop, value});
    }
    return value;
  }

  float part(std::int64_t begin, std::int64_t end) {
    if (contract_.schedule != Schedule::promote) return chain(begin, end);
    float total = 0;
    for (std::int64_t base = begin; base < end; base += contract_.interval) {
      const float fresh = chain(base, std::min(end, base + contract_.interval));
      if (contract_.scales_sums()) {
        const auto interval = static_cast<std::size_t>(base / contract_.interval);
        total = fma(fresh, factors_.empty() ? 1.0f : static_cast<float>(factors_[interval]), total);
      } else {
        total = kept(total + kept(fresh));
      }
    }
    return total;
  }

  std::vector<AccumulatorStep> steps;

 private:
  float kept(float x) const { return contract_.subnormals_flushed ? flushed(x) : x; }

  float fma(float a, float b, float c) const { return kept(std::fma(kept(a), kept(b), kept(c))); }

  // An int32 sum as an f32.
  float integers(std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t p = begin; p < end; ++p)
      sum += static_cast<double>(row_[p]) * static_cast<double>(column_[p]);
    const auto value = static_cast<float>(sum);
    if (keep_steps_) steps.push_back({end, value});
    return value;
  }

  // Of every block of k to the end of the last instruction: 1 where there are none.
  std::vector<Decoded> decoded_scales(const std::vector<float>& given, std::int64_t k) const {
    const std::int64_t length = model_.node.products;
    const std::int64_t blocks = (k + length - 1) / length * length / scale_depth_;
    const Format& of_scales = format(scale_format_);
    std::vector<Decoded> scales;
    for (std::size_t block = 0; block < static_cast<std::size_t>(blocks); ++block) {
      const float scale = block < given.size() ? std::fabs(given[block]) : 1.0f;
      scales.push_back(decode(of_scales, encode(of_scales, static_cast<double>(scale))));
    }
    return scales;
  }

  // Products beyond the end are of zeros.
  float scaled_instruction(std::int64_t begin, std::int64_t end, float accumulator) const {
    const auto length = static_cast<std::size_t>(model_.node.products),
               blocks = length / static_cast<std::size_t>(scale_depth_),
               first_block = static_cast<std::size_t>(begin / scale_depth_);
    std::vector<Decoded> a(length, decode(a_, 0)), b(length, decode(b_, 0));
    for (std::int64_t p = begin; p < end; ++p) {
      const auto at = static_cast<std::size_t>(p), to = static_cast<std::size_t>(p - begin);
      a[to] = decode(a_, a_codes_[at]);
      b[to] = decode(b_, b_codes_[at]);
    }
    const NodeScales scales{scale_format_, std::span(scales_a_).subspan(first_block, blocks),
                            std::span(scales_b_).subspan(first_block, blocks)};
    return std::bit_cast<float>(
        scaled_node(model_.node, a_, b_, a, b, scales, std::bit_cast<std::uint32_t>(accumulator)));
  }

  float instruction(std::int64_t begin, std::int64_t end, float accumulator) const {
    if (contract_.block_scale) return scaled_instruction(begin, end, accumulator);
    const auto first = static_cast<std::size_t>(begin),
               count = static_cast<std::size_t>(end - begin);
    const std::span<const std::uint32_t> a(a_codes_), b(b_codes_);
    const Format& of_sums = format(contract_.accumulator);
    const auto c = static_cast<std::uint32_t>(encode(of_sums, static_cast<double>(accumulator)));
    const std::uint32_t d =
        dot(model_, a_, b_, a.subspan(first, count), b.subspan(first, count), c);
    return static_cast<float>(to_double(of_sums, d));
  }

  const Contract& contract_;
  const Format& a_;
  const Format& b_;
  const float* row_;
  const float* column_;
  bool keep_steps_;
  const std::vector<double>& factors_;
  DotModel model_{};
  std::vector<std::uint32_t> a_codes_, b_codes_;
  FormatId scale_format_;
  std::int64_t scale_depth_ = 0;
  std::vector<Decoded> scales_a_, scales_b_;
};

float joined(const std::vector<float>& parts, Join join, bool flushes,
             std::vector<std::int64_t> order) {
  const auto kept = [=](float x) { return flushes || join == Join::f32_atomic ? flushed(x) : x; };
  if (order.empty() || join == Join::f32_ordered) {
    order.resize(parts.size());
    std::iota(order.begin(), order.end(), 0);
  }
  float total = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const float part = parts[static_cast<std::size_t>(order[i])];
    if (join == Join::bf16) {
      total = rounded_to_bf16(kept(total + kept(rounded_to_bf16(kept(part)))));
    } else if (i == 0 && join != Join::f32_atomic) {
      total = part;
    } else {
      total = kept(kept(total) + kept(part));
    }
  }
  return total;
}

}  // namespace

AccumulatorRun run_accumulator(const Contract& contract, int sm, FormatId a, FormatId b,
                               const float* row, const float* column, std::int64_t k,
                               const AccumulatorOptions& options) {
  Machine machine(contract, sm, a, b, row, column, k, options);
  AccumulatorRun run;
  if (contract.schedule == Schedule::split_k &&
      (contract.parts > 1 || contract.join == Join::f32_atomic)) {
    const std::int64_t block = std::max<std::int64_t>(contract.interval, 1);
    const std::int64_t even = (k + contract.parts - 1) / contract.parts;
    const std::int64_t length = std::max(block, (even + block - 1) / block * block);
    std::vector<float> parts;
    for (std::int64_t begin = 0; begin < k; begin += length)
      parts.push_back(machine.part(begin, std::min(k, begin + length)));
    run.value = joined(parts, contract.join, contract.subnormals_flushed, options.join_order);
  } else {
    run.value = machine.part(0, k);
  }
  run.steps = std::move(machine.steps);
  return run;
}

}  // namespace plumbline
