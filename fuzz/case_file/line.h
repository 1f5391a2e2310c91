// SPDX-License-Identifier: MIT
// The parts that case lines and case files share.
#pragma once

#include <cstdint>
#include <string_view>

#include "fuzz/case/case.h"
#include "kernels/registry.h"
#include "oracles/base/result.h"

namespace plumbline {

// Between the words of a line; a line of a file may end in "\r".
inline constexpr std::string_view kSpaces = " \t\r\n";

// "gemm_bf16 m=65 n=8 k=33". Errors name the kernel, field or value that is wrong; `where` is the
// line's position.
Result<Case> parse_kernel_and_problem(std::string_view line, const Registry& registry,
                                      std::string_view where);

// "0x2a" or "42".
Result<std::uint64_t> parse_seed(std::string_view text, std::string_view where);

// Whether the operation has a value class of that name.
Status check_value_class(const Operation& operation, std::string_view name, std::string_view where);

}  // namespace plumbline
