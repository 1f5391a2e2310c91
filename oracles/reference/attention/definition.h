// SPDX-License-Identifier: MIT
// The definition of attention over MPFR numbers: one row of one head. It is the specification, and
// the referee of the fast path (attention/survey.h).
//
// There are two references. The real one is attention as mathematics has it. The stage-faithful one
// keeps the one rounding in the middle that a contract mandates, that of the probabilities before
// they meet V: what a kernel is judged by. Both are exact functions; the numbers below carry the
// rounding errors of their precision only.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "oracles/bounds/contract/attention.h"
#include "oracles/exact/real.h"
#include "oracles/reference/attention/attention.h"

namespace plumbline {

template <typename Number>
struct DefinedRow {
  bool visible = false;   // some key is (or a sink); else o and lse mean nothing
  std::vector<Number> o;  // [dv]
  Number lse;
};

// For Number = double; MPFR numbers bring their own.
using std::exp, std::isinf, std::ldexp, std::log, std::tanh;

namespace attention_definition {

template <typename Number>
Number score(const AttentionHead& head, std::int64_t i, std::int64_t j) {
  Number sum = 0;
  for (std::int64_t x = 0; x < head.d; ++x) {
    // A product of two elements is exact in double.
    sum += static_cast<double>(head.q[static_cast<std::size_t>(i * head.d + x)]) *
           static_cast<double>(head.k[static_cast<std::size_t>(j * head.d + x)]);
  }
  return sum * Number(head.scale_of(i, j));
}

template <typename Number>
Number logit(const AttentionHead& head, std::int64_t i, std::int64_t j) {
  Number logit = score<Number>(head, i, j);
  if (head.softcap != 0) logit = head.softcap * tanh(Number(logit / head.softcap));
  if (!head.bias.empty()) logit += Number(head.bias[static_cast<std::size_t>(i * head.keys + j)]);
  return logit;
}

// To the nearest number of a format, ties to even.
template <typename Number>
Number rounded(FormatId to, const Number& value) {
  const Format& target = format(to);
  return Number(to_double(target, encode(target, Real(value), {.overflow = Overflow::saturate})));
}

// What key j's exponential refers to: the largest of the logits the row has met once the tile that
// holds j is done, or an older one that this is not above by more than the contract's threshold.
// Every part begins anew, with `start` where there is one. `first`: the first logit's key; `part`:
// keys of a part.
template <typename Number>
std::vector<Number> running_maxima(const std::vector<Number>& logits, std::int64_t first,
                                   const AttentionContract& contract, std::int64_t part,
                                   const std::optional<Number>& start) {
  std::vector<Number> maxima(logits.size());
  std::optional<Number> kept;
  const Number threshold = Number(contract.rescale_threshold) * log(Number(2));
  const auto at = [&](std::int64_t key) { return static_cast<std::size_t>(key - first); };
  const std::int64_t end = first + static_cast<std::int64_t>(logits.size());
  for_each_tile(contract.order, contract.tile, part, first, end,
                [&](std::int64_t tile, std::int64_t tile_end, bool begins) {
                  if (begins) kept = start;
                  Number largest = kept.value_or(logits[at(tile)]);
                  for (std::int64_t j = tile; j < tile_end; ++j) {
                    if (logits[at(j)] > largest) largest = logits[at(j)];
                  }
                  if (!kept || isinf(*kept) || largest - *kept > threshold) kept = largest;
                  for (std::int64_t j = tile; j < tile_end; ++j) maxima[at(j)] = *kept;
                });
  return maxima;
}

}  // namespace attention_definition

// The logits of the row's visible keys, in natural units.
template <typename Number>
std::vector<Number> defined_logits(const AttentionHead& head, std::int64_t i) {
  const KeyRange visible = head.visible(i);
  std::vector<Number> logits;
  for (std::int64_t j = visible.first; j < visible.end; ++j)
    logits.push_back(attention_definition::logit<Number>(head, i, j));
  return logits;
}

// Real attention. `contract`: null for that; else the stage-faithful reference. All inputs finite
// (but a bias of -inf, which hides a key). `columns`: those of O that are wanted, the others stay
// 0; empty: all.
template <typename Number>
DefinedRow<Number> defined_row(const AttentionHead& head, std::int64_t i,
                               const AttentionContract* contract,
                               std::vector<std::int64_t> columns = {}) {
  const std::int64_t first = head.visible(i).first;
  const std::vector<Number> logits = defined_logits<Number>(head, i);
  DefinedRow<Number> row;
  row.o.assign(static_cast<std::size_t>(head.dv), Number(0));
  std::optional<Number> largest;
  if (head.has_sink && !std::isinf(head.sink)) largest = Number(head.sink);
  const std::optional<Number> start =
      contract && contract->begins_with_sink() ? largest : std::nullopt;
  for (const Number& logit : logits) {
    if (!isinf(logit) && (!largest || logit > *largest)) largest = logit;
  }
  if (!largest) return row;
  row.visible = true;
  if (columns.empty()) {
    for (std::int64_t x = 0; x < head.dv; ++x) columns.push_back(x);
  }

  // Probabilities relative to the reference a kernel had when it rounded them.
  const std::vector<Number> references =
      contract ? attention_definition::running_maxima(logits, first, *contract,
                                                      contract->part_keys(head.keys), start)
               : std::vector<Number>(logits.size(), *largest);
  Number sum = head.has_sink ? Number(exp(Number(head.sink) - *largest)) : Number(0);
  for (std::size_t j = 0; j < logits.size(); ++j) {
    if (isinf(logits[j])) continue;
    const Number weight = exp(references[j] - *largest);
    const Number probability = exp(logits[j] - references[j]);
    Number rounded = probability;
    if (contract) {
      const Number shifted = ldexp(probability, contract->p_shift);
      rounded = ldexp(attention_definition::rounded(contract->p, shifted), -contract->p_shift);
    }
    sum += weight * (contract && contract->row_sum == RowSum::rounded ? rounded : probability);
    const std::int64_t key = first + static_cast<std::int64_t>(j);
    const Number share = weight * rounded * Number(head.scale_of_value(key));
    const float* values = head.v.data() + key * head.dv;
    for (const std::int64_t x : columns) row.o[static_cast<std::size_t>(x)] += share * values[x];
  }
  for (Number& o : row.o) o = o / sum;
  row.lse = *largest + log(sum);
  if (head.lse_in_base_2) row.lse = row.lse / log(Number(2));
  return row;
}

}  // namespace plumbline
