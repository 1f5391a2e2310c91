// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_gradient_block.h"

#include <algorithm>
#include <cmath>

#include "oracles/exact/blas.h"

namespace plumbline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kPairs = 1 << 17;  // in a block, unless one line has more

}  // namespace

std::int64_t GradientBlock::most_lines(const GradientOperands& operands, GradientOutput output) {
  const std::int64_t terms = std::max<std::int64_t>(operands.terms(output), 1);
  return std::clamp<std::int64_t>(kPairs / terms, 1, 128);
}

GradientBlock::GradientBlock(const GradientOperands& operands, const GradientWeights64& weights,
                             GradientOutput output, std::int64_t first, std::int64_t lines)
    : operands_(operands),
      weights_(weights),
      output_(output),
      first_(first),
      lines_(lines),
      terms_(operands.terms(output)),
      width_(operands.rows(output).width),
      known_(static_cast<std::size_t>(lines)) {
  const auto pairs = static_cast<std::size_t>(lines_ * terms_);
  scores_.resize(pairs);
  if (output_ != GradientOutput::dv) dps_.resize(pairs);
  values_.resize(pairs);
  norm_.resize(static_cast<std::size_t>(lines_));
  lowest_.assign(static_cast<std::size_t>(lines_), kInfinity);
  sums_.resize(static_cast<std::size_t>(lines_ * width_));
  fill_products();
  fill_weights();
  fill_sums();
}

GradientPair GradientBlock::pair(std::int64_t line, std::int64_t term) const {
  const std::int64_t own = first_ + line;
  if (output_ == GradientOutput::dq)
    return {own / operands_.queries, own % operands_.queries, term};
  return {term / operands_.padded, term % operands_.padded, own};
}

void GradientBlock::fill_products() {
  if (lines_ == 0 || terms_ == 0) return;
  const auto product = [&](const GradientRows& mine, const GradientRows& others,
                           std::vector<double>& out) {
    std::int64_t row = first_;
    if (output_ == GradientOutput::dq) {
      const GradientPair at = pair(0, 0);
      row = at.head * operands_.padded + at.i;
    }
    add_product(lines_, terms_, mine.width, mine.wide.data() + row * mine.width, mine.width,
                others.wide.data(), others.width, out.data(), terms_);
  };
  const bool by_query = output_ == GradientOutput::dq;
  product(by_query ? operands_.q : operands_.k, by_query ? operands_.k : operands_.q, scores_);
  if (dps_.empty()) return;
  product(by_query ? operands_.d_o : operands_.v, by_query ? operands_.v : operands_.d_o, dps_);
}

PairProducts GradientBlock::products(const GradientPair& at, std::size_t index) const {
  PairProducts out;
  out.score = scores_[index];
  out.score_error = weights_.score_error(at);
  if (dps_.empty()) return out;
  out.dp = dps_[index];
  out.dp_error = weights_.dp_error(at);
  return out;
}

void GradientBlock::fill_weights() {
  for (std::int64_t l = 0; l < lines_; ++l) {
    double squares = 0, lowest = kInfinity;
    for (std::int64_t t = 0; t < terms_; ++t) {
      const GradientPair at = pair(l, t);
      if (at.i >= operands_.queries || !weights_.visible(at)) continue;
      const auto index = static_cast<std::size_t>(l * terms_ + t);
      const ReferenceWeight weight = weights_.reference(output_, at, products(at, index));
      if (weight.error > 0) errors_.push_back({l, t, weight.error});
      if (weight.value == 0) continue;
      values_[index] = weight.value;
      squares += weight.value * weight.value;
      lowest = std::min(
          lowest, static_cast<double>(prepare(static_cast<float>(weight.value), -126).lowest));
    }
    norm_[static_cast<std::size_t>(l)] = std::sqrt(squares) * (1 + 0x1p-30);
    lowest_[static_cast<std::size_t>(l)] = lowest;
  }
}

void GradientBlock::fill_sums() {
  if (lines_ == 0 || terms_ == 0) return;
  add_product(lines_, width_, terms_, values_.data(), terms_,
              operands_.rows(output_).transposed.data(), terms_, sums_.data(), width_);
}

double GradientBlock::weight_error(std::int64_t line, std::int64_t x) const {
  double error = 0;
  const auto begin = std::lower_bound(
      errors_.begin(), errors_.end(), line,
      [](const WeightError& one, std::int64_t wanted) { return one.line < wanted; });
  for (auto one = begin; one != errors_.end() && one->line == line; ++one) {
    error += one->error * std::fabs(static_cast<double>(operands_.rows(output_).row(one->term)[x]));
  }
  return error * (1 + 0x1p-40);
}

SumEnclosure GradientBlock::sum(std::int64_t line, std::int64_t x) const {
  SumEnclosure out;
  out.hi = sums_[static_cast<std::size_t>(line * width_ + x)];
  const auto l = static_cast<std::size_t>(line);
  const VectorSize& column = operands_.rows(output_).column[static_cast<std::size_t>(x)];
  const double magnitude = norm_[l] * column.two_norm;
  if (magnitude != 0 && !(magnitude < 0x1p52 * (lowest_[l] * column.lowest)))
    out.bound = static_cast<double>(terms_ + 2) * 0x1p-53 * magnitude * (1 + 0x1p-20);
  if (!errors_.empty()) out.bound += weight_error(line, x);
  return out;
}

GradientBlock::Line& GradientBlock::line_of(std::int64_t l) {
  Line& line = known_[static_cast<std::size_t>(l)];
  if (line.known) return line;
  line.known = true;
  line.factors.resize(static_cast<std::size_t>(terms_));
  line.panels.resize(static_cast<std::size_t>((width_ + kPanelLanes - 1) / kPanelLanes));
  const Format& stored = format(operands_.weight_format(output_));
  std::vector<float> largest(static_cast<std::size_t>(terms_));
  double squares = 0;
  for (std::int64_t t = 0; t < terms_; ++t) {
    const GradientPair at = pair(l, t);
    if (at.i >= operands_.queries || !weights_.visible(at)) continue;
    const auto index = static_cast<std::size_t>(l * terms_ + t);
    const KernelWeight weight = weights_.kernel(output_, at, products(at, index));
    if (weight.wild) {
      line.wild = true;
      return line;
    }
    UncertainFactor& factor = line.factors[static_cast<std::size_t>(t)];
    factor =
        UncertainFactor::of(stored, static_cast<float>(values_[index]), weight.low, weight.high);
    squares += factor.off * factor.off;
    largest[static_cast<std::size_t>(t)] = std::max(std::fabs(weight.low), std::fabs(weight.high));
  }
  line.off_norm = std::sqrt(squares) * (1 + 0x1p-30);
  line.size = vector_size(largest.data(), terms_, stored.emin());
  return line;
}

RunningBound GradientBlock::bound(std::int64_t l, std::int64_t x) {
  Line& line = line_of(l);
  RunningBound out;
  if (line.wild) {
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
  if (!errors_.empty()) out.error += weight_error(l, x);
  return out;
}

double GradientBlock::error_any(std::int64_t l, std::int64_t x) {
  const Line& line = line_of(l);
  if (line.wild) return kInfinity;
  const VectorSize& column = operands_.rows(output_).column[static_cast<std::size_t>(x)];
  const APriori limits(operands_.model(output_), terms_);
  const double magnitude = magnitude_bound(line.size, column);
  if (!limits.cannot_overflow(magnitude)) return kInfinity;
  return (limits.error(magnitude) + line.off_norm * column.two_norm + weight_error(l, x)) *
         (1 + 0x1p-20);
}

}  // namespace plumbline
