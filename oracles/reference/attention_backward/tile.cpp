// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/tile.h"

#include <algorithm>

#include "oracles/exact/ordered_product.h"

namespace plumbline {
namespace {

bool side_by_side(std::span<const std::int64_t> list) {
  return list.back() - list.front() + 1 == static_cast<std::int64_t>(list.size());
}

// Rows `first` + each of `list` of a matrix: in place if they lie side by side, else copied.
const double* gathered(const GradientRows& from, std::int64_t first,
                       std::span<const std::int64_t> list, std::vector<double>& copy) {
  if (side_by_side(list)) return from.wide.data() + (first + list.front()) * from.width;
  copy.clear();
  for (const std::int64_t r : list) {
    const double* row = from.wide.data() + (first + r) * from.width;
    copy.insert(copy.end(), row, row + from.width);
  }
  return copy.data();
}

}  // namespace

GradientTile::GradientTile(const GradientOperands& operands, const GradientWeights64& weights,
                           WeightErrors errors, WantedWeights wanted)
    : operands_(operands), weights_(weights), lanes_(operands, weights, errors), wanted_(wanted) {}

void GradientTile::multiply(const GradientRows& mine, std::int64_t first_row,
                            const GradientRows& others, std::vector<double>& out) {
  const auto rows = static_cast<std::int64_t>(queries_.size());
  out.assign(static_cast<std::size_t>(rows * stride_), 0);
  add_ordered_product(rows, static_cast<std::int64_t>(keys_.size()), mine.width,
                      gathered(mine, first_row, queries_, rows_), mine.width,
                      gathered(others, 0, keys_, columns_), others.width, out.data(), stride_);
}

void GradientTile::fill(std::int64_t head, std::span<const std::int64_t> queries,
                        std::span<const std::int64_t> keys) {
  head_ = head;
  queries_ = queries;
  keys_ = keys;
  open_.clear();
  // Vectors that begin anywhere in a row end in it.
  constexpr std::int64_t kMost = GradientLanes::kMostLanes;
  const auto columns = static_cast<std::int64_t>(keys.size());
  stride_ = (columns + kMost - 1) / kMost * kMost + kMost;
  const auto size = static_cast<std::size_t>(static_cast<std::int64_t>(queries.size()) * stride_);
  if (wanted_.p) p_.resize(size);
  if (wanted_.g) g_.resize(size);
  if (queries.empty() || keys.empty()) return;
  multiply(operands_.q, head * operands_.padded, operands_.k, scores_);
  if (wanted_.g) multiply(operands_.d_o, head * operands_.padded, operands_.v, dps_);
  key_norms_.assign(static_cast<std::size_t>(stride_), 0);
  value_norms_.assign(static_cast<std::size_t>(stride_), 0);
  key_norm_ = value_norm_ = 0;
  for (std::size_t c = 0; c < keys.size(); ++c) {
    const auto key = static_cast<std::size_t>(keys[c]);
    key_norms_[c] = operands_.k.size[key].two_norm;
    value_norms_[c] = operands_.v.size[key].two_norm;
    key_norm_ = std::max(key_norm_, key_norms_[c]);
    value_norm_ = std::max(value_norm_, value_norms_[c]);
  }
  for (std::size_t row = 0; row < queries.size(); ++row) fill_row(static_cast<std::int64_t>(row));
}

KeyRange GradientTile::visible_columns(std::int64_t row) const {
  const std::int64_t query = queries_[static_cast<std::size_t>(row)];
  if (!operands_.query_of(head_, query).live) return {};
  const KeyRange visible = operands_.head(head_).visible(query);
  const auto column_of = [&](std::int64_t key) {
    return std::lower_bound(keys_.begin(), keys_.end(), key) - keys_.begin();
  };
  return {column_of(visible.first), column_of(visible.end)};
}

void GradientTile::fill_row(std::int64_t row) {
  const KeyRange seen = visible_columns(row);
  const std::int64_t begin = row * stride_, first = seen.empty() ? 0 : seen.first,
                     end = seen.empty() ? 0 : seen.end;
  open_columns_.clear();
  if (!lanes_.useful()) {
    for (std::int64_t c = 0; c < end - first; ++c) open_columns_.push_back(c);
  } else if (!seen.empty()) {
    const std::int64_t query = queries_[static_cast<std::size_t>(row)];
    const AttentionHead& head = operands_.head(head_);
    if (!head.bias.empty()) {
      bias_.assign(static_cast<std::size_t>(stride_), 0);
      for (std::int64_t c = first; c < end; ++c) {
        bias_[static_cast<std::size_t>(c)] = head.bias[static_cast<std::size_t>(
            query * head.keys + keys_[static_cast<std::size_t>(c)])];
      }
    }
    const GradientPairs pairs{.scores = scores_.data() + begin + first,
                              .dps = wanted_.g ? dps_.data() + begin + first : nullptr,
                              .key_norms = key_norms_.data() + first,
                              .value_norms = value_norms_.data() + first,
                              .bias = head.bias.empty() ? nullptr : bias_.data() + first,
                              .count = end - first,
                              .p = wanted_.p ? p_.data() + begin + first : nullptr,
                              .g = wanted_.g ? g_.data() + begin + first : nullptr};
    lanes_.fill(head_, query, pairs, wanted_, key_norm_, value_norm_, open_columns_);
  }
  for (std::vector<double>* weights : {&p_, &g_}) {
    if (weights->empty()) continue;
    std::fill(weights->begin() + begin, weights->begin() + begin + first, 0.0);
    std::fill(weights->begin() + begin + end, weights->begin() + begin + stride_, 0.0);
  }
  for (const std::int64_t c : open_columns_) decide({row, first + c, 0, 0});
}

void GradientTile::decide(OpenPair pair) {
  const GradientPair at = place(pair);
  const PairProducts own = products(pair);
  const auto index = static_cast<std::size_t>(pair.row * stride_ + pair.column);
  if (wanted_.p) {
    const ReferenceWeight weight = weights_.reference(GradientOutput::dv, at, own);
    p_[index] = weight.value;
    pair.p_error = weight.error;
  }
  if (wanted_.g) {
    const ReferenceWeight weight = weights_.reference(GradientOutput::dq, at, own);
    g_[index] = weight.value;
    pair.g_error = weight.error;
  }
  open_.push_back(pair);
}

GradientPair GradientTile::place(const OpenPair& pair) const {
  return {head_, queries_[static_cast<std::size_t>(pair.row)],
          keys_[static_cast<std::size_t>(pair.column)]};
}

PairProducts GradientTile::products(const OpenPair& pair) const {
  const GradientPair at = place(pair);
  const auto index = static_cast<std::size_t>(pair.row * stride_ + pair.column);
  PairProducts out;
  out.score = scores_[index];
  out.score_error = weights_.score_error(at);
  if (!wanted_.g) return out;
  out.dp = dps_[index];
  out.dp_error = weights_.dp_error(at);
  return out;
}

}  // namespace plumbline
