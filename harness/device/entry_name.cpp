// SPDX-License-Identifier: MIT
#include "harness/device/entry_name.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

namespace plumbline {
namespace {

// "void a::(anonymous namespace)::f<int>(float*)" without what comes after the name.
std::string_view without_arguments(std::string_view signature) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::size_t end = 0;
  while (end < signature.size()) {
    if (signature.substr(end).starts_with(kAnonymous)) {
      end += kAnonymous.size();
      continue;
    }
    if (signature[end] == '<' || signature[end] == '(') break;
    ++end;
  }
  return signature.substr(0, end);
}

// The names at the front of a mangled one, "a::f" of _ZN1a1fI...: libstdc++ gives up on names of
// more than 1024 characters, which those of CUTLASS are.
std::string leading_names(std::string_view mangled) {
  std::string names;
  if (!mangled.starts_with("_Z")) return names;
  mangled.remove_prefix(mangled.starts_with("_ZN") ? 3 : 2);
  std::size_t length = 0;
  for (;;) {
    const char* end = mangled.data() + mangled.size();
    const auto [name, failure] = std::from_chars(mangled.data(), end, length);
    if (failure != std::errc() || length > static_cast<std::size_t>(end - name)) return names;
    if (!names.empty()) names += "::";
    const std::string_view next(name, length);
    names += next.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : next;
    mangled = {name + length, end};
  }
}

}  // namespace

std::string cpp_signature(const std::string& entry) {
  int failure = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(entry.c_str(), nullptr, nullptr, &failure), &std::free);
  return failure == 0 ? text.get() : "";
}

std::string cpp_name(const std::string& entry) {
  const std::string text = cpp_signature(entry);
  if (text.empty()) {
    const std::string names = leading_names(entry);
    return names.empty() ? entry : names;
  }
  // Names of templates carry their result, which is void for every kernel.
  constexpr std::string_view kResult = "void ";
  std::string_view signature = text;
  if (signature.starts_with(kResult)) signature.remove_prefix(kResult.size());
  return std::string(without_arguments(signature));
}

std::vector<std::string> entry_names(std::string_view ptx) {
  constexpr std::string_view kDirective = ".entry";
  constexpr std::string_view kSpaces = " \t\r\n";
  std::vector<std::string> names;
  for (std::size_t at = ptx.find(kDirective); at != std::string_view::npos;
       at = ptx.find(kDirective, at)) {
    at += kDirective.size();
    const std::size_t begin = ptx.find_first_not_of(kSpaces, at);
    if (begin == at || begin == std::string_view::npos) continue;
    const std::size_t end = ptx.find_first_of(" \t\r\n(", begin);
    names.emplace_back(ptx.substr(begin, end - begin));
  }
  return names;
}

Result<std::string> find_entry(std::span<const std::string> entries, std::string_view name,
                               const std::string& file) {
  if (std::find(entries.begin(), entries.end(), name) != entries.end()) return std::string(name);
  std::vector<std::string> matches;
  for (const std::string& entry : entries) {
    if (cpp_name(entry) == name) matches.push_back(entry);
  }
  if (matches.size() == 1) return matches[0];
  if (!matches.empty()) {
    return Error{ErrorKind::bad_input,
                 fmt::format("there are {} entries \"{}\"", matches.size(), name), file,
                 fmt::format("write the whole name of one: {}", fmt::join(matches, ", "))};
  }
  return Error{ErrorKind::bad_input, fmt::format("there is no entry \"{}\"", name), file,
               fmt::format("entries: {}", fmt::join(entries, ", "))};
}

}  // namespace plumbline
