// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/oracle.h"

#include <algorithm>

#include "oracles/base/assert.h"
#include "oracles/exact/parallel.h"
#include "oracles/reference/attention/definition.h"
#include "oracles/reference/attention/explain.h"
#include "oracles/reference/attention/judge.h"

namespace plumbline {
namespace {

double value_of(const AttentionKnowledge& known) {
  return known.classes.has(ResultClass::finite) ? known.exact : special_value(known.classes);
}

}  // namespace

AttentionOracle::AttentionOracle(const AttentionProblem& problem, const AttentionContract& contract,
                                 int sm)
    : case_(problem, contract, sm), elements_(std::make_unique<AttentionElements>(case_)) {}

AttentionOracle::~AttentionOracle() = default;

OutputVerdict AttentionOracle::judge(int output, const Tensor& got,
                                     const JudgeOptions& options) const {
  PLUMB_ASSERT(got.layout.format == case_.output_format(output).id);
  return AttentionJudge(case_, output, got, options).run();
}

ElementVerdict AttentionOracle::element(int output, std::int64_t index, std::uint64_t got) const {
  const std::scoped_lock lock(mutex_);
  return elements_->judge(output, index, got);
}

Explanation AttentionOracle::explain(int output, std::int64_t index, const Tensor& got) const {
  return explain_attention(case_, output, index, got);
}

// The contract's from the survey, mathematics from the definition over doubles. Of rows that NaN or
// Inf reach both are what the classes say.
std::vector<double> AttentionOracle::reference_values(int output, Reference reference,
                                                      int threads) const {
  const std::int64_t width = case_.width(output);
  std::vector<double> values(static_cast<std::size_t>(case_.rows() * width));
  for (std::size_t head = 0; head < case_.places.size(); ++head) {
    const HeadPlace& place = case_.places[head];
    if (place.queries == 0) continue;
    const auto held = case_.operands(head);
    const AttentionOperands& operands = *held;
    const bool finite = !operands.any_special_pair() && operands.special_values().empty();
    for_each_piece(place.queries, threads, [&](std::int64_t query) {
      double* row = values.data() + case_.row(place, query) * width;
      const DetailedRow surveyed = survey_row(operands, query);
      if (reference == Reference::mathematics && finite &&
          surveyed.row.kind == AttentionRowKind::regular) {
        const DefinedRow<double> real = defined_row<double>(operands.head(), query, nullptr);
        if (output == kAttentionLse) row[0] = real.lse;
        if (output == kAttentionO) std::copy(real.o.begin(), real.o.end(), row);
        return;
      }
      for (std::int64_t x = 0; x < width; ++x)
        row[x] = value_of(knowledge(output, operands, surveyed, x));
    });
  }
  return values;
}

}  // namespace plumbline
