// SPDX-License-Identifier: MIT
#include "oracles/reference/rows/condition.h"

#include <cmath>
#include <limits>

#include "oracles/reference/rows/definition.h"

namespace plumbline {
namespace {

using Values = std::vector<double>;

double product_size(double a, double b) {
  return a == 0 ? 0 : std::fabs(a * b);  // a share of 0 of a logit of -inf
}

// What each element may change by, over e.
Values softmax_changes(const RowOf<double>& in, const Values& p) {
  double all = 0;
  for (std::size_t i = 0; i < p.size(); ++i) all += product_size(p[i], in.scale * in.x[i]);
  Values changes;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double own = product_size(p[j], in.scale * in.x[j]);
    changes.push_back(own * (1 - p[j]) + p[j] * (all - own));
  }
  return changes;
}

Values softmax_backward_changes(const RowOf<double>& in, const Values& dx) {
  double all = 0;
  for (std::size_t i = 0; i < in.x.size(); ++i) all += product_size(in.x[i], in.dy[i]);
  Values changes;
  for (std::size_t j = 0; j < dx.size(); ++j) {
    changes.push_back(std::fabs(dx[j]) +
                      std::fabs(in.scale * in.x[j]) * (std::fabs(in.dy[j]) + 2 * all));
  }
  return changes;
}

Values norm_changes(const RowOf<double>& in, const RowResult<double>& row, bool centered) {
  const auto n = static_cast<double>(in.n());
  Values changes;
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    const double normal = (in.x[j] - row.mean) * row.rstd;
    double moved = 0;
    for (std::size_t i = 0; i < in.x.size(); ++i) {
      const double along = normal * (in.x[i] - row.mean) * row.rstd;
      moved += std::fabs(((i == j ? 1 : 0) - ((centered ? 1 : 0) + along) / n) * in.x[i]);
    }
    const double gamma = in.gamma[j] + in.gamma_plus;
    changes.push_back(std::fabs(gamma) * row.rstd * moved + std::fabs(in.gamma[j] * normal) +
                      (centered ? std::fabs(in.beta[j]) : 0));
  }
  return changes;
}

Values norm_backward_changes(const RowOf<double>& in, const RowResult<double>& row, bool centered) {
  const auto n = static_cast<double>(in.n());
  Values w, moved;  // dy gamma; what x^ may change by
  double level = 0, along = 0, along_change = 0;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    w.push_back(in.dy[i] * in.gamma[i]);
    moved.push_back((std::fabs(in.x[i]) + std::fabs(in.mean)) * in.rstd + std::fabs(row.xhat[i]));
    if (centered) level += std::fabs(w[i]) / n;
    along += w[i] * row.xhat[i] / n;
    along_change += std::fabs(w[i]) * (2 * std::fabs(row.xhat[i]) + moved[i]) / n;
  }
  Values changes;
  for (std::size_t j = 0; j < row.out.size(); ++j) {
    changes.push_back(std::fabs(row.out[j]) +
                      in.rstd * (2 * std::fabs(w[j]) + 2 * level + std::fabs(along) * moved[j] +
                                 std::fabs(row.xhat[j]) * along_change));
  }
  return changes;
}

}  // namespace

Values row_condition(RowKind kind, const RowOf<double>& given) {
  RowOf<double> in = given;
  in.normalized = FormatId::f32;  // a rounding has no slope
  const RowResult<double> row = defined_row(kind, in);
  const bool centered = kind == RowKind::layernorm || kind == RowKind::layernorm_backward;
  Values condition;
  switch (kind) {
    case RowKind::softmax:
      condition = softmax_changes(in, row.out);
      break;
    case RowKind::softmax_backward:
      condition = softmax_backward_changes(in, row.out);
      break;
    case RowKind::rmsnorm:
    case RowKind::layernorm:
      condition = norm_changes(in, row, centered);
      break;
    case RowKind::rmsnorm_backward:
    case RowKind::layernorm_backward:
      condition = norm_backward_changes(in, row, centered);
      break;
  }
  for (std::size_t j = 0; j < condition.size(); ++j) {
    condition[j] = row.out[j] == 0 ? std::numeric_limits<double>::infinity()
                                   : condition[j] / std::fabs(row.out[j]);
  }
  return condition;
}

}  // namespace plumbline
