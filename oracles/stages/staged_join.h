// SPDX-License-Identifier: MIT
// Several computations side by side as one: the gradients of a linear layer, an output each, or the
// groups of a grouped GEMM, which follow one another in the same output. Stages of the same name
// are one stage, low in all of them or in none.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "oracles/formats/tensor.h"
#include "oracles/stages/staged.h"

namespace plumbline {

class StagedJoin final : public StagedComputation {
 public:
  // A tensor that the parts refer to and that lives as long as they do.
  const Tensor* keep(Tensor tensor);

  // `part` has one output: the next one of this, or more rows of the last one where that has the
  // same name.
  void add(const std::string& output, std::unique_ptr<StagedComputation> part);

  const std::vector<Stage>& stages() const override { return stages_; }

  std::vector<std::string> outputs() const override { return outputs_; }

  const std::vector<StageFault>& faults() const override { return faults_; }

  StagedValues evaluate(StageSet low, int fault) const override;
  std::vector<double> condition(int output) const override;

 private:
  StageSet own_stages(std::size_t part, StageSet low) const;

  std::deque<Tensor> kept_;
  std::vector<std::string> outputs_;
  std::vector<std::unique_ptr<StagedComputation>> parts_;
  std::vector<std::size_t> output_of_;  // of each part
  std::vector<Stage> stages_;
  std::vector<StageFault> faults_;
  std::vector<std::vector<int>> fault_of_;  // of a fault, by part: the part's own number for it
};

}  // namespace plumbline
