// SPDX-License-Identifier: MIT
// summary.md for a CI step summary: the table of kernels, up to five counterexample cards, at most
// 64 KB.
#pragma once

#include <optional>
#include <string>

#include "reports/baseline.h"
#include "reports/record/record.h"

namespace plumbline {

// With a baseline also what changed since, but for what is the same.
std::string summary_markdown(const RunRecord& record,
                             const std::optional<Baseline>& baseline = std::nullopt);

}  // namespace plumbline
