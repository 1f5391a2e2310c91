// SPDX-License-Identifier: MIT
// The words that lines of a case file begin with. Those that record a result are kept as text and
// never judged: what is right is computed anew at every replay.
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

// Such a line's word; a tensor with such a name has "tensor" before it.
inline bool is_case_word(std::string_view word) {
  return word == "case" || word == "value" || word == "tensor" || word == "end" ||
         is_case_note(word);
}

}  // namespace plumbline
