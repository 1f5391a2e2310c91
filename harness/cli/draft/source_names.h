// SPDX-License-Identifier: MIT
// What a CUDA source or a mangled name says of the parameters of a kernel: the PTX has numbers for
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Of the function of that name which is followed by a list of parameters, the first one behind
// `__global__`: "const float* x". Empty where there is none.
std::vector<std::string> parameter_declarations(std::string_view source, std::string_view function);

// Empty where one has no name.
std::vector<std::string> parameter_names(const std::vector<std::string>& declarations);

// The declarations, without names, in a demangled name: "k(float const*, int)".
std::vector<std::string> parameter_types(std::string_view signature);

// The format of what a declaration points to, by the names that CUDA, CUTLASS and PyTorch have for
// it: "e4m3" of "const __nv_fp8_e4m3* a". Empty where it does not tell.
std::string format_of_type(std::string_view declaration);

}  // namespace plumbline
