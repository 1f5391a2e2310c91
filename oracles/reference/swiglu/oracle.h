// SPDX-License-Identifier: MIT
// SwigluOracle: the verdicts on both outputs of a SwiGLU MLP. h is judged by itself: from the
// bounds of its two sums through the contract's steps (swiglu/hidden.h). y is an exact GEMM of the
// h that the kernel stored, so that an h that is admissible but not the nearest is no error of y.
#pragma once

#include <string>
#include <vector>

#include "oracles/reference/gemm/joined_oracle.h"
#include "oracles/reference/oracle.h"
#include "oracles/reference/swiglu/hidden.h"

namespace plumbline {

class SwigluOracle final : public CaseOracle {
 public:
  // The problem's tensors, h among them, must outlive the oracle.
  SwigluOracle(const SwigluProblem& mlp, const SwigluContract& contract, int sm);

  int outputs() const override { return 2; }

  std::string output_name(int output) const override { return output == kHidden ? "h" : "y"; }

  OutputVerdict judge(int output, const Tensor& got, const JudgeOptions& options) const override;
  ElementVerdict element(int output, std::int64_t index, std::uint64_t got) const override;
  Explanation explain(int output, std::int64_t index, const Tensor& got) const override;
  // Of y under the contract: that of the stored h; in mathematics: that of the exact h.
  std::vector<double> reference_values(int output, Reference reference, int threads) const override;

 private:
  enum Output { kHidden, kOutput };

  std::vector<double> hidden_values(int threads) const;

  SwigluProblem mlp_;
  SwigluHidden hidden_;
  JoinedOracle output_{{"y"}};
};

}  // namespace plumbline
