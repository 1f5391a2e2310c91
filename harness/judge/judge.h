// SPDX-License-Identifier: MIT
// Step 8 of a run: from outputs, findings and the oracle to the verdict of one case. Silent;
// explain.h talks.
#pragma once

#include "fuzz/case/case.h"
#include "harness/launch/launch.h"
#include "oracles/reference/oracle.h"
#include "reports/record/record.h"

namespace plumbline {

// The record of one case: claims, verdict, and a one-line reason unless it passed. Values are only
// judged when the launch completed.
CaseRecord judge_case(const Case& test_case, const CaseTensors& tensors, const LaunchResult& launch,
                      const CaseOracle& oracle, const JudgeOptions& options);

// Of an output's elements that break a claim the one that the reason and the explanation speak of.
// There has to be one.
const ElementVerdict& most_telling(Claim claim, const OutputVerdict& verdict);

// "d[1,64,7]": an output element's name from its row-major index. A leading batch dimension of size
// 1 is left out.
std::string element_name(std::string_view tensor, const TensorLayout& layout, std::int64_t index);

}  // namespace plumbline
