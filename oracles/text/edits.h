// SPDX-License-Identifier: MIT
// The simple mistakes that a kernel of a text may make, as texts: each with one thing left out, or
// taken for another.
#pragma once

#include <string>
#include <vector>

#include "oracles/text/syntax.h"

namespace plumbline::text {

struct Edit {
  std::string name;  // "line 3: without the factor gamma[j]"
  OperationText text;
};

// At most `most` of them, those of the first steps first. Not all of them can be checked: an index
// may have lost what says how far it goes.
std::vector<Edit> single_edits(const OperationText& text, std::size_t most);

}  // namespace plumbline::text
