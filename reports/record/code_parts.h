// SPDX-License-Identifier: MIT
// Which of a kernel's code the cases of a plan executed, from what each of its shards did.
#pragma once

#include "reports/record/record.h"

namespace plumbline {

// What the cases of either shard did.
CodeParts either(const CodeParts& a, const CodeParts& b);

// Of a whole plan; its holes are the source lines with most instructions that never ran.
CodeRecord code_of(const CodeParts& all);

}  // namespace plumbline
