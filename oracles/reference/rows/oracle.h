// SPDX-License-Identifier: MIT
// RowOracle: the verdict on softmax, RMSNorm, LayerNorm and their gradients. An output is
// admissible when it is the rounding of a value in the range that the contract's steps give
// (rows/ranges.h). The exact value, beside it in every report, comes from the definition in double
// with its error (rows/definition.h); the referee recomputes it with MPFR.
#pragma once

#include <string>
#include <vector>

#include "oracles/reference/oracle.h"
#include "oracles/reference/range_verdict.h"
#include "oracles/reference/rows/row.h"

namespace plumbline {

class RowOracle final : public CaseOracle {
 public:
  // The problem's tensors must outlive the oracle.
  explicit RowOracle(RowProblem problem) : problem_(std::move(problem)) {}

  int outputs() const override { return static_cast<int>(problem_.output_names.size()); }

  std::string output_name(int output) const override {
    return std::string(problem_.output_names[static_cast<std::size_t>(output)]);
  }

  OutputVerdict judge(int output, const Tensor& got, const JudgeOptions& options) const override;
  ElementVerdict element(int output, std::int64_t index, std::uint64_t got) const override;
  Explanation explain(int output, std::int64_t index, const Tensor& got) const override;
  std::vector<double> reference_values(int output, Reference reference, int threads) const override;

  const RowProblem& problem() const { return problem_; }

 private:
  enum class Part : std::uint8_t { elements, mean, rstd, gamma, beta };

  Part part(int output) const;
  const Format& output_format(int output) const;

  // The outputs that come from one row, or all sums over rows.
  std::vector<RangedElement> of_row(Part part, std::int64_t i,
                                    Reference reference = Reference::contract) const;
  std::vector<RangedElement> of_columns(Part part) const;
  RangedElement at(int output, std::int64_t index) const;

  // The same by the definition over MPFR numbers.
  std::vector<double> refereed_row(Part part, std::int64_t i, int bits) const;
  double refereed_column(Part part, std::int64_t j, int bits) const;

  RowProblem problem_;
};

}  // namespace plumbline
