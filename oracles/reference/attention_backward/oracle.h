// SPDX-License-Identifier: MIT
// AttentionBackwardOracle: the verdict on dQ, dK and dV of an attention backward case, group by
// group.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "oracles/bounds/contract/attention_backward.h"
#include "oracles/reference/attention_backward/prepared.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

class AttentionBackwardOracle final : public CaseOracle {
 public:
  // The problem's tensors must outlive the oracle. `sm` picks the model of the unit.
  AttentionBackwardOracle(const AttentionBackwardProblem& problem,
                          const AttentionBackwardContract& contract, int sm);
  ~AttentionBackwardOracle() override;

  int outputs() const override { return 3; }

  std::string output_name(int output) const override;  // dq, dk, dv

  OutputVerdict judge(int output, const Tensor& got, const JudgeOptions& options) const override;
  ElementVerdict element(int output, std::int64_t index, std::uint64_t got) const override;
  Explanation explain(int output, std::int64_t index, const Tensor& got) const override;
  std::vector<double> reference_values(int output, Reference reference, int threads) const override;

 private:
  struct Look;

  std::size_t group_of(int output, std::int64_t index) const;
  Tensor empty_output(int output) const;

  PreparedAttentionBackward case_;
  // What element() looked at last: the elements beside it cost little then. Any thread may ask.
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Look> last_;
};

}  // namespace plumbline
