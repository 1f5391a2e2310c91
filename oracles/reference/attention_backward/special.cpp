// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/special.h"

#include <algorithm>
#include <cmath>

namespace plumbline {
namespace {

Due stronger(Due a, Due b) { return std::max(a, b); }

constexpr float kHidden = -std::numeric_limits<float>::infinity();

}  // namespace

void GradientSpecials::Flags::note(const std::vector<float>& values, std::int64_t row,
                                   std::int64_t width) {
  for (std::int64_t x = row * width; x < (row + 1) * width; ++x) {
    nan |= std::isnan(values[static_cast<std::size_t>(x)]);
    infinite |= std::isinf(values[static_cast<std::size_t>(x)]);
  }
}

GradientSpecials::GradientSpecials(const GradientOperands& operands) : operands_(operands) {
  for (const GradientHead& one : operands.group.heads) {
    for (std::int64_t i = 0; i < operands.queries; ++i) {
      QueryFlags flags;
      flags.q.note(one.head.q, i, operands.d);
      flags.d_o.note(one.d_o, i, operands.width_v);
      flags.o.note(one.o, i, operands.width_v);
      flags.lse.note(one.lse, i, 1);
      any_ |= flags.q.any() || flags.d_o.any() || flags.o.any() || flags.lse.nan;
      queries_.push_back(flags);
    }
    for (const float bias : one.head.bias) bias_ |= !std::isfinite(bias) && bias != kHidden;
  }
  for (std::int64_t j = 0; j < operands.keys; ++j) {
    KeyFlags flags;
    flags.k.note(operands.head(0).k, j, operands.d);
    flags.v.note(operands.head(0).v, j, operands.width_v);
    any_ |= flags.k.any() || flags.v.any();
    keys_.push_back(flags);
  }
  any_ |= bias_;
}

// By the mask, and not in a row whose infinite LSE says that it gives nothing.
bool GradientSpecials::visible(const GradientPair& at) const {
  const KeyRange range = operands_.head(at.head).visible(at.i);
  const std::size_t query = static_cast<std::size_t>(at.head * operands_.queries + at.i);
  return at.j >= range.first && at.j < range.end && !queries_[query].lse.infinite;
}

Due GradientSpecials::score(const GradientPair& at) const {
  const QueryFlags& query = queries_[static_cast<std::size_t>(at.head * operands_.queries + at.i)];
  const KeyFlags& key = keys_[static_cast<std::size_t>(at.j)];
  if (query.q.nan || key.k.nan || query.lse.nan) return Due::nan;
  if (query.q.infinite || key.k.infinite) return Due::anything;
  if (bias_) {
    const AttentionHead& head = operands_.head(at.head);
    const float bias = head.bias[static_cast<std::size_t>(at.i * head.keys + at.j)];
    if (!std::isfinite(bias) && bias != kHidden) return Due::anything;
  }
  return Due::regular;
}

// dS = P (dP - delta): 0 times an infinity is NaN. What saturates makes a number of an infinity.
Due GradientSpecials::gradient(const GradientPair& at) const {
  const QueryFlags& query = queries_[static_cast<std::size_t>(at.head * operands_.queries + at.i)];
  const KeyFlags& key = keys_[static_cast<std::size_t>(at.j)];
  const bool saturates = AttentionBackwardContract::saturates(operands_.contract.ds);
  Due due = score(at);
  if (query.d_o.nan || query.o.nan || key.v.nan) return Due::nan;
  if (query.d_o.infinite || query.o.infinite || key.v.infinite)
    due = stronger(due, saturates ? Due::anything : Due::not_finite);
  return due;
}

std::vector<Due> GradientSpecials::line(GradientOutput output, std::int64_t line) const {
  const GradientRows& rows = operands_.rows(output);
  std::vector<Due> out(static_cast<std::size_t>(rows.width), Due::regular);
  if (!any_) return out;
  Due all = Due::regular;
  const auto meet = [&](const GradientPair& at) {
    const QueryFlags& query =
        queries_[static_cast<std::size_t>(at.head * operands_.queries + at.i)];
    const KeyFlags& key = keys_[static_cast<std::size_t>(at.j)];
    const bool seen = visible(at);
    if (output != GradientOutput::dv) {
      const bool hidden =
          query.q.any() || query.d_o.any() || query.o.any() || key.k.any() || key.v.any();
      all = stronger(all, seen ? gradient(at) : hidden ? Due::regular_or_nan : Due::regular);
      return;
    }
    if (seen) all = stronger(all, score(at));
    if (!query.d_o.any()) return;
    const std::vector<float>& d_o = operands_.group.heads[static_cast<std::size_t>(at.head)].d_o;
    for (std::int64_t x = 0; x < rows.width; ++x) {
      const float value = d_o[static_cast<std::size_t>(at.i * rows.width + x)];
      if (std::isfinite(value)) continue;
      Due& due = out[static_cast<std::size_t>(x)];
      due = stronger(due, !seen               ? Due::regular_or_nan
                          : std::isnan(value) ? Due::nan
                                              : Due::not_finite);
    }
  };
  if (output == GradientOutput::dq) {
    for (std::int64_t j = 0; j < operands_.keys; ++j)
      meet({line / operands_.queries, line % operands_.queries, j});
  } else {
    for (std::int64_t h = 0; h < operands_.heads(); ++h) {
      for (std::int64_t i = 0; i < operands_.queries; ++i) meet({h, i, line});
    }
  }
  for (Due& due : out) due = stronger(due, all);
  return out;
}

}  // namespace plumbline
