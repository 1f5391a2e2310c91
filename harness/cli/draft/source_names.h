// SPDX-License-Identifier: MIT
// What a CUDA source calls the parameters of a kernel: the PTX has numbers for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Of the function of that name which is followed by a list of parameters, the first one behind
// `__global__`. Empty where there is none, or where a parameter has no name.
std::vector<std::string> parameter_names(std::string_view source, std::string_view function);

}  // namespace plumbline
