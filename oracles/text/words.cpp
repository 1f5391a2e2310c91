// SPDX-License-Identifier: MIT
#include "oracles/text/words.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plumbline::text {
namespace {

constexpr std::array<std::string_view, 8> kWords = {"operation", "for", "if",  "in",
                                                    "and",       "or",  "not", "inout"};
constexpr std::array<std::string_view, 5> kReducers = {"sum", "max", "min", "count", "top"};

struct Function {
  std::string_view name;
  int least, most;
};

constexpr Function kFunctions[] = {
    {"exp", 1, 1},    {"exp2", 1, 1},  {"log", 1, 1},       {"log2", 1, 1},  {"sqrt", 1, 1},
    {"rsqrt", 1, 1},  {"tanh", 1, 1},  {"erf", 1, 1},       {"sin", 1, 1},   {"cos", 1, 1},
    {"abs", 1, 1},    {"sign", 1, 1},  {"floor", 1, 1},     {"round", 1, 1}, {"sigmoid", 1, 1},
    {"silu", 1, 1},   {"gelu", 1, 1},  {"gelu_tanh", 1, 1}, {"max", 2, 16},  {"min", 2, 16},
    {"clamp", 3, 3},  {"where", 3, 3}, {"largest", 1, 1},   {"bf16", 1, 1},  {"f16", 1, 1},
    {"f32", 1, 1},    {"e4m3", 1, 1},  {"e5m2", 1, 1},      {"e2m1", 1, 1},  {"s8", 1, 1},
    {"detach", 1, 1}, {"logb", 1, 1}};

constexpr std::array<std::string_view, 5> kIntegers = {"int", "s8", "u8", "s32", "s64"};
constexpr std::array<std::string_view, 7> kReals = {"bf16", "f16",  "f32",  "e4m3",
                                                    "e5m2", "e2m1", "ue8m0"};

const Function* find_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &Function::name);
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace

bool is_word(std::string_view name) { return contains(kWords, name); }

bool is_reducer(std::string_view name) { return contains(kReducers, name); }

bool is_function(std::string_view name) { return find_function(name) != nullptr; }

bool is_integer_type(std::string_view name) { return contains(kIntegers, name); }

bool is_type(std::string_view name) { return is_integer_type(name) || contains(kReals, name); }

std::vector<std::string_view> function_words() {
  std::vector<std::string_view> names;
  for (const Function& one : kFunctions) names.push_back(one.name);
  return names;
}

std::vector<std::string_view> type_words() {
  std::vector<std::string_view> names;
  names.insert(names.end(), kIntegers.begin(), kIntegers.end());
  names.insert(names.end(), kReals.begin(), kReals.end());
  return names;
}

std::pair<int, int> arguments_of(std::string_view function) {
  const Function* found = find_function(function);
  return found ? std::pair{found->least, found->most} : std::pair{0, 0};
}

std::string list_of(const std::vector<std::string_view>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace plumbline::text
