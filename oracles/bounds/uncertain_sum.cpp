// SPDX-License-Identifier: MIT
#include "oracles/bounds/uncertain_sum.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/bounds/accumulator/add_node.h"
#include "oracles/bounds/accumulator/bound.h"
#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/exact/bound_arithmetic.h"
#include "oracles/exact/per_processor.h"
#include "oracles/formats/ulp.h"

namespace plumbline {

using namespace bound;

namespace {

constexpr std::int64_t kLanes = kPanelLanes;
constexpr std::int64_t kMostProducts = 64;  // of a node

using Lane = std::array<double, kLanes>;

// The terms of one node in all lanes. Factors that are surely 0 are left out.
struct NodeTerms {
  std::int64_t count = 0;
  Lane products{}, off{}, largest{}, surely{}, least{};
  std::array<Lane, kMostProducts> lowest;
};

// The sums' data, row by row.
class Rows {
 public:
  Rows(std::span<const UncertainFactor> factors, const PreparedColumns& columns, std::int64_t first)
      : factors_(factors), columns_(columns), first_(first) {}

  std::int64_t count() const { return static_cast<std::int64_t>(factors_.size()); }

  const UncertainFactor& factor(std::int64_t p) const {
    return factors_[static_cast<std::size_t>(p)];
  }

  const float* value(std::int64_t p) const { return columns_.value.data() + at(p); }

  const float* exponent(std::int64_t p) const { return columns_.exponent.data() + at(p); }

  const float* lowest(std::int64_t p) const { return columns_.lowest.data() + at(p); }

 private:
  std::int64_t at(std::int64_t p) const { return p * columns_.columns + first_; }

