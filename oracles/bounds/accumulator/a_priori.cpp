// SPDX-License-Identifier: MIT
// The a-priori bounds (docs/bounds/accumulator.md): truncation moves toward zero, so no partial sum
// exceeds the sum of magnitudes T; a node then errs by at most L + 1 alignment units of at most
// 2^-F T each and one ulp of at most 2^(1-p) T, an addition to nearest by half an ulp.
#include "oracles/bounds/accumulator/a_priori.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/numbers.h"
#include "oracles/bounds/accumulator/any_order.h"
#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/exact/bound_arithmetic.h"

namespace plumbline {
namespace {

constexpr double kRoundUp = 1 + 0x1p-30;  // far above what summing 2^20 doubles can lose

}  // namespace

VectorSize vector_size(const float* elements, std::int64_t k, int minimum_exponent) {
  VectorSize size;
  size.lowest = kInfinity;
  const double minimum = std::ldexp(1.0, minimum_exponent);
  double squares = 0;
  for (std::int64_t p = 0; p < k; ++p) {
    const PreparedElement element = prepare(elements[p], minimum_exponent);
    if (element.value == 0) continue;
    const double magnitude = std::max(std::fabs(static_cast<double>(element.value)), minimum);
    size.one_norm += magnitude;
    squares += magnitude * magnitude;
    size.largest = std::max(size.largest, magnitude);
    size.lowest = std::min(size.lowest, static_cast<double>(element.lowest));
  }
  size.one_norm *= kRoundUp;
  size.two_norm = std::sqrt(squares) * kRoundUp;
  return size;
}

double magnitude_bound(const VectorSize& a, const VectorSize& b) {
  // Cauchy-Schwarz and the two Hoelder pairs.
  return std::min({a.two_norm * b.two_norm, a.one_norm * b.largest, a.largest * b.one_norm}) *
         kRoundUp;
}

VectorSize scaled_vector_size(std::span<const VectorSize> parts, std::span<const float> scales,
                              double least_weight) {
  VectorSize size;
  size.lowest = kInfinity;
  double squares = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const double given = std::isfinite(scales[p]) ? std::fabs(static_cast<double>(scales[p])) : 0;
    if (given == 0 || parts[p].largest == 0) continue;
    const double scale = std::max(given, least_weight);
    size.one_norm += scale * parts[p].one_norm;
    squares += (scale * parts[p].two_norm) * (scale * parts[p].two_norm);
    size.largest = std::max(size.largest, scale * parts[p].largest);
    size.lowest = std::min(size.lowest, parts[p].lowest * bound::lowest_bit(scales[p]));
  }
  size.one_norm *= kRoundUp;
  size.two_norm = std::sqrt(squares) * kRoundUp;
  size.largest *= kRoundUp;
  return size;
}

APriori::APriori(const BoundModel& model, std::int64_t k)
    : scaled_(model.scaled), any_scaling_(model.any_scaling.has_value()) {
  const bound::NodePlan plan(model);
  const std::int64_t addends = plan.addends(k);
  const double length = static_cast<double>(addends);
  double nodes = 0, additions = 0;  // toward zero with alignment; to nearest f32
  double chains = 1;                // accumulators started from zero
  if (model.schedule == Schedule::promote)
    chains = std::ceil(static_cast<double>(k) / static_cast<double>(model.interval));
  const bool split = model.joins();
  if (split) chains = static_cast<double>(model.parts);
  if (model.schedule == Schedule::promote || (split && model.join != Join::bf16))
    additions += chains;
  if (model.is_open()) {
    const bound::RoundingCounts counts(model, addends);
    nodes = counts.nodes;
    additions = counts.additions;
  } else if (model.fma) {
    additions += length;
  } else {
    const double steps = std::ceil(length / static_cast<double>(plan.instruction_length)) + chains;
    nodes = steps * static_cast<double>(plan.nodes.size());
    if (model.chaining == Chaining::hopper_fp8) additions += steps;
  }
  const double node_bits = model.fma ? 24 : bound::node_precision(model.node);
  const double kept =
      model.fma ? 24 : std::min<double>(model.node.fraction_bits, node_bits - 1) + 1;
  const double joined_bits = split && model.join == Join::bf16 ? 8 : 24;
  exact_steps_ = std::exp2(std::min(kept, joined_bits));
  const bool flushes = model.flushes || (split && model.join == Join::f32_atomic);
  // What operands and factors that are taken for 0 cost is known to the running bound alone.
  const bool flushes_factors = model.flushes && (model.fma || model.scaled);
  // Nor does norms' arithmetic know of f16's range, or of steps between scales.
  const bool is_unknown = flushes_factors || model.has_f16_results() || model.any_scaling;
  // Multiples of the smallest normal number are never flushed.
  least_lattice_ = is_unknown ? kInfinity
                   : flushes  ? bound::kF32Minimum
                              : std::exp2(-125 - std::min(node_bits, joined_bits));

  const double in_node =
      model.fma ? 0 : static_cast<double>(model.node.products) / static_cast<double>(plan.group);
  const double per_node = (in_node + 1) * plan.unit + plan.ulp_unit;
  const double roundings_bf16 = split && model.join == Join::bf16 ? 2 * chains : 0;
  // Roundings to nearest let partial sums grow.
  const double growth = std::exp(additions * 0x1p-24 + roundings_bf16 * 0x1p-8);
  relative_ =
      (nodes * per_node + additions * 0x1p-24 + roundings_bf16 * 0x1p-8) * growth * kRoundUp;
  // A subnormal accumulator aligns as the smallest normal number does.
  const double lowest = std::max(plan.zero_weight, bound::kF32Minimum);
  absolute_ = (nodes * ((in_node + 1) * lowest * plan.unit + bound::kF32Minimum * plan.ulp_unit) +
               (additions + 1) * 0x1p-149 + roundings_bf16 * 0x1p-133 +
               (flushes ? 5 * std::max(additions, chains) * bound::kF32Minimum : 0)) *
              growth * kRoundUp;
  growth_known_ = growth < 2 && !is_unknown;
}

}  // namespace plumbline
