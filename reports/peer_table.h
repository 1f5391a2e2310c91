// SPDX-License-Identifier: MIT
// The rules of other projects beside each other, one line each, in Markdown: what summary.md of a
// `mutants --peers` run has, and docs/measurements.md repeats.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace plumbline {

// Two columns for each kernel; empty where no rule was asked.
std::string peer_table(const RunRecord& record);

}  // namespace plumbline
