// SPDX-License-Identifier: MIT
// A survey of the elements around a failure: which fail and which pass, and what the failing ones
// have in common. Small outputs are looked at whole, large ones along the element's row and column,
// around it and at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracles/reference/gemm/prepared.h"

namespace plumbline {

struct SurveyedElement {
  GemmPlace at;
  std::uint64_t got;
};

struct GemmSurvey {
  std::vector<SurveyedElement> failing, passing;  // at most 32 of each, for fault kinds
  std::string where;                              // "12 of 64 elements fail: rows 0 to 3, column 7"
};

GemmSurvey survey_gemm(const PreparedGemm& gemm, const GemmPlace& around, const Tensor& got);

}  // namespace plumbline
