// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracles/base/random.h"
#include "oracles/exact/parallel.h"
#include "oracles/reference/attention_backward/definition.h"
#include "oracles/reference/attention_backward/sums.h"
#include "oracles/reference/gemm/sample.h"

namespace plumbline {
namespace {

// Far more than FP64 has; what it left open is decided with twice as many.
constexpr int kRefereeBits = 128, kDefinitionBits = 256;
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

GradientJudge::GradientJudge(const GradientWork& work, GradientOutput output, const Tensor& got,
                             const JudgeOptions& options)
    : work_(work),
      operands_(work.operands()),
      weights_(work.weights()),
      output_(output),
      got_(got),
      elements_(got.layout.count()),
      options_(options),
      specials_(operands_),
      rule_(operands_.factor(output), got.layout.format, operands_.model(output)) {}

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
  tally.count(known.admits_anything());
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

bool GradientJudge::definition_agrees(const Refereed& element, const Dyadic& exact) const {
  GradientKnowledge known = element.known;
  const bool by_class = known.due >= Due::anything || !std::isfinite(known.error);
  if (by_class || (known.due == Due::regular_or_nan && rule_.is_nan(element.got)))
    return element.passes;
  if (!lies_in(exact, known.sum)) return false;
  known.sum = enclosure_of(exact);
  return rule_.decide(known, exact, element.got).judgement.inside == element.passes;
}

SumEnclosure GradientJudge::sum(const Glance& line, GradientOutput output, std::int64_t x) {
  if (line.survey != nullptr) return line.survey->sum(output, line.line, x);
  return enclosure_of(line.defined[static_cast<std::size_t>(x)]);
}

bool GradientJudge::by_class(const Glance& line, std::int64_t x, std::uint64_t code) const {
  const Due due = line.due.empty() ? Due::regular : line.due[static_cast<std::size_t>(x)];
  return due >= Due::anything || (due == Due::regular_or_nan && rule_.is_nan(code));
}

bool GradientJudge::close(std::int64_t index, const Wish& wish) const {
  // Panels, since the bounds of its columns cost as much as that of one: widths are multiples of 8.
  const std::int64_t panel = index / kPanelLanes;
  return !wish.bounded.empty() || (options_.mpfr_bits == 0 && contains(wish.refereed, index)) ||
         in_fixed_sample(panel, elements_, options_.seed);
}

// The weights of a line cost far more than the sums of its columns.
std::vector<Dyadic> GradientJudge::defined_line(std::int64_t line, int bits) const {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(operands_.rows(output_).width));
  std::iota(columns.begin(), columns.end(), 0);
  return defined_sums(operands_, output_, line, columns, bits);
}

GradientJudge::Glance GradientJudge::glance(std::int64_t line, const GradientSurvey* survey,
                                            const Wish& wish) const {
  const bool only_chosen = !wish.bounded.empty();
  const std::int64_t width = operands_.rows(output_).width, first_index = index(line, 0);
  Glance out;
  out.line = line;
  out.first_index = first_index;
  out.survey = survey;
  if (only_chosen) {
    const auto next = std::lower_bound(wish.bounded.begin(), wish.bounded.end(), first_index);
    out.asked = next != wish.bounded.end() && *next < first_index + width;
    if (!out.asked) return out;
  }
  out.storage = got_.layout.storage_index(first_index);
  if (specials_.any()) out.due = specials_.line(output_, line);
  const bool regular_somewhere =
      out.due.empty() || *std::min_element(out.due.begin(), out.due.end()) < Due::anything;
  if (survey == nullptr && regular_somewhere) {
    out.defined = defined_line(line, options_.mpfr_bits);
  }
  out.surely_admissible.resize(static_cast<std::size_t>(width));
  for (std::int64_t x = 0; x < width; ++x) {
    if (only_chosen && !contains(wish.bounded, first_index + x)) continue;
    const std::uint64_t code = got_.bits_at(out.storage + x * got_.layout.strides[3]);
    if (by_class(out, x, code)) continue;
    const SumEnclosure known = sum(out, output_, x);
    const bool surely_admissible = !close(first_index + x, wish) && std::fabs(known.hi) < kLarge &&
                                   rule_.surely_admissible(known, code);
    out.surely_admissible[static_cast<std::size_t>(x)] = surely_admissible;
    out.closer = out.closer || !surely_admissible;
  }
  return out;
}

void GradientJudge::judge_block(const Block& where, const Wish& wish, Findings& findings) const {
  const GradientSurvey* survey = options_.mpfr_bits > 0 ? nullptr : &work_.survey(1);
  std::vector<Glance> glances;
  std::vector<std::int64_t> closer;
  for (std::int64_t line = where.first; line < where.first + where.lines; ++line) {
    glances.push_back(glance(line, survey, wish));
    if (glances.back().closer) closer.push_back(line);
  }
  GradientBlock block(operands_, weights_, output_, closer);
  std::int64_t place = 0;
  for (const Glance& line : glances) {
    if (line.asked) judge_line(line, block, place, wish, findings);
    place += line.closer;
  }
}

void GradientJudge::judge_line(const Glance& line, GradientBlock& block, std::int64_t place,
                               const Wish& wish, Findings& findings) const {
  OutputTally& tally = findings.tally;
  const bool only_chosen = !wish.bounded.empty();
  std::vector<Refereed> to_referee;
  std::vector<Dyadic> defined;  // once an element needs it
  for (std::int64_t x = 0; x < operands_.rows(output_).width; ++x) {
    const std::int64_t index = line.first_index + x;
    if (only_chosen && !contains(wish.bounded, index)) continue;
    const std::uint64_t code = got_.bits_at(line.storage + x * got_.layout.strides[3]);
    if (!only_chosen && rule_.is_nonzero(code)) ++tally.nonzero;
    GradientKnowledge known;
    if (!line.due.empty()) known.due = line.due[static_cast<std::size_t>(x)];
    const bool refereed = contains(wish.refereed, index) && options_.mpfr_bits == 0;
    if (by_class(line, x, code)) {
      record(index, known, rule_.decide(known, code), code, tally);
      findings.refereed += refereed;
      continue;
    }
    known.sum = sum(line, output_, x);
    if (line.surely_admissible[static_cast<std::size_t>(x)] != 0) {
      ++tally.compared;
      tally.add_error(rule_.error_ulp(known.sum, code));
      continue;
    }
    if (!close(index, wish)) {
      known.error = block.error_any(place, x);
      if (rule_.surely_wrong(known.sum, known.error, code)) {
        record(index, known, rule_.decide(known, code), code, tally);
        continue;
      }
      if (!wish.all_bounds) {
        tally.pending.push_back(index);
        continue;
      }
    }
    const RunningBound bound = block.bound(place, x);
    known.error = bound.error;
    known.classes = bound.classes;
    known.bounded = true;
    GradientDecision decision = rule_.decide(known, code);
    const GradientKnowledge fast = known;
    if (!decision.decided) {
      tally.undecided.push_back(index);
      if (defined.empty())
        defined = line.defined.empty() ? defined_line(line.line, kDefinitionBits) : line.defined;
      const Dyadic& exact = defined[static_cast<std::size_t>(x)];
      known.sum = enclosure_of(exact);
      decision = rule_.decide(known, exact, code);
    }
    record(index, known, decision, code, tally);
    if (refereed || fast.sum.hi != known.sum.hi || fast.sum.bound != known.sum.bound)
      to_referee.push_back({x, fast, decision.judgement.inside, code});
  }
  if (to_referee.empty()) return;
  std::vector<std::int64_t> columns;
  for (const Refereed& element : to_referee) columns.push_back(element.x);
  std::vector<Dyadic> exact;
  if (defined.empty()) {
    exact = defined_sums(operands_, output_, line.line, columns, kRefereeBits);
  } else {
    for (const std::int64_t x : columns) exact.push_back(defined[static_cast<std::size_t>(x)]);
  }
  for (std::size_t n = 0; n < to_referee.size(); ++n) {
    ++findings.refereed;
    tally.disagreements += !definition_agrees(to_referee[n], exact[n]);
  }
}

std::vector<GradientJudge::Block> GradientJudge::blocks() const {
  std::vector<Block> out;
  const std::int64_t most = GradientBlock::most_lines(operands_, output_);
  const std::int64_t lines_of_head =
      output_ == GradientOutput::dq ? operands_.queries : operands_.keys;
  for (std::int64_t begin = 0; begin < operands_.lines(output_); begin += lines_of_head) {
    for (std::int64_t at = 0; at < lines_of_head; at += most)
      out.push_back({begin + at, std::min(most, lines_of_head - at)});
  }
  return out;
}

GradientJudge::Findings GradientJudge::run(const Wish& wish, int threads) const {
  if (options_.mpfr_bits == 0) work_.survey(threads);
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

void GradientJudge::put_values(Reference reference, std::vector<double>& all, int threads) const {
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
  const GradientSurvey& survey = work_.survey(threads);
  for (std::int64_t line = 0; line < operands_.lines(output_); ++line)
    put(line, [&](std::int64_t x) { return rule_.value(survey.sum(output_, line, x)); });
}

GradientJudge::CloseLine GradientJudge::close_line(std::int64_t line) const {
  CloseLine close{.line = line, .due = {}, .block = {}, .exact = {}};
  if (specials_.any()) close.due = specials_.line(output_, line);
  if (!close.due.empty() && *std::min_element(close.due.begin(), close.due.end()) >= Due::anything)
    return close;
  close.block = std::make_unique<GradientBlock>(operands_, weights_, output_,
                                                std::vector<std::int64_t>{line});
  close.exact = defined_line(line, kDefinitionBits);
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
