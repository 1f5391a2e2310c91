// SPDX-License-Identifier: MIT
// "did you mean" for names of PTX files, where candidates are many and names can be kilobytes of
// mangling: the comparison is kept to what a person could have mistyped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumbline::emulator {

// A hint, or empty.
std::string similar_name(std::string_view word, std::vector<std::string_view> candidates);

}  // namespace plumbline::emulator
