// SPDX-License-Identifier: MIT
// GitHub workflow commands: lines that show failures beside the code of a change. A step shows ten
// and silently drops the rest, so there are at most nine, the worst first, and one that counts the
// others.
#pragma once

#include <string>
#include <vector>

#include "reports/record/record.h"

namespace plumbline {

std::vector<std::string> github_annotations(const RunRecord& record, const std::string& root);

}  // namespace plumbline
