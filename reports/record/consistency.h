// SPDX-License-Identifier: MIT
// What no list of fields says of a record that was read: names must refer to something, counts must
// fit, and what is said of a kernel must follow from its cases. A gate trusts the record of another
// machine no further than that.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace plumbline {

// The first thing in a record that does not fit, in words; empty where all does. It holds for every
// record, also of the lines of a run that did not end.
std::string inconsistency(const RunRecord& record);

// The same for a whole record: every planned case is there, and each kernel's counts and verdict
// are those of its cases.
std::string contradiction(const RunRecord& record);

}  // namespace plumbline
