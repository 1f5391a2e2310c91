// SPDX-License-Identifier: MIT
#include "kernels/manifest/compiler_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

// What a flag may begin with: preprocessor, language, arithmetic, optimization and diagnostics.
constexpr std::array<std::string_view, 29> kAllowed = {"-I",
                                                       "-D",
                                                       "-U",
                                                       "-O",
                                                       "-std=",
                                                       "--std=",
                                                       "-include=",
                                                       "-isystem=",
                                                       "-fmad=",
                                                       "--fmad=",
                                                       "-ftz=",
                                                       "--ftz=",
                                                       "-prec-div=",
                                                       "--prec-div=",
                                                       "-prec-sqrt=",
                                                       "--prec-sqrt=",
                                                       "-use_fast_math",
                                                       "--use_fast_math",
                                                       "-maxrregcount=",
                                                       "--maxrregcount=",
                                                       "-lineinfo",
                                                       "--expt-relaxed-constexpr",
                                                       "-expt-relaxed-constexpr",
                                                       "--expt-extended-lambda",
                                                       "--extended-lambda",
                                                       "-extended-lambda",
                                                       "--diag-suppress=",
                                                       "-diag-suppress=",
                                                       "-w"};

}  // namespace

char special_to_shell(std::string_view text) {
  const std::size_t at = text.find_first_of("$`\"\\\n");
  return at == std::string_view::npos ? '\0' : text[at];
}

std::string flag_objection(std::string_view flag) {
  if (const char special = special_to_shell(flag))
    return fmt::format("the flag \"{}\" has a {:?}, which the compiler's shell would read", flag,
                       special);
  const bool known = std::ranges::any_of(
      kAllowed, [&](std::string_view start) { return flag.starts_with(start); });
  return known ? "" : fmt::format("the flag \"{}\" is not one that a manifest may set", flag);
}

}  // namespace plumbline
