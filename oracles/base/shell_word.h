// SPDX-License-Identifier: MIT
// Paths and case texts in lines that are there to be copied into a shell.
#pragma once

#include <string>

namespace plumbline {

// The text as one word of a POSIX shell: as it stands where nothing in it is special, else in
// quotes.
std::string shell_word(const std::string& text);

}  // namespace plumbline
