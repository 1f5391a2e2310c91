// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_gradient_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracles/base/random.h"
#include "oracles/exact/parallel.h"
#include "oracles/reference/attention_gradient_definition.h"
#include "oracles/reference/attention_gradient_sums.h"
#include "oracles/reference/gemm_sample.h"

namespace plumbline {
namespace {

constexpr int kDefinitionBits = 256;
// Sums this large may overflow on the way.
constexpr double kLarge = 0x1p100;

bool lies_in(const Dyadic& exact, const SumEnclosure& sum) {
  const Dyadic distance = (exact - Dyadic(sum.hi) - Dyadic(sum.lo)).abs();
  return !(Dyadic(sum.bound) < distance);
}

// Mathematics: the definition over doubles, given what the forward pass stored.
class DefinedGradients {
 public:
  explicit DefinedGradients(const GradientGroup& group) : group_(group) {
    for (const GradientHead& head : group.heads) {
      std::vector<GradientRow<double>>& rows = rows_.emplace_back();
      for (std::int64_t i = 0; i < head.head.queries; ++i)
        rows.push_back(stored_row<double>(head, i));
    }
  }

  std::vector<double> line(GradientOutput output, std::int64_t line) const {
    if (output == GradientOutput::dq) {
      const std::int64_t queries = group_.heads.front().head.queries, i = line % queries;
      const auto h = static_cast<std::size_t>(line / queries);
      return defined_dq<double>(group_.heads[h], rows_[h][static_cast<std::size_t>(i)], i, nullptr);
    }
    KeyGradients<double> both = defined_key_gradients<double>(group_, rows_, line, nullptr);
    return output == GradientOutput::dk ? std::move(both.dk) : std::move(both.dv);
  }

