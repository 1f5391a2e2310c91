// SPDX-License-Identifier: MIT
// TomlReader: typed reading of a TOML file where every mistake has a position. The first mistake is
// kept; reading goes on with empty values, so that the code that reads a manifest is one straight
// list of keys. Heavy (toml++): include it in .cpp files only.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oracles/base/result.h"

namespace plumbline {

class TomlReader {
 public:
  // A string, and where its first character is ("file:line:column").
  struct Text {
    std::string text;
    std::string where;
  };

  // Parses a file's text; `path` is for positions.
  static Result<TomlReader> parse(std::string_view text, const std::string& path);

  const toml::table& root() const { return root_; }

  const std::optional<Error>& error() const { return error_; }

  // Every key of the table must be one of `known`.
  void check_keys(const toml::table& table, std::initializer_list<std::string_view> known);
  void check_keys(const toml::table& table, std::span<const std::string_view> known);

  // A key's value. required_...: absence is an error that shows `example`. The others give nothing
  // when it is absent.
  Text required_text(const toml::table& table, std::string_view key, std::string_view example);
  std::optional<Text> text(const toml::table& table, std::string_view key);
  std::optional<std::int64_t> integer(const toml::table& table, std::string_view key);
  std::optional<bool> boolean(const toml::table& table, std::string_view key);
  const toml::table* table(const toml::table& parent, std::string_view key);
  const toml::table* required_table(const toml::table& parent, std::string_view key,
                                    std::string_view example);
  const toml::array* array(const toml::table& parent, std::string_view key);
  const toml::array* required_array(const toml::table& parent, std::string_view key,
                                    std::string_view example);

  // Elements of arrays. `what` names the element in messages: "a parameter".
  std::optional<Text> text(const toml::node& node, std::string_view what,
                           std::string_view expected = "a string");
  std::optional<std::int64_t> integer(const toml::node& node, std::string_view what);
  const toml::table* table(const toml::node& node, std::string_view what);

  // One of a list of words; `look_up` gives nothing for others.
  template <typename LookUp>
  auto word(const std::optional<Text>& text, std::span<const std::string_view> words,
            LookUp look_up) -> decltype(look_up(std::string_view())) {
    if (!text) return std::nullopt;
    const auto value = look_up(std::string_view(text->text));
    if (!value) fail_word(*text, words);
    return value;
  }

  void fail(std::string where, std::string message, std::string hint);
  void fail_at(const toml::node& node, std::string message, std::string hint);
  void fail_word(const Text& text, std::span<const std::string_view> words);
  void adopt(const Error& error);  // an error that has its position already

  std::string position(const toml::source_region& region) const;

 private:
  void fail_missing(const toml::table& table, std::string_view key, std::string_view example);
  void fail_type(const toml::node& node, std::string_view what, std::string_view expected);
  Text located(const toml::value<std::string>& value) const;

  std::string path_;
  std::vector<std::string> lines_;
  toml::table root_;
  std::optional<Error> error_;
};

}  // namespace plumbline