  std::span<const UncertainFactor> factors_;
  const PreparedColumns& columns_;
  std::int64_t first_;
};

PLUMBLINE_PER_PROCESSOR void add_term(NodeTerms& node, const UncertainFactor& w, const float* value,
                                      const float* exponent, const float* low) {
  Lane& lowest = node.lowest[static_cast<std::size_t>(node.count)];
  for (std::size_t c = 0; c < kLanes; ++c) {
    const double x = value[c], e = exponent[c], l = low[c];
    node.products[c] += w.value * x;
    node.off[c] += w.off * magnitude(x);
    node.largest[c] = larger(node.largest[c], w.high_exponent * e);
    node.surely[c] = larger(node.surely[c], w.low_exponent * e);
    lowest[c] = w.lowest * l;
    node.least[c] = smaller(node.least[c], lowest[c]);
  }
}

NodeTerms node_terms(const Rows& rows, std::int64_t base, const std::vector<std::int64_t>& offsets,
                     std::int64_t end) {
  NodeTerms node;
  node.least.fill(kInfinity);
  for (const std::int64_t offset : offsets) {
    const std::int64_t p = base + offset;
    if (p >= end || rows.factor(p).is_zero()) continue;
    add_term(node, rows.factor(p), rows.value(p), rows.exponent(p), rows.lowest(p));
    ++node.count;
  }
  return node;
}

// The node of lane c.
void add_node(AccumulatorBound& state, const NodePlan& plan, const NodeTerms& node, std::size_t c) {
  const NodeAddends addends = {.products = node.products[c],
                               .count = static_cast<double>(node.count),
                               .off = node.off[c],
                               .largest = node.largest[c],
                               .surely = node.surely[c],
                               .lowest = node.least[c]};
  align_and_add(state, plan, addends, [&](double unit) {
    double kept[4] = {0, 0, 0, 0};
    for (std::size_t t = 0; t < static_cast<std::size_t>(node.count); ++t)
      kept[t % 4] += smaller(node.lowest[t][c], unit);
    return (kept[0] + kept[1]) + (kept[2] + kept[3]);
  });
}

using States = std::array<AccumulatorBound, kLanes>;

States chains(const BoundModel& model, const NodePlan& plan, const Rows& rows, std::int64_t begin,
              std::int64_t end) {
  States states;
  if (model.fma) {
    for (std::int64_t p = begin; p < end; ++p) {
      const UncertainFactor& w = rows.factor(p);
      if (w.is_zero()) continue;
      for (std::size_t c = 0; c < kLanes; ++c) {
        const double x = rows.value(p)[c];
        add_fused(states[c], w.value * x, w.lowest * static_cast<double>(rows.lowest(p)[c]),
                  w.off * magnitude(x));
      }
    }
    return states;
  }
  for (std::int64_t base = begin; base < end; base += plan.instruction_length) {
    States fresh;
    const bool in_order = model.chaining == Chaining::in_order;
    for (const auto& offsets : plan.nodes) {
      const NodeTerms node = node_terms(rows, base, offsets, end);
      if (node.count == 0) continue;
      for (std::size_t c = 0; c < kLanes; ++c)
        add_node(in_order ? states[c] : fresh[c], plan, node, c);
    }
    if (in_order) continue;
    for (std::size_t c = 0; c < kLanes; ++c) add_rounded(states[c], fresh[c], kNearestF32);
  }
  return states;
}

}  // namespace

UncertainFactor UncertainFactor::certain(int minimum_exponent, float reference) {
  const PreparedElement element = prepare(reference, minimum_exponent);
  UncertainFactor out;
  out.value = static_cast<double>(reference);
  out.high_exponent = out.low_exponent = element.exponent;
  out.lowest = element.lowest;
  return out;
}

UncertainFactor UncertainFactor::of(const Format& format, float reference, float low, float high) {
  const float least = std::min(low, reference), most = std::max(high, reference);
  const PreparedElement bottom = prepare(least, format.emin()), top = prepare(most, format.emin());
  UncertainFactor out;
  out.value = static_cast<double>(reference);
  out.off = std::max(static_cast<double>(reference) - static_cast<double>(low),
                     static_cast<double>(high) - static_cast<double>(reference));
  out.high_exponent = std::max(bottom.exponent, top.exponent);
  out.lowest = std::min(bottom.lowest, top.lowest);
  if (least == most) {
    out.low_exponent = out.high_exponent;
    out.off = 0;
    return out;
  }
  const bool crosses = least <= 0 && most >= 0;
  out.low_exponent = crosses ? 0 : std::min(bottom.exponent, top.exponent);
  const double smallest = crosses ? 0
                                  : std::min(std::fabs(static_cast<double>(least)),
                                             std::fabs(static_cast<double>(most)));
  // Of everything in between.
  out.lowest = std::min(out.lowest, ulp(format, smallest));
  return out;
}

PreparedColumns::PreparedColumns(const float* rows, std::int64_t k, std::int64_t width,
                                 int minimum_exponent)
    : columns((width + kLanes - 1) / kLanes * kLanes) {
  const auto size = static_cast<std::size_t>(k * columns);
  value.resize(size);
  exponent.resize(size);
  lowest.assign(size, std::numeric_limits<float>::infinity());
  for (std::int64_t p = 0; p < k; ++p) {
    for (std::int64_t x = 0; x < width; ++x) {
      const PreparedElement element = prepare(rows[p * width + x], minimum_exponent);
      const auto at = static_cast<std::size_t>(p * columns + x);
      value[at] = element.value;
      exponent[at] = element.exponent;
      lowest[at] = element.lowest;
    }
  }
}

RunningBounds uncertain_sums(const BoundModel& model, std::span<const UncertainFactor> factors,
                             const PreparedColumns& columns, std::int64_t first) {
  PLUMB_ASSERT(model.schedule != Schedule::promote && first % kLanes == 0);
  const NodePlan plan(model);
  PLUMB_ASSERT(model.fma || model.node.products <= kMostProducts);
  const Rows rows(factors, columns, first);
  const std::int64_t k = rows.count();
  RunningBounds out;
  if (!model.joins()) {
    const States states = chains(model, plan, rows, 0, k);
    for (std::size_t c = 0; c < kLanes; ++c) out[c] = states[c].result();
    return out;
  }
  const std::int64_t length = model.part_length(k);
  std::array<std::vector<AccumulatorBound>, kLanes> parts;
  for (std::int64_t begin = 0; begin < k; begin += length) {
    const States states = chains(model, plan, rows, begin, std::min(k, begin + length));
    for (std::size_t c = 0; c < kLanes; ++c) parts[c].push_back(states[c]);
  }
  if (k == 0) return out;
  for (std::size_t c = 0; c < kLanes; ++c)
    out[c] = join_parts(parts[c], model.join, model.flushes).result();
  return out;
}

}  // namespace plumbline
