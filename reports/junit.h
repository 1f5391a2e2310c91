// SPDX-License-Identifier: MIT
// junit.xml in the Jenkins dialect: one test case per kernel x claim x value class, never per
// random case, so that names stay stable and files small. classname = kernel, name =
// "bound/cancelling".
#pragma once

#include <string>

#include "reports/record/record.h"

namespace plumbline {

// With `strict`, mistrusted is a failure; else it is skipped.
std::string junit_xml(const RunRecord& record, bool strict);

}  // namespace plumbline
