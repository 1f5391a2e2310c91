// SPDX-License-Identifier: MIT
// The steps of an epilogue as rows of a table: the words for each, and what it multiplies by, adds
// and applies. All that an epilogue does with a step follows from its row.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "oracles/bounds/contract/contract.h"

namespace plumbline {

enum class StepFactor : std::uint8_t { none, scale_a, scale_b, scale_ab, alpha, scale_d };
enum class StepAddend : std::uint8_t { none, beta_c, bias, zero_d };

struct EpilogueStepRow {
  EpilogueStep step;
  std::string_view word;      // in a manifest
  std::string_view sentence;  // in the description of a contract
  StepFactor factor = StepFactor::none;
  StepAddend addend = StepAddend::none;
  // The addition is an fma: with the factor; without one of beta and C; of a bias with the factor
  // of the step before.
  bool fused = false;
  Activation function = Activation::none;
};

// In the order of EpilogueStep.
extern const std::array<EpilogueStepRow, 21> kEpilogueSteps;

inline const EpilogueStepRow& row_of(EpilogueStep step) {
  return kEpilogueSteps[static_cast<std::size_t>(step)];
}

}  // namespace plumbline
