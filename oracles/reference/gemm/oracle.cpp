// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/oracle.h"

#include <utility>

#include "oracles/base/assert.h"
#include "oracles/exact/freivalds.h"
#include "oracles/exact/gemm_block_sums.h"
#include "oracles/exact/parallel.h"
#include "oracles/reference/gemm/element.h"
#include "oracles/reference/gemm/explain.h"
#include "oracles/reference/gemm/judge.h"
#include "oracles/reference/gemm/referee.h"

namespace plumbline {

GemmOracle::GemmOracle(const GemmProblem& problem, const Contract& contract, int sm, int threads)
    : case_(problem, contract, sm, threads) {}

const SumEnclosures& GemmOracle::sums(int threads) const {
  std::call_once(sums_once_, [&] {
    sums_ = case_.scales ? gemm_block_sums(case_.operands, *case_.scales, threads)
                         : gemm_sums(case_.operands, threads);
  });
  return sums_;
}

void GemmOracle::use_sums(SumEnclosures sums) {
  std::call_once(sums_once_, [] {});
  sums_ = std::move(sums);
}

OutputVerdict GemmOracle::judge(int output, const Tensor& got, const JudgeOptions& options) const {
  PLUMB_ASSERT(output == 0 && got.layout.format == case_.problem.output);
  if (options.mpfr_bits > 0) {
    const SumEnclosures defined = sums_by_definition(case_, options.mpfr_bits, options.threads);
    return GemmJudge(case_, defined, got, options).run();
  }
  const SumEnclosures& exact = sums(options.threads);
  OutputVerdict verdict = GemmJudge(case_, exact, got, options).run();
  if (!case_.scales) {
    const FreivaldsCheck check =
        freivalds_check(case_.operands, exact, options.seed, options.threads);
    verdict.confirmed = check.sums;
    if (check.wrong_row) ++verdict.disagreements;
  }
  return verdict;
}

ElementVerdict GemmOracle::element(int output, std::int64_t index, std::uint64_t got) const {
  PLUMB_ASSERT(output == 0 && index >= 0 && index < case_.problem.outputs());
  return judge_element(case_, case_.place(index), got);
}

Explanation GemmOracle::explain(int output, std::int64_t index, const Tensor& got) const {
  PLUMB_ASSERT(output == 0 && index >= 0 && index < case_.problem.outputs());
  return explain_gemm(case_, case_.place(index), got);
}

// Nothing in the middle of a GEMM is rounded by contract: both references are one.
std::vector<double> GemmOracle::reference_values(int output, Reference, int threads) const {
  PLUMB_ASSERT(output == 0);
  const SumEnclosures& exact = sums(threads);
  std::vector<double> values(static_cast<std::size_t>(case_.problem.outputs()));
  for_each_piece(case_.problem.batch * case_.problem.m, threads, [&](std::int64_t row) {
    for (std::int64_t j = 0; j < case_.problem.n; ++j) {
      const std::int64_t index = row * case_.problem.n + j;
      const auto i = static_cast<std::size_t>(index);
      const GemmPlace at = case_.place(index);
      SumEnclosure sum{exact.hi[i], exact.lo[i], exact.bound[i]};
      ClassSet classes = ResultClass::finite;
      if (case_.special(at)) {
        sum = {};
        classes = case_.special_classes(at);
      }
      const TwoDoubles real = real_result(case_, at, sum, classes).value;
      values[i] = real.hi + real.lo;
    }
  });
  return values;
}

}  // namespace plumbline
