// SPDX-License-Identifier: MIT
// Text on its way to a terminal or a log. Kernel names, assertions, file names and records are
// untrusted: control sequences in them are escaped.
#pragma once

#include <string>
#include <string_view>

namespace plumbline {

// readable() text, in which the colors that Terminal paints are the only escape sequences. Where
// GitHub Actions or Azure Pipelines read the log (GITHUB_ACTIONS is true, TF_BUILD is True), no
// line is a command to them: "::error::x" becomes ": :error::x" at the start of a line, and "##["
// and "##vso[" become "## [" and "## vso[" anywhere.
std::string console_text(std::string_view text);

// The text on one line: a tab or the end of a line becomes a space.
std::string one_line(std::string_view text);

// console_text() of one_line().
std::string console_line(std::string_view text);

}  // namespace plumbline
