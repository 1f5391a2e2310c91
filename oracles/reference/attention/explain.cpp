// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oracles/formats/ulp.h"
#include "oracles/reference/attention/definition.h"
#include "oracles/reference/attention/faults.h"
#include "oracles/reference/attention/judge.h"
#include "oracles/reference/describe_errors.h"

namespace plumbline {
namespace {

using Lines = std::vector<std::string>;

std::string place_text(const PreparedAttention& attention, const AttentionPlace& at, int output) {
  const HeadPlace& place = attention.places[at.head];
  std::string text = output == kAttentionO ? "o[" : "lse[";
  if (attention.problem.batch() > 1) text += fmt::format("{},", place.batch);
  text += fmt::format("{},{}", place.head, place.first_query + at.query);
  if (output == kAttentionO) text += fmt::format(",{}", at.column);
  return text + "]";
}

void tell_result(const PreparedAttention& attention, const AttentionPlace& at, int output,
                 const ElementVerdict& verdict, Lines& lines) {
  const Format& format = attention.output_format(output);
  lines.push_back(describe_result(place_text(attention, at, output), format, verdict));
  if (verdict.low != verdict.high) lines.push_back(describe_range(format, verdict));
  if (verdict.class_mismatch) {
    lines.emplace_back("NaN, Inf and finite results must match, and here they do not");
    if (std::isnan(to_double(format, verdict.got))) lines.emplace_back(kNeverWritten);
  } else if (!std::isnan(verdict.error_ulp)) {
    lines.push_back(describe_error(format, verdict));
  }
  if (std::isfinite(verdict.share) && verdict.share > 0) {
    lines.push_back(
        fmt::format("this takes {:.3g} times the error that the contract allows before "
                    "the last rounding",
                    verdict.share));
  }
}

void tell_row(const PreparedAttention& attention, const AttentionPlace& at,
              const AttentionOperands& operands, const DetailedRow& detail, Lines& lines) {
  const HeadPlace& place = attention.places[at.head];
  const SurveyedRow& row = detail.row;
  std::string line =
      fmt::format("query {} of {} in sequence {}, head {} (K and V of head {})", at.query,
                  place.queries, place.sequence, place.head, place.kv_head);
  if (row.kind == AttentionRowKind::masked) {
    lines.push_back(line + fmt::format(" sees none of {} keys", place.keys));
    return;
  }
  lines.push_back(line + fmt::format(" sees keys {} to {} of {}", row.keys.first, row.keys.end - 1,
                                     place.keys));
  if (row.kind == AttentionRowKind::nan) {
    lines.push_back("a visible logit is NaN or +Inf, so the whole row is NaN");
    return;
  }
  if (!row.chosen.empty()) {
    lines.push_back(fmt::format(
        "a bias of {:.9g} decides: {} of them have it, key {} first, and all weight in equal parts",
        row.maximum, row.chosen.size(), row.chosen.front()));
    return;
  }
  if (row.kind == AttentionRowKind::may_overflow) {
    lines.push_back(attention.contract.nan_rows_open
                        ? "its logits come near the end of f32, or are NaN or +Inf, which the "
                          "contract leaves open: anything may come out"
                        : "its logits come near the end of f32: anything may come out");
    return;
  }
  const auto found = std::find(detail.logits.begin(), detail.logits.end(), row.maximum);
  const std::string holder =
      found == detail.logits.end()
          ? std::string("the sink")
          : fmt::format("key {}", row.keys.first + (found - detail.logits.begin()));
  const std::int64_t part = operands.part_keys();
  std::size_t rises = 0, steps = 0;
  for (std::size_t t = 1; t < row.tiles.size(); ++t) {
    if (row.tiles[t].first / part != row.tiles[t - 1].first / part) continue;
    ++steps;
    rises += row.tiles[t].maximum > row.tiles[t - 1].maximum;
  }
  lines.push_back(
      fmt::format("{} holds {}, {:.7g}; the maximum rises after {} of {} tiles; the sum "
                  "of exponentials "
                  "is {:.7g}, LSE {:.9g}{}",
                  holder,
                  operands.contract().rescale_threshold == 0
                      ? "its maximum"
                      : "the maximum that exponentials refer to at the end",
                  row.maximum * operands.to_natural(), rises, steps, row.sum, row.lse,
                  operands.head().lse_in_base_2 ? " in base 2" : ""));
}

// What the head's data are multiplied by, and how its keys are cut, where the problem says so.
void tell_head(const PreparedAttention& attention, const AttentionPlace& at,
               const AttentionOperands& operands, Lines& lines) {
  const AttentionHead& head = operands.head();
  if (head.scales_of_blocks()) {
    const auto query = static_cast<std::size_t>(at.query);
    lines.push_back(fmt::format(
        "q . k is multiplied by the scale {:.9g} times {:.9g} of this query's {} rows of Q times "
        "the scale of the key's",
        head.scale, head.q_scales[query], attention.problem.scale_block));
    if (!head.v_scales.empty()) {
      lines.push_back(
          fmt::format("sums of P . V over the keys of {} rows of V are multiplied by their scale, "
                      "from {:.9g} to {:.9g} here",
                      attention.problem.scale_block,
                      *std::min_element(head.v_scales.begin(), head.v_scales.end()),
                      *std::max_element(head.v_scales.begin(), head.v_scales.end())));
    }
  } else if (attention.problem.q_scale) {
    const HeadScales scales = head_scales(attention.problem, attention.places[at.head]);
    lines.push_back(fmt::format(
        "q . k is multiplied by {:.9g}: the scale {:.9g} times {:.9g} of Q times {:.9g} of K; O by "
        "{:.9g} of V",
        head.scale, attention.problem.scale, scales.q, scales.k, scales.v));
  }
  if (attention.contract.parts > 1) {
    lines.push_back(fmt::format("its keys are cut into {} parts, {} keys each but the last ones",
                                attention.contract.parts, operands.part_keys()));
  }
}

void tell_real_reference(const AttentionOperands& operands, const AttentionPlace& at, int output,
                         const DetailedRow& detail, Lines& lines) {
  if (detail.row.kind != AttentionRowKind::regular || output != kAttentionO ||
      operands.any_special_pair() || !operands.special_values().empty())
    return;
  const auto real = defined_row<RealOf<128>>(operands.head(), at.query, nullptr);
  const double without = static_cast<double>(real.o[static_cast<std::size_t>(at.column)]);
  lines.push_back(fmt::format("without the rounding of P to {} the exact result would be {:.12g}",
                              operands.rounding().to->name, without));
}

// How far the failure reaches.
void tell_neighbors(const PreparedAttention& attention, int output, const AttentionPlace& at,
                    const AttentionOperands& operands, const Tensor& got, Lines& lines) {
  const Format& format = attention.output_format(output);
  const AttentionRowBounds bounds = attention.bounds(operands);
  const std::int64_t width = attention.width(output), queries = operands.head().queries;
  std::int64_t rows = 0, failing_rows = 0, failing_here = 0, first_row = -1, last_row = -1;
  const std::int64_t step = std::max<std::int64_t>(1, queries / 64);
  const auto look = [&](std::int64_t query) {
    const DetailedRow row = survey_row(operands, query);
    RowBound bound;
    if (row.row.kind == AttentionRowKind::regular) bound = bounds(row);
    std::int64_t failing = 0;
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t index = attention.row(attention.places[at.head], query) * width + x;
      const AttentionKnowledge known = bounded_knowledge(output, operands, row, bound, x);
      failing += !decide(format, known, got.bits(index)).inside;
    }
    return failing;
  };
  failing_here = look(at.query);
  for (std::int64_t query = at.query % step; query < queries; query += step) {
    ++rows;
    if (look(query) == 0) continue;
    ++failing_rows;
    if (first_row < 0) first_row = query;
    last_row = query;
  }
  std::string line = fmt::format("of this head, {} of {} queries looked at fail ({} to {})",
                                 failing_rows, rows, first_row, last_row);
  if (output == kAttentionO)
    line = fmt::format("{} of {} columns of this query fail; ", failing_here, width) + line;
  lines.push_back(line);
}

}  // namespace

Explanation explain_attention(const PreparedAttention& attention, int output, std::int64_t index,
                              const Tensor& got) {
  Explanation out;
  const AttentionPlace at = attention.place(output, index);
  const auto held = attention.operands(at.head);
  const AttentionOperands& operands = *held;
  const DetailedRow detail = survey_row(operands, at.query);
  const ElementVerdict verdict = AttentionElements(attention).judge(output, index, got.bits(index));
  tell_result(attention, at, output, verdict, out.lines);
  tell_row(attention, at, operands, detail, out.lines);
  tell_head(attention, at, operands, out.lines);
  tell_real_reference(operands, at, output, detail, out.lines);
  if (verdict.pass) return out;
  tell_neighbors(attention, output, at, operands, got, out.lines);
  out.faults = attention_faults(attention, output, index, got);
  if (verdict.class_mismatch) out.faults.unnamed = kNoFaultFits;
  return out;
}

}  // namespace plumbline
