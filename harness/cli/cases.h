// SPDX-License-Identifier: MIT
// The cases a person names: files, folders of files, and case texts.
#pragma once

#include <string>
#include <vector>

#include "fuzz/case_file/corpus.h"

namespace plumbline {

// A name that exists on disk is a case file or a folder of them; anything with a space is a case
// text.
Result<std::vector<CaseFile>> named_cases(const std::vector<std::string>& names,
                                          const Registry& registry);

}  // namespace plumbline
