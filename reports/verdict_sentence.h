// SPDX-License-Identifier: MIT
// A run in one sentence: how many kernels broke what they promise and which, or how much was
// compared. It heads report.html and summary.md.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace plumbline {

std::string verdict_sentence(const RunRecord& record);

}  // namespace plumbline
