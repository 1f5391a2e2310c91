// SPDX-License-Identifier: MIT
// One attention backward case: its groups, and what is worked out once for a group's three outputs.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "oracles/reference/attention_backward/survey.h"

namespace plumbline {

// A group under judgement.
class GradientWork {
 public:
  GradientWork(const AttentionBackwardProblem& problem, const AttentionBackwardContract& contract,
               int sm, const std::vector<HeadPlace>& places)
      : operands_(problem, contract, sm, places), weights_(operands_) {}

  GradientWork(const GradientWork&) = delete;

  const GradientOperands& operands() const { return operands_; }

  const GradientWeights64& weights() const { return weights_; }

  // Made when first asked for, on so many threads.
  const GradientSurvey& survey(int threads) const;

 private:
  GradientOperands operands_;
  GradientWeights64 weights_;
  mutable std::once_flag surveyed_;
  mutable std::unique_ptr<const GradientSurvey> survey_;
};

struct PreparedAttentionBackward {
  AttentionBackwardProblem problem;
  AttentionBackwardContract contract;
  int sm = 0;
  std::vector<std::vector<HeadPlace>> groups;

  PreparedAttentionBackward(const AttentionBackwardProblem& gradient,
                            const AttentionBackwardContract& promised, int target)
      : problem(gradient), contract(promised), sm(target), groups(gradient_groups(gradient)) {}

  // Prepared when first asked for. All groups stay unless that takes too much memory; then only the
  // last one does. Any thread may ask.
  std::shared_ptr<const GradientWork> work(std::size_t group) const;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const GradientWork>> prepared_;  // by group
};

}  // namespace plumbline
