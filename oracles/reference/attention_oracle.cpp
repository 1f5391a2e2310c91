// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_oracle.h"

#include "oracles/base/assert.h"
#include "oracles/reference/attention_explain.h"
#include "oracles/reference/attention_judge.h"

namespace plumbline {

AttentionOracle::AttentionOracle(const AttentionProblem& problem, const AttentionContract& contract,
                                 int sm)
    : case_(problem, contract, sm) {}

OutputVerdict AttentionOracle::judge(int output, const Tensor& got,
                                     const JudgeOptions& options) const {
  PLUMB_ASSERT(got.layout.format == case_.output_format(output).id);
  return AttentionJudge(case_, output, got, options).run();
}

ElementVerdict AttentionOracle::element(int output, std::int64_t index, std::uint64_t got) const {
  return judge_attention_element(case_, output, index, got);
}

Explanation AttentionOracle::explain(int output, std::int64_t index, const Tensor& got) const {
  return explain_attention(case_, output, index, got);
}

}  // namespace plumbline
