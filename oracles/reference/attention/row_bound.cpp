// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/row_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "oracles/base/assert.h"
#include "oracles/bounds/contract/f32_errors.h"
#include "oracles/reference/attention/trace.h"

namespace plumbline {
namespace {

std::vector<PreparedPanel> panels(const float* first, std::int64_t vectors, std::int64_t stride,
                                  std::int64_t length, int minimum_exponent) {
  std::vector<PreparedPanel> out;
  for (std::int64_t v = 0; v < vectors; v += kPanelLanes) {
    std::array<BoundOperand, kPanelLanes> lanes{};
    for (std::int64_t lane = 0; lane < std::min<std::int64_t>(kPanelLanes, vectors - v); ++lane)
      lanes[static_cast<std::size_t>(lane)] = first + (v + lane) * stride;
    out.emplace_back().assign(lanes, length, minimum_exponent);
  }
  return out;
}

// V by column, [dv][keys], as elements say; NaN and Inf count as 0.
std::vector<float> finite_columns(const AttentionHead& head) {
  std::vector<float> columns;
  columns.reserve(head.v.size());
  for (std::int64_t x = 0; x < head.dv; ++x) {
    for (std::int64_t j = 0; j < head.keys; ++j) {
      const float value = head.v[static_cast<std::size_t>(j * head.dv + x)];
      columns.push_back(std::isfinite(value) ? value : 0);
    }
  }
  return columns;
}

// Ways through a row's steps that f32 may take under a rescale threshold, beside the exact one.
constexpr std::size_t kMostCourses = 16;

constexpr double kSmallest = 0x1p-126;  // below, a flushed number is 0

// The most that a score made by fma.rn.ftz may be off, where it may lose something: a product with
// a subnormal element, or 2^-126 of each sum. What is left is rounded once for each product, so the
// rest is gamma of the magnitudes (Higham, lemma 3.1). 0 where nothing is lost for certain: then
// the running bound holds.
double flushed_score_error(std::span<const float> q, std::span<const float> k) {
  double lost = 0, magnitude = 0, lattice = std::numeric_limits<double>::infinity();
  for (std::size_t x = 0; x < q.size(); ++x) {
    const double a = std::fabs(static_cast<double>(q[x])), b = std::fabs(static_cast<double>(k[x]));
    if (a == 0 || b == 0 || !std::isfinite(a) || !std::isfinite(b)) continue;
    magnitude += a * b;
    if (std::min(a, b) < kSmallest) lost += a * b;
    lattice = std::min(lattice, bound::lowest_bit(q[x]) * bound::lowest_bit(k[x]));
  }
  if (lost == 0 && lattice >= kSmallest) return 0;
  const auto n = static_cast<double>(q.size());
  const double gamma = n * bound::kF32Unit / (1 - n * bound::kF32Unit);
  return ((lost + n * kSmallest) * (1 + gamma) + gamma * magnitude) * bound::kSlack;
}

// What the next operation takes of a score that it may take for 0.
double flushed_operand_error(double score, double error) {
  const bool small = std::fabs(score) - error < kSmallest, zero = score == 0 && error == 0;
  return small && !zero ? kSmallest : 0;
}

}  // namespace

AttentionRowBounds::AttentionRowBounds(const AttentionOperands& operands, FormatId q, FormatId k,
                                       FormatId v, int sm)
    : operands_(operands),
      values_(*bound_model(operands.contract().value_product(), sm, operands.contract().p, v)),
      plan_(values_),
      q_minimum_exponent_(format(q).emin()) {
  const AttentionHead& head = operands.head();
  if (!operands.contract().integer_scores) {
    scores_ = bound_model(operands.contract().score_product(), sm, q, k);
    keys_ = panels(head.k.data(), head.keys, head.d, head.d, format(k).emin());
  }
  const std::vector<float> columns = finite_columns(head);
  columns_ = panels(columns.data(), head.dv, head.keys, head.keys, format(v).emin());
}

void AttentionRowBounds::bound_scores(const DetailedRow& detail, RowTrace& trace) const {
  const AttentionHead& head = operands_.head();
  const KeyRange keys = detail.row.keys;
  if (!scores_) {  // integers, which FP64 has exactly too
    for (std::int64_t j = keys.first; j < keys.end; ++j) trace.set_score_error(j, 0);
    return;
  }
  PreparedVector query;
  query.assign(head.q.data() + detail.row.query * head.d, head.d, q_minimum_exponent_);
  for (std::int64_t panel = keys.first / kPanelLanes; panel * kPanelLanes < keys.end; ++panel) {
    const RunningBounds bounds =
        running_bounds(*scores_, query, keys_[static_cast<std::size_t>(panel)]);
    for (std::int64_t lane = 0; lane < kPanelLanes; ++lane) {
      const std::int64_t j = panel * kPanelLanes + lane;
      if (j < keys.first || j >= keys.end) continue;
      const RunningBound& score = bounds[static_cast<std::size_t>(lane)];
      const double apart =
          std::fabs(detail.scores[static_cast<std::size_t>(j - keys.first)] - score.sum);
      double error = score.error + score.sum_error + apart;
      if (operands_.contract().subnormals_flushed)
        error = flushed_error(detail, j, error, score.sum_error + apart);
      trace.set_score_error(j, error == 0 ? 0 : error * bound::kSlack);
    }
  }
}

// Of a score, from its error without lost numbers; `reference`: that of the score in double.
double AttentionRowBounds::flushed_error(const DetailedRow& detail, std::int64_t j, double error,
                                         double reference) const {
  const AttentionHead& head = operands_.head();
  if (scores_->fma) {
    const auto d = static_cast<std::size_t>(head.d);
    const auto row = [&](const std::vector<float>& of, std::int64_t i) {
      return std::span(of).subspan(static_cast<std::size_t>(i) * d, d);
    };
    const double flushed = flushed_score_error(row(head.q, detail.row.query), row(head.k, j));
    if (flushed > 0) error = flushed + reference;
  }
  const double score = detail.scores[static_cast<std::size_t>(j - detail.row.keys.first)];
  return error + flushed_operand_error(score, error);
}

RowBound AttentionRowBounds::operator()(const DetailedRow& detail, bool outputs) const {
  PLUMB_ASSERT(detail.row.kind == AttentionRowKind::regular);
  RowTrace trace(operands_, detail);
  bound_scores(detail, trace);
  trace.run();
  RowBound out = bound_outputs(detail, trace, outputs);
  std::vector<std::vector<std::size_t>> courses;
  for (const std::size_t step : trace.undecided()) courses.push_back({step});
  for (std::size_t c = 0; c < courses.size(); ++c) {
    if (courses.size() > kMostCourses) {
      trace.give_up();
      return bound_outputs(detail, trace, outputs);
    }
    const DetailedRow other = survey_row(operands_, detail.row.query, courses[c]);
    RowTrace way(operands_, other);
    bound_scores(other, way);
    way.run();
    widen(out, detail, other, bound_outputs(other, way, outputs));
    for (const std::size_t step : way.undecided()) {
      if (step <= courses[c].back()) continue;
      courses.push_back(courses[c]);
      courses.back().push_back(step);
    }
  }
  return out;
}

// What a kernel on the other course gives is as far from `other` as its own bound says.
void AttentionRowBounds::widen(RowBound& out, const DetailedRow& detail, const DetailedRow& other,
                               const RowBound& own) const {
  const auto farther = [](double error, double apart, double references) {
    return (error + std::fabs(apart) + references) * bound::kSlack;
  };
  out.lse_error = std::max(out.lse_error, farther(own.lse_error, other.row.lse - detail.row.lse,
                                                  other.row.lse_error + detail.row.lse_error));
  for (std::size_t x = 0; x < out.o_error.size(); ++x) {
    const auto column = static_cast<std::int64_t>(x);
    const double references =
        output_error(other.row, operands_, column) + output_error(detail.row, operands_, column);
    out.o_error[x] =
        std::max(out.o_error[x], farther(own.o_error[x], other.o[x] - detail.o[x], references));
  }
}

RowBound AttentionRowBounds::bound_outputs(const DetailedRow& detail, const RowTrace& trace,
                                           bool outputs) const {
  const AttentionHead& head = operands_.head();
  RowBound out;
  out.lse_error = trace.lse_error();
  for (std::int64_t panel = 0; outputs && panel * kPanelLanes < head.dv; ++panel) {
    const ValueBounds values = value_bounds(values_, plan_, trace.probabilities(),
                                            columns_[static_cast<std::size_t>(panel)],
                                            trace.tiles(), operands_.contract().subnormals_flushed);
    for (std::int64_t lane = 0; lane < kPanelLanes && panel * kPanelLanes + lane < head.dv;
         ++lane) {
      const std::int64_t x = panel * kPanelLanes + lane;
      const ValueBound& value = values[static_cast<std::size_t>(lane)];
      out.o_error.push_back(
          trace.output_error(value, detail.o[static_cast<std::size_t>(x)], operands_.v_largest(x)));
      const double magnitude =
          value.magnitude * std::ldexp(operands_.v_scale(), -operands_.contract().p_shift);
      out.magnitude.push_back(magnitude > 0 ? magnitude / detail.row.sum
                                            : std::numeric_limits<double>::infinity());
    }
  }
  return out;
}

}  // namespace plumbline
