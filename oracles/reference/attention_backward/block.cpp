// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "oracles/base/numbers.h"

namespace plumbline {
namespace {

constexpr std::int64_t kPairs = 1 << 17;  // in a block, unless one line has more

}  // namespace

std::int64_t GradientBlock::most_lines(const GradientOperands& operands, GradientOutput output) {
  const std::int64_t terms = std::max<std::int64_t>(operands.terms(output), 1);
  return std::clamp<std::int64_t>(kPairs / terms, 1, 128);
}

GradientBlock::GradientBlock(const GradientOperands& operands, const GradientWeights64& weights,
                             GradientOutput output, std::vector<std::int64_t> lines)
    : operands_(operands),
      weights_(weights),
      output_(output),
      terms_(operands.terms(output)),
      width_(operands.rows(output).width),
      limits_(operands.model(output), terms_),
      lines_(std::move(lines)),
      known_(lines_.size()) {
  if (lines_.empty()) return;
  const bool p = output_ == GradientOutput::dv;
  const auto add_tile = [&](std::int64_t head) {
    tiles_.emplace_back(operands, weights, WeightErrors::kernel, WantedWeights{.p = p, .g = !p})
        .fill(head, queries_, keys_);
  };
  if (by_query()) {
    for (const std::int64_t line : lines_) queries_.push_back(line % operands.queries);
    keys_.resize(static_cast<std::size_t>(operands.keys));
    std::iota(keys_.begin(), keys_.end(), 0);
    add_tile(lines_.front() / operands.queries);
  } else {
    queries_.resize(static_cast<std::size_t>(operands.queries));
    std::iota(queries_.begin(), queries_.end(), 0);
    keys_ = lines_;
    for (std::int64_t head = 0; head < operands.heads(); ++head) add_tile(head);
  }
  for (std::size_t n = 0; n < tiles_.size(); ++n) {
    const std::int64_t first = static_cast<std::int64_t>(n) * operands.padded;
    for (const GradientTile::OpenPair& pair : tiles_[n].open()) {
      Line& line = known_[static_cast<std::size_t>(by_query() ? pair.row : pair.column)];
      line.open.push_back({by_query() ? pair.column : first + pair.row, n, pair});
      line.uncertain = line.uncertain || error_of(pair) > 0;
    }
  }
}

double GradientBlock::weight_error(const Line& line, std::int64_t x) const {
  if (!line.uncertain) return 0;
  double error = 0;
  for (const OpenTerm& one : line.open) {
    error += error_of(one.pair) *
             std::fabs(static_cast<double>(operands_.rows(output_).row(one.term)[x]));
  }
  return error * (1 + 0x1p-40);
}

// Of at most kPanelLanes pairs.
RunningBounds GradientBlock::product_bounds(const BoundModel& model, const GradientRows& queries,
                                            const GradientRows& keys,
                                            std::span<const GradientPair> pairs) const {
  std::array<BoundOperand, kPanelLanes> rows{}, columns{};
  for (std::size_t lane = 0; lane < pairs.size(); ++lane) {
    rows[lane] = queries.row(pairs[lane].head * operands_.padded + pairs[lane].i);
    columns[lane] = keys.row(pairs[lane].j);
  }
  PreparedPanel row_panel, column_panel;
  row_panel.assign(rows, queries.width, model.a_minimum_exponent);
  column_panel.assign(columns, keys.width, model.b_minimum_exponent);
  return running_bounds(model, row_panel, column_panel);
}

// As GradientWeights64::kernel(), with the running bounds of eight pairs at once.
std::vector<KernelWeight> GradientBlock::open_weights(const Line& line) const {
  std::vector<KernelWeight> out(line.open.size());
  std::vector<std::size_t> rest;
  for (std::size_t n = 0; n < line.open.size(); ++n) {
    const GradientTile& tile = tiles_[line.open[n].tile];
    const GradientTile::OpenPair& pair = line.open[n].pair;
    const auto weight = weights_.kernel_by_sizes(output_, tile.place(pair), tile.products(pair));
    if (weight) {
      out[n] = *weight;
    } else {
      rest.push_back(n);
    }
  }
  for (std::size_t begin = 0; begin < rest.size(); begin += kPanelLanes) {
    const std::size_t count = std::min<std::size_t>(kPanelLanes, rest.size() - begin);
    std::vector<GradientPair> places;
    for (std::size_t lane = 0; lane < count; ++lane) {
      const OpenTerm& one = line.open[rest[begin + lane]];
      places.push_back(tiles_[one.tile].place(one.pair));
    }
    const RunningBounds scores =
        product_bounds(operands_.models.score, operands_.q, operands_.k, places);
    RunningBounds dps;
    if (output_ != GradientOutput::dv)
      dps = product_bounds(operands_.models.dp, operands_.d_o, operands_.v, places);
    for (std::size_t lane = 0; lane < count; ++lane) {
      const OpenTerm& one = line.open[rest[begin + lane]];
      out[rest[begin + lane]] = weights_.kernel_within(
          output_, places[lane], tiles_[one.tile].products(one.pair), scores[lane], dps[lane]);
    }
  }
  return out;
}

GradientBlock::Line& GradientBlock::line_of(std::int64_t l) {
  Line& line = known_[static_cast<std::size_t>(l)];
  if (line.known) return line;
  line.known = true;
  line.factors.resize(static_cast<std::size_t>(terms_));
  line.panels.resize(static_cast<std::size_t>((width_ + kPanelLanes - 1) / kPanelLanes));
  const Format& stored = format(operands_.weight_format(output_));
  const int minimum_exponent = stored.emin();
  std::vector<float> largest(static_cast<std::size_t>(terms_));
  for (std::size_t n = 0; n < tiles_.size(); ++n) {
    const GradientTile& tile = tiles_[n];
    const std::vector<double>& weights = output_ == GradientOutput::dv ? tile.p() : tile.g();
    const std::int64_t count = by_query() ? operands_.keys : operands_.queries;
    if (count == 0) continue;
    const double* first = weights.data() + (by_query() ? l * tile.stride() : l);
    const std::int64_t step = by_query() ? 1 : tile.stride();
    const auto begin = static_cast<std::size_t>(static_cast<std::int64_t>(n) * operands_.padded);
    for (std::int64_t t = 0; t < count; ++t) {
      const auto weight = static_cast<float>(first[t * step]);
      if (weight == 0) continue;
      const std::size_t at = begin + static_cast<std::size_t>(t);
      line.factors[at] = UncertainFactor::certain(minimum_exponent, weight);
      largest[at] = std::fabs(weight);
    }
  }
  double squares = 0;
  const std::vector<KernelWeight> of_kernels = open_weights(line);
  for (std::size_t n = 0; n < line.open.size(); ++n) {
    const OpenTerm& one = line.open[n];
    const KernelWeight& weight = of_kernels[n];
    const GradientTile& tile = tiles_[one.tile];
    const auto index = static_cast<std::size_t>(one.pair.row * tile.stride() + one.pair.column);
    const double reference = output_ == GradientOutput::dv ? tile.p()[index] : tile.g()[index];
    if (weight.may_overflow) {
      line.may_overflow = true;
      return line;
    }
    UncertainFactor& factor = line.factors[static_cast<std::size_t>(one.term)];
    factor = UncertainFactor::of(stored, static_cast<float>(reference), weight.low, weight.high);
    squares += factor.off * factor.off;
    largest[static_cast<std::size_t>(one.term)] =
        std::max(std::fabs(weight.low), std::fabs(weight.high));
  }
  line.off_norm = std::sqrt(squares) * (1 + 0x1p-30);
  line.size = vector_size(largest.data(), terms_, minimum_exponent);
  return line;
}

RunningBound GradientBlock::bound(std::int64_t l, std::int64_t x) {
  Line& line = line_of(l);
  RunningBound out;
  if (line.may_overflow) {
    using enum ResultClass;
    out.error = kInfinity;
    for (const ResultClass any : {plus_infinity, minus_infinity, nan}) out.classes.add(any);
    return out;
  }
  std::optional<RunningBounds>& panel = line.panels[static_cast<std::size_t>(x / kPanelLanes)];
  if (!panel) {
    panel = uncertain_sums(operands_.model(output_), line.factors, operands_.rows(output_).prepared,
                           x / kPanelLanes * kPanelLanes);
  }
  out = (*panel)[static_cast<std::size_t>(x % kPanelLanes)];
  out.error += weight_error(line, x);
  return out;
}

double GradientBlock::error_any(std::int64_t l, std::int64_t x) {
  const Line& line = line_of(l);
  if (line.may_overflow) return kInfinity;
  const VectorSize& column = operands_.rows(output_).column[static_cast<std::size_t>(x)];
  const double magnitude = magnitude_bound(line.size, column);
  if (!limits_.cannot_overflow(magnitude)) return kInfinity;
  return (limits_.error(magnitude) + line.off_norm * column.two_norm + weight_error(line, x)) *
         (1 + 0x1p-20);
}

}  // namespace plumbline
