// SPDX-License-Identifier: MIT
#include "oracles/stages/staged_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "oracles/base/assert.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

double to_bf16(double x) {
  const Format& bf16 = format(FormatId::bf16);
  return to_double(bf16, encode(bf16, x));
}

// The f32 with this many of its last bits cut.
double narrowed(double x, int bits) {
  const std::uint32_t cut = (std::uint32_t{1} << bits) - 1;
  return static_cast<double>(
      std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) & ~cut));
}

// Eight partial sums: they add to 1e-13 of the magnitudes at any size that runs here.
double exact_dot(RealSpan a, RealSpan b) {
  constexpr std::size_t kLanes = 8;
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += a.values[i + lane] * b.values[i + lane];
  }
  for (; i < a.size(); ++i) lanes[i % kLanes] += a.values[i] * b.values[i];
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// Subnormal numbers become zeros, as operands and results of f32 atomics on global memory do.
double flushed(double x) { return std::fabs(x) < 0x1p-126 ? 0.0 : x; }

}  // namespace

float f32_fma(double a, double b, double c) {
  // Rounded to odd in double, then to f32: 53 bits are more than 24 + 2, so that is one rounding.
  const double product = a * b, product_error = std::fma(a, b, -product);
  double sum = product + c;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (c - back) + product_error;
  if (error != 0 && std::isfinite(sum) && (std::bit_cast<std::uint64_t>(sum) & 1) == 0)
    sum = std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
  return static_cast<float>(sum);
}

std::string words_of(SumFault fault) {
  switch (fault) {
    case SumFault::none:
      break;
    case SumFault::narrow_accumulator:
      return "accumulators of 14 bits, as FP8 wgmma on Hopper has";
    case SumFault::bf16_accumulator:
      return "accumulators rounded to bf16 after every instruction";
    case SumFault::narrow_promotion:
      return "the sum over promotions keeps 14 fraction bits of its 23";
    case SumFault::no_promotion:
      return "no promotion: one accumulator over all of k";
    case SumFault::bf16_join:
      return "partial sums rounded to bf16 before they are joined";
  }
  return "";
}

bool is_of_join(SumFault fault) {
  return fault == SumFault::narrow_promotion || fault == SumFault::no_promotion ||
         fault == SumFault::bf16_join;
}

std::vector<SumFault> StagedSum::faults(bool scaled) const {
  std::vector<SumFault> faults;
  if (!accumulates()) return faults;
  // Sums of FP4 seldom have more bits.
  if (model_ && model_->node.output == NodeOutput::f32_toward_zero && model_->node.group == 1)
    faults.push_back(SumFault::narrow_accumulator);
  if (model_) faults.push_back(SumFault::bf16_accumulator);
  if (contract_.schedule == Schedule::promote) {
    faults.push_back(SumFault::narrow_promotion);
    if (!scaled) faults.push_back(SumFault::no_promotion);
  } else if (joins() && contract_.join != Join::bf16) {
    faults.push_back(SumFault::bf16_join);
  }
  return faults;
}

StagedSum::StagedSum(const Contract& contract, int sm, FormatId a, FormatId b)
    : contract_(contract) {
  if (contract.unit != Unit::tensor_core) return;
  model_ = contract.unit_model(sm, a, b);
  PLUMB_ASSERT(model_.has_value());
}

bool StagedSum::joins() const {
  return contract_.schedule == Schedule::promote ||
         (contract_.schedule == Schedule::split_k &&
          (contract_.parts > 1 || contract_.join == Join::f32_atomic));
}

double StagedSum::kept(double x) const { return contract_.subnormals_flushed ? flushed(x) : x; }

double StagedSum::fma(double a, double b, double c) const {
  return kept(static_cast<double>(f32_fma(kept(a), kept(b), kept(c))));
}

float StagedSum::low_chain(RealSpan a, RealSpan b, float start, SumFault fault) const {
  if (contract_.unit == Unit::fma_f32) {
    for (std::size_t i = 0; i < a.size(); ++i)
      start = static_cast<float>(fma(a.values[i], b.values[i], static_cast<double>(start)));
    return start;
  }
  DotModel model = *model_;
  if (fault == SumFault::narrow_accumulator) model.node.output = NodeOutput::e8m13_toward_zero;
  if (fault != SumFault::bf16_accumulator && fault != SumFault::narrow_accumulator)
    return dot_of_reals(model, a, b, start);
  const std::size_t step = products_per_instruction(model);
  for (std::size_t first = 0; first < a.size(); first += step) {
    const std::size_t count = std::min(step, a.size() - first);
    start = dot_of_reals(model, a.sub(first, count), b.sub(first, count), start);
    if (fault == SumFault::bf16_accumulator) {
      start = static_cast<float>(to_bf16(static_cast<double>(start)));
    } else {
      start = static_cast<float>(narrowed(static_cast<double>(start), 10));
    }
  }
  return start;
}

double StagedSum::chain(RealSpan a, RealSpan b, double start, Low low) const {
  if (!low.accumulate || contract_.unit == Unit::int32) return start + exact_dot(a, b);
  return static_cast<double>(low_chain(a, b, static_cast<float>(start), low.fault));
}

double StagedSum::promoted(RealSpan a, RealSpan b, std::size_t first_interval,
                           std::span<const double> factors, Low low) const {
  const auto interval = static_cast<std::size_t>(contract_.interval);
  double total = 0;
  for (std::size_t base = 0; base < a.size(); base += interval) {
    const std::size_t count = std::min(interval, a.size() - base);
    const double fresh = chain(a.sub(base, count), b.sub(base, count), 0, low);
    const double factor = factors.empty() ? 1 : factors[first_interval + base / interval];
    if (!low.join) {
      total += fresh * factor;
    } else {
      total = fma(fresh, factor, total);
      if (low.fault == SumFault::narrow_promotion) total = narrowed(total, 9);
    }
  }
  return total;
}

double StagedSum::operator()(RealSpan a, RealSpan b, std::span<const double> factors,
                             Low low) const {
  if (low.fault == SumFault::no_promotion && low.join && factors.empty())
    return chain(a, b, 0, low);
  if (contract_.schedule == Schedule::promote) return promoted(a, b, 0, factors, low);
  if (!joins()) return chain(a, b, 0, low);
  const auto k = static_cast<std::int64_t>(a.size());
  const std::int64_t block = std::max<std::int64_t>(contract_.interval, 1);
  const std::int64_t even = (k + contract_.parts - 1) / contract_.parts;
  const std::int64_t length = std::max(block, (even + block - 1) / block * block);
  double total = 0;
  for (std::int64_t begin = 0; begin < k; begin += length) {
    const auto count = static_cast<std::size_t>(std::min(length, k - begin));
    const auto first = static_cast<std::size_t>(begin);
    double part = chain(a.sub(first, count), b.sub(first, count), 0, low);
    if (!low.join) {
      total += part;
      continue;
    }
    if (low.fault == SumFault::bf16_join) part = to_bf16(part);
    switch (contract_.join) {
      case Join::bf16:
        total = to_bf16(kept(to_f32(total + kept(to_bf16(kept(part))))));
        break;
      case Join::f32_atomic:
        total = flushed(to_f32(total + flushed(to_f32(part))));
        break;
      case Join::f32_ordered:
      case Join::f32_any_order:
        total = begin == 0 ? to_f32(part) : kept(to_f32(kept(total) + kept(to_f32(part))));
        break;
    }
  }
  return total;
}

}  // namespace plumbline
