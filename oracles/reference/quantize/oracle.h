// SPDX-License-Identifier: MIT
// QuantizeOracle: the verdict on codes, scales and maxima. The contract fixes every bit, so nothing
// is bounded: an output is right or it is wrong (zeros are equal for either sign, NaN codes for
// every payload).
#pragma once

#include <string>
#include <vector>

#include "oracles/reference/oracle.h"
#include "oracles/reference/quantize/quantize.h"

namespace plumbline {

class QuantizeOracle final : public CaseOracle {
 public:
  // The problem's tensor must outlive the oracle.
  explicit QuantizeOracle(const QuantizeProblem& problem);

  int outputs() const override { return 3; }

  std::string output_name(int output) const override;  // q, scale, amax

  OutputVerdict judge(int output, const Tensor& got, const JudgeOptions& options) const override;
  ElementVerdict element(int output, std::int64_t index, std::uint64_t got) const override;
  Explanation explain(int output, std::int64_t index, const Tensor& got) const override;
  std::vector<double> reference_values(int output, Reference reference, int threads) const override;

 private:
  struct Place {
    std::int64_t i, j;
    std::size_t group;
  };

  Place place(std::int64_t index) const;

  const Format& output_format(int output) const;
  std::uint64_t due(int output, std::int64_t index) const;
  std::uint64_t defined(int output, std::int64_t index) const;  // by MPFR
  double exact(int output, std::int64_t index) const;           // before the last rounding
  ElementVerdict verdict(int output, std::int64_t index, std::uint64_t got,
                         std::uint64_t right) const;

  QuantizeProblem problem_;
  float limit_;
  std::vector<float> maxima_, scales_;
};

}  // namespace plumbline
