// SPDX-License-Identifier: MIT
// Whether a case fits into the memory that is free.
#pragma once

#include "fuzz/case/case.h"
#include "oracles/base/result.h"

namespace plumbline {

// An Error when host and device copies of the case would not fit into the memory that is free now,
// so many times (explain keeps one examined case while it tries the next).
Status check_memory(const Case& test_case, int copies = 1);

}  // namespace plumbline
