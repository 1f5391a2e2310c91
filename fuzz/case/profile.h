// SPDX-License-Identifier: MIT
// How many and how large the cases of a plan are, and the named classes that it crosses.
#pragma once

#include <cstdint>
#include <string_view>

namespace plumbline {

enum class Profile : std::uint8_t { quick, standard, deep };  // --profile quick|default|deep

struct ClassInfo {
  std::string_view name;
  std::string_view purpose;
};

}  // namespace plumbline
