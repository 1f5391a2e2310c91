// SPDX-License-Identifier: MIT
// summary.md for a CI step summary: the table of kernels, up to five counterexample cards, at most
// 64 KB.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace plumbline {

std::string summary_markdown(const RunRecord& record);

}  // namespace plumbline
