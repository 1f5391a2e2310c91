// SPDX-License-Identifier: MIT
// JoinedOracle: outputs that are made of GEMMs: the groups of a grouped GEMM (each some rows of one
// output), or the gradients of a linear layer (an output each). Every part is judged by a
// GemmOracle of its own; the verdicts are added up.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oracles/bounds/contract/contract.h"
#include "oracles/reference/gemm/gemm.h"
#include "oracles/reference/gemm/oracle.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

class JoinedOracle final : public CaseOracle {
 public:
  // Outputs in order; `parts` of an output cover its elements in order.
  explicit JoinedOracle(std::vector<std::string> outputs) : outputs_(std::move(outputs)) {}

  // A tensor that the parts refer to and that lives as long as the oracle.
  const Tensor* keep(Tensor tensor);

  // The next part of an output. `name` says which it is ("group 3"); empty when it is the whole
  // output.
  void add(int output, std::string name, const GemmProblem& problem, const Contract& contract,
           int sm);

  // The GEMM an element belongs to.
  const GemmProblem& problem_of(int output, std::int64_t index) const {
    return part_of(output, index).problem();
  }

  int outputs() const override { return static_cast<int>(outputs_.size()); }

  std::string output_name(int output) const override {
    return outputs_[static_cast<std::size_t>(output)];
  }

  OutputVerdict judge(int output, const Tensor& got, const JudgeOptions& options) const override;
  ElementVerdict element(int output, std::int64_t index, std::uint64_t got) const override;
  Explanation explain(int output, std::int64_t index, const Tensor& got) const override;
  std::vector<double> reference_values(int output, Reference reference, int threads) const override;

  std::vector<const PreparedGemm*> gemms(int output) const override;

 private:
  struct Part {
    int output;
    std::string name;
    std::int64_t first, elements;  // of the output, in logical order
    std::unique_ptr<GemmOracle> oracle;

    const GemmProblem& problem() const { return oracle->gemm().problem; }
  };

  const Part& part_of(int output, std::int64_t index) const;
  // The part's elements of an output tensor, as a GEMM's [batch, m, n].
  static Tensor slice(const Part& part, const Tensor& output);

  std::vector<std::string> outputs_;
  std::deque<Tensor> kept_;
  std::vector<Part> parts_;
};

// Rows [first, first + count) of a matrix [rows, columns], or all of it, with contiguous storage as
// [1, count, columns].
Tensor rows_of(const Tensor& matrix, std::int64_t first, std::int64_t count);

}  // namespace plumbline
