// SPDX-License-Identifier: MIT
// A pass needs evidence. These rules turn a kernel whose cases all passed into "mistrusted" when
// passing proved too little.
#pragma once

#include "reports/record/record.h"

namespace plumbline {

// Why the passes of a kernel prove too little; empty when they prove enough. The rules and their
// thresholds are in docs/bounds/checks.md, "Evidence".
std::vector<std::string> reasons_to_mistrust(const KernelRecord& kernel, const RunRecord& record);

// Makes kernels that passed, and whose cases all ran, mistrusted where these rules or the probes of
// their arithmetic say so.
void weigh_evidence(RunRecord& record);

// Makes kernels that passed mistrusted where a part of their plan did not run: nothing broke in
// what did, and the rest is no evidence. A kernel whose cases all ran keeps its verdict. Those
// whose cases are mistrusted get the reason.
void weigh_incomplete(RunRecord& record);

}  // namespace plumbline
