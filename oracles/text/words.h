// SPDX-License-Identifier: MIT
// The words of the language of operation texts: its keywords, functions and types.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumbline::text {

template <typename Words>
bool contains(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_word(std::string_view name);      // a keyword: "operation", "for", "and"
bool is_reducer(std::string_view name);   // "sum", "max", "min", "count"
bool is_function(std::string_view name);  // "exp", "bf16"
bool is_type(std::string_view name);      // "s32", "int", "e4m3"
bool is_integer_type(std::string_view name);

std::vector<std::string_view> function_words();
std::vector<std::string_view> type_words();

// The fewest and the most arguments of a function.
std::pair<int, int> arguments_of(std::string_view function);

// "a, b, c".
std::string list_of(const std::vector<std::string_view>& words);

}  // namespace plumbline::text
