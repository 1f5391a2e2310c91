// SPDX-License-Identifier: MIT
#include "harness/cli/draft/source_names.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace plumbline {
namespace {

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string without_comments(std::string_view source) {
  std::string text;
  for (std::size_t at = 0; at < source.size(); ++at) {
    const bool line = source.substr(at, 2) == "//", block = source.substr(at, 2) == "/*";
    if (line || block) {
      at = source.find(line ? "\n" : "*/", at + 2);
      if (at == std::string_view::npos) break;
      if (block) ++at;
      text += ' ';
    } else {
      text += source[at];
    }
  }
  return text;
}

// The last name of "const float* __restrict__ x[4] = nullptr".
std::string name_of(std::string_view parameter) {
  parameter = parameter.substr(0, parameter.find_first_of("=["));
  std::size_t end = parameter.size();
  while (end > 0 && !is_of_name(parameter[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_of_name(parameter[begin - 1])) --begin;
  const std::string_view name = parameter.substr(begin, end - begin);
  const bool digits = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0;
  const bool alone = parameter.find_first_not_of(" \t\r\n") == begin;  // a type and no name
  return digits || alone || name.starts_with("__") ? std::string() : std::string(name);
}

// What stands between this "(" and its ")", parted by commas.
std::vector<std::string> declarations_in(std::string_view text) {
  std::vector<std::string> declarations;
  int depth = 0;
  std::size_t begin = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '(' || c == '<' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == '}') --depth;
    if ((c != ',' || depth != 1) && depth != 0) continue;
    declarations.emplace_back(text.substr(begin, at - begin));
    if (depth == 0) return declarations;
    begin = at + 1;
  }
  return {};
}

}  // namespace

std::vector<std::string> parameter_declarations(std::string_view source,
                                                std::string_view function) {
  const std::string text = without_comments(source);
  for (std::size_t at = text.find("__global__"); at != std::string::npos;
       at = text.find("__global__", at + 1)) {
    // __launch_bounds__(128) may stand before the name; a body, or a declaration's end, behind it.
    const std::size_t end = std::min(text.find_first_of("{;", at), text.size());
    for (std::size_t name = text.find(function, at); name < end;
         name = text.find(function, name + 1)) {
      const std::size_t behind = name + function.size();
      const std::size_t open = text.find_first_not_of(" \t\r\n", behind);
      const bool whole = !is_of_name(text[name - 1]) && open != std::string::npos;
      if (whole && text[open] == '(') return declarations_in(std::string_view(text).substr(open));
    }
  }
  return {};
}

std::vector<std::string> parameter_names(const std::vector<std::string>& declarations) {
  std::vector<std::string> names;
  for (const std::string& declaration : declarations) {
    names.push_back(name_of(declaration));
    if (names.back().empty()) return {};
  }
  return names;
}

std::vector<std::string> parameter_types(std::string_view signature) {
  const std::size_t end = signature.rfind(')');
  if (end == std::string_view::npos) return {};
  int depth = 0;
  for (std::size_t at = end + 1; at-- > 0;) {
    depth += signature[at] == ')' ? 1 : signature[at] == '(' ? -1 : 0;
    if (depth == 0) return declarations_in(signature.substr(at));
  }
  return {};
}

std::string format_of_type(std::string_view declaration) {
  constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
      {"__nv_bfloat16", "bf16"}, {"__nv_bfloat162", "bf16"},
      {"nv_bfloat16", "bf16"},   {"bfloat16_t", "bf16"},
      {"BFloat16", "bf16"},      {"__half", "f16"},
      {"half", "f16"},           {"__half2", "f16"},
      {"half2", "f16"},          {"half_t", "f16"},
      {"Half", "f16"},           {"float", "f32"},
      {"float2", "f32"},         {"float4", "f32"},
      {"__nv_fp8_e4m3", "e4m3"}, {"float_e4m3_t", "e4m3"},
      {"Float8_e4m3fn", "e4m3"}, {"__nv_fp8_e5m2", "e5m2"},
      {"float_e5m2_t", "e5m2"},  {"Float8_e5m2", "e5m2"},
      {"int8_t", "s8"},          {"int", "s32"},
      {"int32_t", "s32"},        {"int64_t", "s64"}};
  if (declaration.find("unsigned") != std::string_view::npos) return "";
  if (declaration.find("signed char") != std::string_view::npos) return "s8";
  const std::string name = name_of(declaration);
  const std::size_t end = name.empty() ? declaration.size() : declaration.rfind(name);
  std::string word;
  for (std::size_t at = 0; at <= end; ++at) {
    if (at < end && is_of_name(declaration[at])) {
      word += declaration[at];
      continue;
    }
    for (const auto& [type, format] : kFormats)
      if (word == type) return std::string(format);
    word.clear();
  }
  return "";
}

}  // namespace plumbline
