// SPDX-License-Identifier: MIT
// Step 9: what failed, in words, with the numbers that prove it.
#pragma once

#include <string>
#include <vector>

#include "harness/case_runner.h"
#include "reports/record.h"

namespace plumbline {

// A counterexample's card from a failed case that was examined. Fills headline, elements,
// explanation and findings; where it came from is the caller's to add.
Counterexample explain_failure(const Case& test_case, const Examined& examined);

}  // namespace plumbline
