// SPDX-License-Identifier: MIT
// Scripts by which shells complete verbs, flags, values of flags, and kernels.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/text/verb_help.h"

namespace plumbline {

inline constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

// For one of kShells.
std::string completion_script(std::string_view shell, const std::vector<VerbHelp>& verbs);

}  // namespace plumbline
