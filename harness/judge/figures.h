// SPDX-License-Identifier: MIT
// Small figures of a case that reports draw and no verdict needs: over how many terms its sums run,
// and where in a tile and at which magnitudes its errors are. Their size is bounded for every case,
// and they are the same for equal inputs.
#pragma once

#include <optional>
#include <vector>

#include "harness/judge/case_runner.h"
#include "reports/record/record.h"

namespace plumbline {

// The record of a case before it ran: its text, its classes, and over how many terms its sums run
// (k of a GEMM, the keys of attention, the columns of a norm).
CaseRecord describe_case(const Case& test_case);

// The same of one output, where its sums run over another size: dw of a linear layer over the rows.
void describe_length(const Case& test_case, OutputRecord& output);

// The errors of a case's output tensor with the worst verdict, element by element, from its exact
// values. nullopt where there is no completed output to look at, or the case is too large to look
// at every element again.
std::optional<ErrorMap> error_map_of_case(const Case& test_case, const Examined& examined,
                                          int threads);

}  // namespace plumbline
