// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/judge.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "oracles/base/random.h"
#include "oracles/exact/parallel.h"
#include "oracles/formats/decode.h"
#include "oracles/reference/attention/referee.h"

namespace plumbline {
namespace {

// Elements looked at closely whether they need it or not, to have figures of bounds and shares; and
// the rows they may be spread over.
constexpr std::int64_t kFixedSample = 1024, kFewestRows = 8, kMostRows = 64;
// Outputs of one row that the referee recomputes, since it has to go through the whole row anyway.
constexpr std::int64_t kRefereedPerRow = 4;

}  // namespace

AttentionJudge::AttentionJudge(const PreparedAttention& attention, int output, const Tensor& got,
                               const JudgeOptions& options)
    : case_(attention),
      output_(output),
      format_(attention.output_format(output)),
      got_(got),
      options_(options),
      width_(attention.width(output)) {}

std::int64_t AttentionJudge::index(std::size_t head, std::int64_t query,
                                   std::int64_t column) const {
  return case_.row(case_.places[head], query) * width_ + column;
}

bool AttentionJudge::in_fixed_sample(std::int64_t row) const {
  const std::int64_t wanted = std::clamp(kFixedSample / width_, kFewestRows, kMostRows);
  if (case_.rows() <= wanted) return true;
  return Random(options_.seed).fork(static_cast<std::uint64_t>(row)).unit() *
             static_cast<double>(case_.rows()) <
         static_cast<double>(wanted);
}

void AttentionJudge::record(const AttentionKnowledge& known, const AttentionDecision& decision,
                            std::int64_t index, std::uint64_t code, bool close,
                            OutputTally& tally) const {
  const bool pass = decision.inside || !decision.decided;
  tally.count(std::isinf(known.bound));
  if (close && known.bounded()) {
    ++tally.bounded;
    if (known.bound == 0) ++tally.exact_required;
  }
  if (!pass) {
    ++tally.failed;
    if (decision.class_mismatch) ++tally.class_mismatches;
  }
  const bool kept = !pass && tally.failures.size() < OutputTally::kFailures;
  if (!close && !kept) {
    tally.add_error(error_in_ulp(format_, known, code));
    return;
  }
  const ElementVerdict verdict = describe(format_, known, decision, index, code);
  tally.add_error(verdict.error_ulp);
  if (!pass) tally.add_failure(verdict);
  tally.add_figures(verdict);
}

void AttentionJudge::look_at_row(const AttentionOperands& operands, std::size_t head,
                                 const DetailedRow& row, OutputTally& tally,
                                 std::vector<PendingRow>& pending) const {
  const std::int64_t query = row.row.query, first = index(head, query, 0);
  const bool fixed = in_fixed_sample(first / width_);
  PendingRow later{head, query, {}};
  for (std::int64_t x = 0; x < width_; ++x) {
    const std::uint64_t code = got_.bits(first + x);
    if (to_double(format_, code) != 0) ++tally.nonzero;
    const AttentionKnowledge known = knowledge(output_, operands, row, x);
    if (row.row.kind != AttentionRowKind::regular || !known.classes.has(ResultClass::finite)) {
      record(known, decide(format_, known, code), first + x, code, true, tally);
    } else if (!fixed && surely_admissible(format_, known, code)) {
      ++tally.compared;
      tally.add_error(error_in_ulp(format_, known, code));
    } else {
      later.columns.push_back(x);
    }
  }
  if (!later.columns.empty()) pending.push_back(std::move(later));
}

void AttentionJudge::first_look(std::size_t head, const AttentionOperands& operands) {
  const std::int64_t queries = operands.head().queries;
  const std::int64_t block = RowSurveyor(operands).block_rows();
  const std::int64_t blocks = (queries + block - 1) / block;
  std::vector<OutputTally> tallies(static_cast<std::size_t>(blocks));
  std::vector<std::vector<PendingRow>> pending(static_cast<std::size_t>(blocks));
  const bool special = !operands.special_values().empty();
  for_each_piece(blocks, options_.threads, [&](std::int64_t b) {
    OutputTally& tally = tallies[static_cast<std::size_t>(b)];
    std::vector<PendingRow>& later = pending[static_cast<std::size_t>(b)];
    const std::int64_t first = b * block, end = std::min(queries, first + block);
    if (special || options_.mpfr_bits > 0) {
      for (std::int64_t i = first; i < end; ++i) {
        DetailedRow row = survey_row(operands, i);
        if (options_.mpfr_bits > 0) use_definition(operands, options_.mpfr_bits, row);
        look_at_row(operands, head, row, tally, later);
      }
      return;
    }
    RowSurveyor surveyor(operands);
    surveyor.run(first, end, [&](const SurveyedRow& row, const double* o) {
      DetailedRow detail;
      detail.row = row;
      detail.o.assign(o, o + operands.head().dv);
      look_at_row(operands, head, detail, tally, later);
    });
  });
  for (std::size_t b = 0; b < tallies.size(); ++b) {
    total_.add(tallies[b]);
    pending_.insert(pending_.end(), std::make_move_iterator(pending[b].begin()),
                    std::make_move_iterator(pending[b].end()));
  }
}

// At most options_.max_bounded elements, as whole rows.
void AttentionJudge::choose() {
  std::int64_t elements = 0;
  for (const PendingRow& row : pending_) elements += static_cast<std::int64_t>(row.columns.size());
  if (options_.max_bounded < 0 || elements <= options_.max_bounded) return;
  sampled_ = true;
  const double share = static_cast<double>(options_.max_bounded) / static_cast<double>(elements);
  const Random random(options_.seed ^ 0x726f7773);  // "rows"
  std::vector<PendingRow> chosen;
  for (PendingRow& row : pending_) {
    const auto key = static_cast<std::uint64_t>(index(row.head, row.query, 0));
    if (random.fork(key).unit() < share || (chosen.empty() && &row == &pending_.back()))
      chosen.push_back(std::move(row));
  }
  pending_ = std::move(chosen);
}

void AttentionJudge::look_closely(const AttentionOperands& operands,
                                  const AttentionRowBounds& bounds, const PendingRow& pending,
                                  OutputTally& tally) const {
  DetailedRow row = survey_row(operands, pending.query);
  const RowBound bound = bounds(row, output_ == kAttentionO);
  if (options_.mpfr_bits > 0) use_definition(operands, options_.mpfr_bits, row);
  std::optional<DefinedRow<Real>> defined;
  for (const std::int64_t x : pending.columns) {
    const std::int64_t at = index(pending.head, pending.query, x);
    const std::uint64_t code = got_.bits(at);
    AttentionKnowledge known = bounded_knowledge(output_, operands, row, bound, x);
    AttentionDecision decision = decide(format_, known, code);
    if (!decision.decided) {
      tally.undecided.push_back(at);
      if (!defined) defined = exact_row(operands, pending.query);
      decision = decide_exactly(
          format_, output_ == kAttentionO ? defined->o[static_cast<std::size_t>(x)] : defined->lse,
          known, code);
    }
    record(known, decision, at, code, true, tally);
  }
}

void AttentionJudge::referee(OutputVerdict& verdict) const {
  std::vector<RefereedRow> rows;
  for (const std::int64_t index : total_.undecided) {
    const AttentionPlace at = case_.place(output_, index);
    const bool same_row =
        !rows.empty() && rows.back().head == at.head && rows.back().query == at.query;
    if (!same_row) rows.push_back({at.head, at.query, {}});
    rows.back().columns.push_back(at.column);
  }
  Random random = Random(options_.seed).fork(0x7265666572656565u);  // "refereee"
  const std::int64_t wanted = std::min(options_.referee_samples, verdict.elements);
  for (std::int64_t taken = 0; taken < wanted; taken += kRefereedPerRow) {
    const auto index =
        static_cast<std::int64_t>(random.unit() * static_cast<double>(verdict.elements));
    const AttentionPlace at = case_.place(output_, index);
    RefereedRow& row = rows.emplace_back(RefereedRow{at.head, at.query, {}});
    for (std::int64_t n = 0; n < std::min({kRefereedPerRow, wanted - taken, width_}); ++n)
      row.columns.push_back((at.column + n * 7) % width_);
  }
  std::vector<std::int64_t> differ(rows.size());
  for_each_piece(static_cast<std::int64_t>(rows.size()), options_.threads, [&](std::int64_t r) {
    const auto at = static_cast<std::size_t>(r);
    differ[at] = disagreements(case_, output_, rows[at]);
  });
  for (std::size_t r = 0; r < rows.size(); ++r) {
    verdict.refereed += static_cast<std::int64_t>(rows[r].columns.size());
    verdict.disagreements += differ[r];
  }
}

OutputVerdict AttentionJudge::run() {
  for (std::size_t head = 0; head < case_.places.size(); ++head) {
    if (case_.places[head].queries > 0) first_look(head, *case_.operands(head));
  }
  choose();
  for (std::size_t begin = 0; begin < pending_.size();) {
    std::size_t end = begin;
    while (end < pending_.size() && pending_[end].head == pending_[begin].head) ++end;
    const auto held = case_.operands(pending_[begin].head);
    const AttentionOperands& operands = *held;
    const AttentionRowBounds bounds = case_.bounds(operands);
    std::vector<OutputTally> tallies(end - begin);
    for_each_piece(static_cast<std::int64_t>(tallies.size()), options_.threads,
                   [&](std::int64_t r) {
                     look_closely(operands, bounds, pending_[begin + static_cast<std::size_t>(r)],
                                  tallies[static_cast<std::size_t>(r)]);
                   });
    for (const OutputTally& tally : tallies) total_.add(tally);
    begin = end;
  }
  OutputVerdict verdict = total_.verdict(case_.rows() * width_);
  verdict.sampled = sampled_;
  if (options_.mpfr_bits > 0) {
    verdict.refereed = verdict.elements;
  } else {
    referee(verdict);
  }
  return verdict;
}

void AttentionElements::look_at(std::size_t head, std::int64_t query) {
  if (!operands_ || head != head_) {
    head_ = head;
    query_ = -1;
    operands_ = case_.operands(head);
    bounds_.emplace(case_.bounds(*operands_));
  }
  if (query == query_) return;
  query_ = query;
  row_ = survey_row(*operands_, query);
  bound_.reset();
  if (row_.row.kind == AttentionRowKind::regular) bound_ = (*bounds_)(row_);
  defined_.reset();
}

ElementVerdict AttentionElements::judge(int output, std::int64_t index, std::uint64_t got) {
  const AttentionPlace at = case_.place(output, index);
  look_at(at.head, at.query);
  const Format& format = case_.output_format(output);
  AttentionKnowledge known = knowledge(output, *operands_, row_, at.column);
  if (bound_ && known.classes.has(ResultClass::finite))
    known = bounded_knowledge(output, *operands_, row_, *bound_, at.column);
  AttentionDecision decision = decide(format, known, got);
  if (!decision.decided) {
    if (!defined_) defined_ = exact_row(*operands_, at.query);
    decision = decide_exactly(
        format,
        output == kAttentionO ? defined_->o[static_cast<std::size_t>(at.column)] : defined_->lse,
        known, got);
  }
  return describe(format, known, decision, index, got);
}

}  // namespace plumbline
