// SPDX-License-Identifier: MIT
// Which of a kernel's code the cases of a plan executed, from what each part of it did.
#pragma once

#include <map>
#include <string>

#include "reports/record/record.h"

namespace plumbline {

// What the cases of either part of a run did.
CodeParts either(const CodeParts& a, const CodeParts& b);

// By device; what was reached before is in `to`.
void add_parts(const std::map<std::string, CodeParts>& more, std::map<std::string, CodeParts>& to);

// Of a whole plan; its holes are the source lines with most instructions that never ran.
CodeRecord code_of(const CodeParts& all);

}  // namespace plumbline