 private:
  const GradientGroup& group_;
  std::vector<std::vector<GradientRow<double>>> rows_;
};

bool contains(const std::vector<std::int64_t>& sorted, std::int64_t value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

}  // namespace

GradientJudge::GradientJudge(const GradientOperands& operands, GradientOutput output,
                             const Tensor& got, const JudgeOptions& options)
    : operands_(operands),
      output_(output),
      got_(got),
      options_(options),
      weights_(operands),
      specials_(operands),
      rule_(operands.factor(output), got.layout.format, operands.model(output)) {}

// Outputs are [batch, heads or kv_heads, queries or keys, width].
std::int64_t GradientJudge::index(std::int64_t line, std::int64_t x) const {
  const std::vector<std::int64_t>& shape = got_.layout.shape;
  const bool by_query = output_ == GradientOutput::dq;
  const HeadPlace& at =
      operands_.group.places[by_query ? static_cast<std::size_t>(line / operands_.queries) : 0];
  const std::int64_t head = by_query ? at.head : at.kv_head;
  const std::int64_t row =
      by_query ? at.first_query + line % operands_.queries : at.first_key + line;
  return ((at.batch * shape[1] + head) * shape[2] + row) * shape[3] + x;
}

std::optional<GradientJudge::Place> GradientJudge::place(std::int64_t index) const {
  const std::vector<std::int64_t>& shape = got_.layout.shape;
  const std::int64_t x = index % shape[3], row = index / shape[3] % shape[2],
                     head = index / shape[3] / shape[2] % shape[1],
                     batch = index / shape[3] / shape[2] / shape[1];
  const bool by_query = output_ == GradientOutput::dq;
  for (std::size_t h = 0; h < (by_query ? operands_.group.places.size() : 1); ++h) {
    const HeadPlace& at = operands_.group.places[h];
    const std::int64_t first = by_query ? at.first_query : at.first_key;
    const std::int64_t count = by_query ? operands_.queries : operands_.keys;
    if (at.batch != batch || (by_query ? at.head : at.kv_head) != head) continue;
    if (row < first || row >= first + count) continue;
    return Place{static_cast<std::int64_t>(h) * count * (by_query ? 1 : 0) + row - first, x};
  }
  return std::nullopt;
}

void GradientJudge::record(std::int64_t index, const GradientKnowledge& known,
                           const GradientDecision& decision, std::uint64_t got,
                           OutputTally& tally) const {
  const bool pass = decision.judgement.inside || !decision.decided;
  ++tally.compared;
  if (known.bounded) ++tally.bounded;
  if (known.bounded && known.error == 0) ++tally.exact_required;
  if (!pass) {
    ++tally.failed;
    tally.class_mismatches += decision.judgement.class_mismatch;
  }
  if (!known.bounded && known.due == Due::regular &&
      tally.failures.size() >= OutputTally::kFailures) {
    tally.add_error(rule_.error_ulp(known.sum, got));
    return;
  }
  ElementVerdict verdict = rule_.describe(index, known, decision, got);
  tally.add_error(verdict.error_ulp);
  if (!pass) tally.add_failure(verdict);
  if (!known.bounded) verdict.bound_ulp = std::numeric_limits<double>::quiet_NaN();
  tally.add_figures(verdict);
}

bool GradientJudge::definition_agrees(GradientKnowledge known, std::int64_t line, std::int64_t x,
                                      bool passes, std::uint64_t got) const {
  const bool by_class = known.due >= Due::anything || !std::isfinite(known.error);
  if (by_class || (known.due == Due::regular_or_nan && rule_.is_nan(got))) return passes;
  const Dyadic exact = defined_sums(operands_, output_, line, {x}, kDefinitionBits).front();
  if (!lies_in(exact, known.sum)) return false;
  known.sum = enclosure_of(exact);
  return rule_.decide(known, exact, got).judgement.inside == passes;
}

void GradientJudge::judge_block(const Block& where, const Wish& wish, Findings& findings) const {
  GradientBlock block(operands_, weights_, output_, where.first, where.lines);
  OutputTally& tally = findings.tally;
  const bool only_chosen = !wish.bounded.empty();
  const std::int64_t width = operands_.rows(output_).width;
  const std::vector<std::int64_t>& strides = got_.layout.strides;
  std::vector<std::int64_t> every(static_cast<std::size_t>(width));
  for (std::int64_t x = 0; x < width; ++x) every[static_cast<std::size_t>(x)] = x;

  for (std::int64_t l = 0; l < where.lines; ++l) {
    const std::int64_t line = where.first + l, first_index = index(line, 0);
    if (only_chosen) {
      const auto next = std::lower_bound(wish.bounded.begin(), wish.bounded.end(), first_index);
      if (next == wish.bounded.end() || *next >= first_index + width) continue;
    }
    std::vector<Due> due;
    if (specials_.any()) due = specials_.line(output_, line);
    const bool regular_somewhere =
        due.empty() || *std::min_element(due.begin(), due.end()) < Due::anything;
    std::vector<Dyadic> defined;
    if (options_.mpfr_bits > 0 && regular_somewhere)
      defined = defined_sums(operands_, output_, line, every, options_.mpfr_bits);
    const std::int64_t storage = got_.layout.storage_index(first_index);

    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t index = first_index + x;
      if (only_chosen && !contains(wish.bounded, index)) continue;
      const std::uint64_t code = got_.bits_at(storage + x * strides[3]);
      if (!only_chosen && rule_.is_nonzero(code)) ++tally.nonzero;
      GradientKnowledge known;
      if (!due.empty()) known.due = due[static_cast<std::size_t>(x)];
      const bool by_class =
          known.due >= Due::anything || (known.due == Due::regular_or_nan && rule_.is_nan(code));
      const bool refereed = contains(wish.refereed, index) && options_.mpfr_bits == 0;
      if (by_class) {
        record(index, known, rule_.decide(known, code), code, tally);
        findings.refereed += refereed;
        continue;
      }
      known.sum =
          defined.empty() ? block.sum(l, x) : enclosure_of(defined[static_cast<std::size_t>(x)]);
      const bool close =
          only_chosen || refereed || in_fixed_sample(index, got_.layout.count(), options_.seed);
      if (!close && std::fabs(known.sum.hi) < kLarge && rule_.surely_admissible(known.sum, code)) {
        ++tally.compared;
        tally.add_error(rule_.error_ulp(known.sum, code));
        continue;
      }
      if (!close) {
        known.error = block.error_any(l, x);
        if (rule_.surely_wrong(known.sum, known.error, code)) {
          record(index, known, rule_.decide(known, code), code, tally);
          continue;
        }
        if (!wish.all_bounds) {
          tally.pending.push_back(index);
          continue;
        }
      }
      const RunningBound bound = block.bound(l, x);
      known.error = bound.error;
      known.classes = bound.classes;
      known.bounded = true;
      GradientDecision decision = rule_.decide(known, code);
      const SumEnclosure sum = known.sum;
      if (!decision.decided) {
        tally.undecided.push_back(index);
        const Dyadic exact =
            defined.empty() ? defined_sums(operands_, output_, line, {x}, kDefinitionBits).front()
                            : defined[static_cast<std::size_t>(x)];
        known.sum = enclosure_of(exact);
        decision = rule_.decide(known, exact, code);
      }
      record(index, known, decision, code, tally);
      if (!refereed && sum.hi == known.sum.hi && sum.bound == known.sum.bound) continue;
      known.sum = sum;
      ++findings.refereed;
      tally.disagreements += !definition_agrees(known, line, x, decision.judgement.inside, code);
    }
  }
}

std::vector<GradientJudge::Block> GradientJudge::blocks() const {
  std::vector<Block> out;
  const std::int64_t most = GradientBlock::most_lines(operands_, output_);
  const std::int64_t stretch = output_ == GradientOutput::dq ? operands_.queries : operands_.keys;
  for (std::int64_t begin = 0; begin < operands_.lines(output_); begin += stretch) {
    for (std::int64_t at = 0; at < stretch; at += most)
      out.push_back({begin + at, std::min(most, stretch - at)});
  }
  return out;
}

GradientJudge::Findings GradientJudge::run(const Wish& wish, int threads) const {
  const std::vector<Block> all = blocks();
  std::vector<Findings> parts(all.size());
  for_each_piece(static_cast<std::int64_t>(all.size()), threads, [&](std::int64_t b) {
    judge_block(all[static_cast<std::size_t>(b)], wish, parts[static_cast<std::size_t>(b)]);
  });
  Findings total;
  for (const Findings& part : parts) {
    total.tally.add(part.tally);
    total.tally.pending.insert(total.tally.pending.end(), part.tally.pending.begin(),
                               part.tally.pending.end());
    total.refereed += part.refereed;
  }
  return total;
}

void GradientJudge::put_values(Reference reference, std::vector<double>& all) const {
  const std::int64_t width = operands_.rows(output_).width;
  std::vector<Due> due;
  const auto put = [&](std::int64_t line, const auto& value) {
    if (specials_.any()) due = specials_.line(output_, line);
    double* row = all.data() + index(line, 0);
    for (std::int64_t x = 0; x < width; ++x) {
      const bool regular = due.empty() || due[static_cast<std::size_t>(x)] < Due::anything;
      row[x] = regular ? value(x) : std::numeric_limits<double>::quiet_NaN();
    }
  };
  if (reference == Reference::mathematics && !specials_.any()) {
    const DefinedGradients defined(operands_.group);
    for (std::int64_t line = 0; line < operands_.lines(output_); ++line) {
      const std::vector<double> row = defined.line(output_, line);
      put(line, [&](std::int64_t x) { return row[static_cast<std::size_t>(x)]; });
    }
    return;
  }
  for (const Block& where : blocks()) {
    const GradientBlock block(operands_, weights_, output_, where.first, where.lines);
    for (std::int64_t l = 0; l < where.lines; ++l)
      put(where.first + l, [&](std::int64_t x) { return rule_.value(block.sum(l, x)); });
  }
}

GradientJudge::CloseLine GradientJudge::close_line(std::int64_t line) const {
  CloseLine close{.line = line, .due = {}, .block = {}, .exact = {}};
  if (specials_.any()) close.due = specials_.line(output_, line);
  if (!close.due.empty() && *std::min_element(close.due.begin(), close.due.end()) >= Due::anything)
    return close;
  std::vector<std::int64_t> columns(static_cast<std::size_t>(operands_.rows(output_).width));
  std::iota(columns.begin(), columns.end(), 0);
  close.block = std::make_unique<GradientBlock>(operands_, weights_, output_, line, 1);
  close.exact = defined_sums(operands_, output_, line, columns, kDefinitionBits);
  return close;
}

ElementVerdict GradientJudge::element(CloseLine& line, std::int64_t index,
                                      std::uint64_t got) const {
  const auto x = static_cast<std::size_t>(place(index)->x);
  GradientKnowledge known;
  if (!line.due.empty()) known.due = line.due[x];
  if (known.due >= Due::anything) {
    return rule_.describe(index, known, rule_.decide(known, got), got);
  }
  const Dyadic& exact = line.exact[x];
  known.sum = enclosure_of(exact);
  const RunningBound bound = line.block->bound(0, static_cast<std::int64_t>(x));
  known.error = bound.error;
  known.classes = bound.classes;
  known.bounded = true;
  return rule_.describe(index, known, rule_.decide(known, exact, got), got);
}

}  // namespace plumbline
