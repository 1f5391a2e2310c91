// SPDX-License-Identifier: MIT
// The flags that a manifest may hand to the compiler. nvcc has some that run programs (-ccbin) and
// passes the text of others to a shell; a manifest from elsewhere must not do either.
#pragma once

#include <string>
#include <string_view>

namespace plumbline {

// Why a flag of a manifest is refused; empty where it is not.
std::string flag_objection(std::string_view flag);

// The first character of a path or flag that the shell which nvcc calls would not take as it is
// written; 0 where there is none.
char special_to_shell(std::string_view text);

}  // namespace plumbline
