// SPDX-License-Identifier: MIT
// junit.xml in the Jenkins dialect: one test case per kernel x claim x value class, never per
// random case, so that names stay stable and files small. classname = kernel, name =
// "bound/cancelling". A kernel has at most about 100 KB of it; what is cut, the file says.
#pragma once

#include <string>
#include <vector>

#include "reports/change.h"
#include "reports/record/record.h"

namespace plumbline {

// What is mistrusted is a failure, or skipped where that is allowed. What a kernel is since a
// baseline is its test case "baseline".
std::string junit_xml(const RunRecord& record, bool allow_mistrusted,
                      const std::vector<KernelChange>& since = {}, bool strict_baseline = false);

}  // namespace plumbline
