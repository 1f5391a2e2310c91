// SPDX-License-Identifier: MIT
// The lines of a case file that record a result. They are kept as text and never judged: what is
// right is computed anew at every replay.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace plumbline {

inline constexpr std::array<std::string_view, 4> kCaseNoteWords = {"expect", "got", "bound",
                                                                   "note"};

inline std::span<const std::string_view> case_note_words() { return kCaseNoteWords; }

inline bool is_case_note(std::string_view word) {
  return std::find(kCaseNoteWords.begin(), kCaseNoteWords.end(), word) != kCaseNoteWords.end();
}

}  // namespace plumbline
