// SPDX-License-Identifier: MIT
// Counts as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumbline {

// "1,234,567".
std::string count_text(std::int64_t count);
// "1 case", "12 cases".
std::string counted(std::int64_t count, std::string_view noun);

// "0.5", "1.2e+03", "∞"; "–" for NaN.
std::string ulp_number(double ulp);

}  // namespace plumbline
