// SPDX-License-Identifier: MIT
#include "oracles/stages/staged_join.h"

#include <algorithm>

#include "oracles/base/assert.h"

namespace plumbline {
namespace {

void append(const std::vector<double>& more, std::vector<double>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

const Tensor* StagedJoin::keep(Tensor tensor) {
  kept_.push_back(std::move(tensor));
  return &kept_.back();
}

void StagedJoin::add(const std::string& output, std::unique_ptr<StagedComputation> part) {
  PLUMB_ASSERT(part->outputs().size() == 1);
  if (outputs_.empty() || outputs_.back() != output) outputs_.push_back(output);
  output_of_.push_back(outputs_.size() - 1);
  // A stage that is new comes before the last one, which all of them share.
  for (const Stage& stage : part->stages()) {
    const auto known = std::find_if(stages_.begin(), stages_.end(),
                                    [&](const Stage& s) { return s.name == stage.name; });
    if (known != stages_.end()) continue;
    stages_.insert(parts_.empty() ? stages_.end() : stages_.end() - 1, stage);
  }
  parts_.push_back(std::move(part));

  faults_.clear();
  fault_of_.clear();
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const std::vector<StageFault>& own = parts_[p]->faults();
    for (std::size_t f = 0; f < own.size(); ++f) {
      const std::string& name = parts_[p]->stages()[static_cast<std::size_t>(own[f].stage)].name;
      const auto stage =
          static_cast<int>(std::find_if(stages_.begin(), stages_.end(),
                                        [&](const Stage& s) { return s.name == name; }) -
                           stages_.begin());
      auto known = std::find_if(faults_.begin(), faults_.end(), [&](const StageFault& other) {
        return other.stage == stage && other.words == own[f].words;
      });
      if (known == faults_.end()) {
        faults_.push_back({stage, own[f].words});
        fault_of_.emplace_back(parts_.size(), -1);
        known = faults_.end() - 1;
      }
      fault_of_[static_cast<std::size_t>(known - faults_.begin())][p] = static_cast<int>(f);
    }
  }
}

StageSet StagedJoin::own_stages(std::size_t part, StageSet low) const {
  StageSet own = 0;
  const std::vector<Stage>& stages = parts_[part]->stages();
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (stages_[i].name == stages[s].name && (low >> i & 1) != 0) own |= StageSet{1} << s;
    }
  }
  return own;
}

StagedValues StagedJoin::evaluate(StageSet low, int fault) const {
  StagedValues values(outputs_.size());
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const int own = fault < 0 ? -1 : fault_of_[static_cast<std::size_t>(fault)][p];
    append(parts_[p]->evaluate(own_stages(p, low), own)[0], values[output_of_[p]]);
  }
  return values;
}

std::vector<double> StagedJoin::condition(int output) const {
  std::vector<double> condition;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (output_of_[p] == static_cast<std::size_t>(output))
      append(parts_[p]->condition(0), condition);
  }
  return condition;
}

}  // namespace plumbline
