// SPDX-License-Identifier: MIT
#include "kernels/manifest/toml_reader.h"

#include "kernels/manifest/bad_input.h"
#include "oracles/base/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace plumbline {
namespace {

std::string type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a real number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}

// A dotted key opens a table at every point, and toml++ reads and frees tables by recursion: a key
// of 50,000 points ends the stack. A manifest of many launches has a few dozen, texts and numbers
// included.
constexpr std::ptrdiff_t kMostPoints = 4096;

}  // namespace

Result<TomlReader> TomlReader::parse(std::string_view text, const std::string& path) {
  if (std::count(text.begin(), text.end(), '.') > kMostPoints) {
    return bad_input(
        fmt::format("more than {} points: dotted keys could nest without end", kMostPoints),
        "shorten keys, texts and comments", path);
  }
  TomlReader reader;
  reader.path_ = path;
  reader.lines_ = split_lines(text);
  try {
    reader.root_ = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    const bool is_code = path.ends_with(".cu") || path.ends_with(".ptx");
    return bad_input(fmt::format("not valid TOML: {}", error.description()),
                     is_code ? fmt::format("a manifest describes a kernel; plumbline init {} "
                                           "drafts one",
                                           path)
                             : "",
                     reader.position(error.source()));
  }
  return reader;
}

std::string TomlReader::position(const toml::source_region& region) const {
  return fmt::format("{}:{}:{}", path_, std::max<toml::source_index>(region.begin.line, 1),
                     std::max<toml::source_index>(region.begin.column, 1));
}

void TomlReader::fail(std::string where, std::string message, std::string hint) {
  if (!error_) error_ = bad_input(std::move(message), std::move(hint), std::move(where));
}

void TomlReader::fail_at(const toml::node& node, std::string message, std::string hint) {
  fail(position(node.source()), std::move(message), std::move(hint));
}

void TomlReader::adopt(const Error& error) {
  if (!error_) error_ = error;
}

void TomlReader::fail_word(const Text& text, std::span<const std::string_view> words) {
  const std::string meant = did_you_mean(text.text, words);
  const std::string all = fmt::format("it is one of \"{}\"", fmt::join(words, "\", \""));
  fail(text.where, fmt::format("\"{}\" is not known here", text.text),
       meant.empty() ? all : fmt::format("{} {}", meant, all));
}

void TomlReader::fail_missing(const toml::table& table, std::string_view key,
                              std::string_view example) {
  fail_at(table, fmt::format("\"{}\" is missing", key), fmt::format("add {}", example));
}

void TomlReader::fail_type(const toml::node& node, std::string_view what,
                           std::string_view expected) {
  fail_at(node, fmt::format("{} must be {}, not {}", what, expected, type_name(node)), "");
}

void TomlReader::check_keys(const toml::table& table,
                            std::initializer_list<std::string_view> known) {
  check_keys(table, std::span(known.begin(), known.size()));
}

void TomlReader::check_keys(const toml::table& table, std::span<const std::string_view> known) {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    const std::string meant = did_you_mean(key.str(), known);
    fail(position(key.source()), fmt::format("unknown key \"{}\"", key.str()),
         meant.empty() ? fmt::format("the keys here are {}", fmt::join(known, ", ")) : meant);
  }
}

// Where the first character of a string's text is: behind one quote, or behind three.
TomlReader::Text TomlReader::located(const toml::value<std::string>& value) const {
  const toml::source_position begin = value.source().begin;
  std::size_t quotes = 1;
  if (begin.line >= 1 && begin.line <= lines_.size() && begin.column >= 1) {
    const std::string& line = lines_[begin.line - 1];
    const std::string_view rest =
        begin.column <= line.size() ? std::string_view(line).substr(begin.column - 1) : "";
    if (rest.starts_with("\"\"\"") || rest.starts_with("'''")) quotes = 3;
  }
  return {value.get(), fmt::format("{}:{}:{}", path_, begin.line, begin.column + quotes)};
}

std::optional<TomlReader::Text> TomlReader::text(const toml::node& node, std::string_view what,
                                                 std::string_view expected) {
  if (const auto* value = node.as_string()) return located(*value);
  fail_type(node, what, expected);
  return std::nullopt;
}

std::optional<TomlReader::Text> TomlReader::text(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  return node ? text(*node, fmt::format("\"{}\"", key)) : std::nullopt;
}

TomlReader::Text TomlReader::required_text(const toml::table& table, std::string_view key,
                                           std::string_view example) {
  if (!table.get(key)) fail_missing(table, key, example);
  return text(table, key).value_or(Text{});
}

std::optional<std::int64_t> TomlReader::integer(const toml::node& node, std::string_view what) {
  if (const auto* value = node.as_integer()) return value->get();
  fail_type(node, what, "a whole number");
  return std::nullopt;
}

std::optional<std::int64_t> TomlReader::integer(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  return node ? integer(*node, fmt::format("\"{}\"", key)) : std::nullopt;
}

std::optional<bool> TomlReader::boolean(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (!node) return std::nullopt;
  if (const auto* value = node->as_boolean()) return value->get();
  fail_type(*node, fmt::format("\"{}\"", key), "true or false");
  return std::nullopt;
}

const toml::table* TomlReader::table(const toml::node& node, std::string_view what) {
  if (const toml::table* found = node.as_table()) return found;
  fail_type(node, what, "a table");
  return nullptr;
}

const toml::table* TomlReader::table(const toml::table& parent, std::string_view key) {
  const toml::node* node = parent.get(key);
  return node ? table(*node, fmt::format("\"{}\"", key)) : nullptr;
}

const toml::table* TomlReader::required_table(const toml::table& parent, std::string_view key,
                                              std::string_view example) {
  if (!parent.get(key)) fail_missing(parent, key, example);
  return table(parent, key);
}

const toml::array* TomlReader::array(const toml::table& parent, std::string_view key) {
  const toml::node* node = parent.get(key);
  if (!node) return nullptr;
  if (const toml::array* found = node->as_array()) return found;
  fail_type(*node, fmt::format("\"{}\"", key), "an array");
  return nullptr;
}

const toml::array* TomlReader::required_array(const toml::table& parent, std::string_view key,
                                              std::string_view example) {
  if (!parent.get(key)) fail_missing(parent, key, example);
  return array(parent, key);
}

}  // namespace plumbline
