// SPDX-License-Identifier: MIT
// AttentionOracle: the verdict on O and, where it is an output, LSE of an attention case, head by
// head.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "oracles/reference/attention/prepared.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

class AttentionElements;

class AttentionOracle final : public CaseOracle {
 public:
  // The problem's tensors must outlive the oracle. `sm` picks the model of the unit.
  AttentionOracle(const AttentionProblem& problem, const AttentionContract& contract, int sm);
  ~AttentionOracle() override;

  int outputs() const override { return case_.problem.lse == LseKind::none ? 1 : 2; }

  std::string output_name(int output) const override { return output == 0 ? "o" : "lse"; }

  OutputVerdict judge(int output, const Tensor& got, const JudgeOptions& options) const override;
  ElementVerdict element(int output, std::int64_t index, std::uint64_t got) const override;
  Explanation explain(int output, std::int64_t index, const Tensor& got) const override;
  std::vector<double> reference_values(int output, Reference reference, int threads) const override;

 private:
  PreparedAttention case_;
  // What element() looked at last. Any thread may ask.
  mutable std::mutex mutex_;
  std::unique_ptr<AttentionElements> elements_;
};

}  // namespace plumbline
