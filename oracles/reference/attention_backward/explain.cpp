// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oracles/formats/decode.h"
#include "oracles/formats/ulp.h"
#include "oracles/reference/attention_backward/definition.h"
#include "oracles/reference/attention_backward/faults.h"
#include "oracles/reference/describe_errors.h"

namespace plumbline {
namespace {

constexpr std::int64_t kOtherRows = 8;
constexpr std::int64_t kMostPairs = 1 << 22;  // of query and key, for all fault kinds together

// The row's number in the tensor, with the sequence it belongs to where there are several.
void tell_place(const GradientOperands& operands, GradientOutput output, std::int64_t line,
                std::vector<std::string>& lines) {
  const HeadPlace& first = operands.group.places.front();
  if (output == GradientOutput::dq) {
    const std::int64_t h = line / operands.queries, i = line % operands.queries;
    const KeyRange visible = operands.head(h).visible(i);
    const float lse =
        operands.group.heads[static_cast<std::size_t>(h)].lse[static_cast<std::size_t>(i)];
    lines.push_back(fmt::format("query {} of {} of head {}{}", i, operands.queries,
                                operands.group.places[static_cast<std::size_t>(h)].head,
                                visible.empty()
                                    ? std::string(" sees no key")
                                    : fmt::format(" sees keys {} to {} of {}", visible.first,
                                                  visible.end - 1, operands.keys)));
    lines.push_back(std::isfinite(lse) ? fmt::format("its LSE is {}, its delta {}", lse,
                                                     operands.query_of(h, i).delta)
                                       : fmt::format("its LSE is {}: it gives no gradient", lse));
    return;
  }
  std::int64_t seen = 0;
  for (std::int64_t h = 0; h < operands.heads(); ++h) {
    for (std::int64_t i = 0; i < operands.queries; ++i) {
      const KeyRange visible = operands.head(h).visible(i);
      seen += line >= visible.first && line < visible.end && operands.query_of(h, i).live;
    }
  }
  lines.push_back(fmt::format("key {} of {} of head {} is seen by {} queries of {} heads", line,
                              operands.keys, first.kv_head, seen, operands.heads()));
}

// The gradient without the roundings of P and dS.
double real_gradient(const GradientOperands& operands, GradientOutput output, std::int64_t line,
                     std::int64_t x) {
  using Number = RealOf<128>;
  const auto column = static_cast<std::size_t>(x);
  if (output == GradientOutput::dq) {
    const GradientHead& head =
        operands.group.heads[static_cast<std::size_t>(line / operands.queries)];
    const std::int64_t i = line % operands.queries;
    return static_cast<double>(
        defined_dq<Number>(head, stored_row<Number>(head, i), i, nullptr)[column]);
  }
  std::vector<std::vector<GradientRow<Number>>> rows;
  for (const GradientHead& head : operands.group.heads) {
    rows.emplace_back();
    for (std::int64_t i = 0; i < operands.queries; ++i)
      rows.back().push_back(stored_row<Number>(head, i));
  }
  const KeyGradients<Number> gradients =
      defined_key_gradients<Number>(operands.group, rows, line, nullptr);
  return static_cast<double>(output == GradientOutput::dk ? gradients.dk[column]
                                                          : gradients.dv[column]);
}

class StoredLines {
 public:
  StoredLines(const GradientJudge& judge, const Tensor& got) : judge_(judge), got_(got) {}

  // Whether what is stored in the line is the prediction but for roundings.
  bool is(std::int64_t line, const FaultyLine& prediction) const {
    if (prediction.values.empty()) return false;
    const Format& stored = judge_.rule().stored();
    for (std::size_t x = 0; x < prediction.values.size(); ++x) {
      const double value = prediction.values[x];
      const double here =
          to_double(stored, got_.bits(judge_.index(line, static_cast<std::int64_t>(x))));
      if (here == value) continue;
      if (!std::isfinite(value)) return false;
      if (!(std::fabs(here - value) <= 0.75 * ulp(stored, value) + prediction.slack[x]))
        return false;
    }
    return true;
  }

 private:
  const GradientJudge& judge_;
  const Tensor& got_;
};

NamedFaults faults_of(const GradientOperands& operands, const GradientJudge& judge,
                      GradientOutput output, std::int64_t line, const Tensor& got) {
  const StoredLines stored(judge, got);
  const GradientFault none;
  if (stored.is(line, faulty_line(operands, output, line, none)))
    return NamedFaults::none(kCloseToRight);
  const std::int64_t lines = operands.lines(output);
  const std::int64_t affordable = std::clamp<std::int64_t>(
      kMostPairs / std::max<std::int64_t>(operands.terms(output), 1) / 64, 1, kOtherRows);
  FaultRanking ranking;
  for (const GradientFault& fault : gradient_faults(operands, output)) {
    if (!stored.is(line, faulty_line(operands, output, line, fault))) continue;
    std::int64_t others = 0, looked_at = 0;
    for (std::int64_t other = 0; other < std::min(affordable, lines); ++other) {
      const std::int64_t at = other * lines / std::min(affordable, lines);
      if (at == line) continue;
      ++looked_at;
      others += stored.is(at, faulty_line(operands, output, at, fault));
    }
    ranking.add({.words = fault.sentence,
                 .agreement = {others},
                 .evidence = looked_at == 0 ? ""
                             : others == looked_at
                                 ? "other rows agree with it as well"
                                 : fmt::format("so do {} of {} other rows", others, looked_at)});
  }
  return std::move(ranking).named(1);
}

}  // namespace

Explanation explain_gradient(const GradientOperands& operands, const GradientJudge& judge,
                             GradientOutput output, const ElementVerdict& verdict,
                             const Tensor& got) {
  static constexpr const char* kNames[] = {"dq", "dk", "dv"};
  Explanation out;
  const Format& stored = judge.rule().stored();
  const GradientJudge::Place at = *judge.place(verdict.index);
  const std::vector<std::int64_t>& shape = got.layout.shape;
  const std::int64_t row = verdict.index / shape[3];
  const std::string batch = shape[0] == 1 ? "" : fmt::format("{},", row / shape[2] / shape[1]);
  const std::string place = fmt::format("{}[{}{},{},{}]", kNames[static_cast<int>(output)], batch,
                                        row / shape[2] % shape[1], row % shape[2], at.x);
  out.lines.push_back(describe_result(place, stored, verdict));
  if (verdict.class_mismatch)
    out.lines.push_back("NaN, infinite and finite results must match, and here they do not");
  if (!std::isnan(verdict.error_ulp)) {
    out.lines.push_back(describe_error(stored, verdict));
  }
  tell_place(operands, output, at.line, out.lines);
  if (!std::isfinite(verdict.exact)) return out;
  out.lines.push_back(
      fmt::format("exact means with P and dS rounded as the contract says; without it would be {}",
                  real_gradient(operands, output, at.line, at.x)));
  if (verdict.share == 0 || verdict.low == verdict.high) {
    out.lines.push_back("one output only is admissible here");
  } else if (std::isinf(verdict.share)) {
    out.lines.push_back("no value of the accumulator gives this output");
  } else if (!std::isnan(verdict.share)) {
    out.lines.push_back(fmt::format(
        "this output needs {:.4g} times what the accumulator may be off", verdict.share));
  }
  if (!verdict.pass) out.faults = faults_of(operands, judge, output, at.line, got);
  return out;
}

}  // namespace plumbline
