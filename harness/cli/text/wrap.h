// SPDX-License-Identifier: MIT
// Lines that fit a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plumbline {

// Breaks a line at spaces; continuation lines start at `column`, or, where there is none or it is
// beyond half of the width, with the first line's indent (plus two).
std::string wrap(std::string_view line, int width, std::size_t column = 0);

// As many words of a line as fit.
std::string shortened(std::string_view line, int width);

}  // namespace plumbline
