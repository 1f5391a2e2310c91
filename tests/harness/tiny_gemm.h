// SPDX-License-Identifier: MIT
// Manifests of kernels small enough to know the answer: a GEMM with f32 outputs, one thread for
// each element.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace plumbline {

inline constexpr std::string_view kTinyEntry = R"(entry = "tiny"
parameters = ["ptr a", "ptr b", "ptr d", "s32 m", "s32 n", "s32 k"])";

// `top`: lines that name the entry and its parameters; `problem`: more lines of [problem].
inline std::string tiny_gemm_manifest(std::string_view top,
                                      std::string_view schedule = "sequential",
                                      std::string_view problem = "") {
  return fmt::format(R"(
computes = "gemm"
summary = "one thread for each element"
ptx = "tiny.ptx"
targets = [80]
{}
[problem]
out = ["f32"]
{}
[launch]
grid = ['ceil_div(m * n, 32)']
block = [32]
[formats]
a = "bf16"
b = "bf16"
c = "{{out}}"
d = "{{out}}"
[contract]
unit = "fma.f32"
schedule = "{}"
epilogue = []
)",
                     top, problem, schedule);
}

}  // namespace plumbline
