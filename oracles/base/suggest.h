// SPDX-License-Identifier: MIT
// "Did you mean ...": the candidate closest in edit distance, when one is close enough.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plumbline {

std::optional<std::string> suggestion(std::string_view word,
                                      std::span<const std::string_view> candidates);

// `did you mean "verify"?`, or empty.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace plumbline
