// SPDX-License-Identifier: MIT
// GemmOracle: the verdict on a GEMM's output. Exact sums come from gemm_sums(), the admissible
// error from the running bound of the contract on the target, and the decision from the interval
// rule; gemm/judge.h is the pass over a tensor.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "oracles/exact/gemm_sums.h"
#include "oracles/reference/gemm/prepared.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

class GemmOracle final : public CaseOracle {
 public:
  // The problem's tensors must outlive the oracle, and Contract::check() must pass for the target.
  GemmOracle(const GemmProblem& problem, const Contract& contract, int sm, int threads = 1);

  int outputs() const override { return 1; }

  std::string output_name(int) const override { return "d"; }

  OutputVerdict judge(int output, const Tensor& got, const JudgeOptions& options) const override;
  ElementVerdict element(int output, std::int64_t index, std::uint64_t got) const override;
  Explanation explain(int output, std::int64_t index, const Tensor& got) const override;
  std::vector<double> reference_values(int output, Reference reference, int threads) const override;

  std::vector<const PreparedGemm*> gemms(int /*output*/) const override { return {&case_}; }

  // Judges against these sums instead of computing them. A test gives wrong ones to see the referee
  // notice.
  void use_sums(SumEnclosures sums);

  const PreparedGemm& gemm() const { return case_; }

 private:
  const SumEnclosures& sums(int threads) const;

  PreparedGemm case_;
  mutable std::once_flag sums_once_;
  mutable SumEnclosures sums_;
};

}  // namespace plumbline
