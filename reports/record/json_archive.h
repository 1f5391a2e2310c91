// SPDX-License-Identifier: MIT
// Two archives that walk the same list of fields: JsonWriter puts a struct's fields into a JSON
// object, JsonReader takes them out again and checks every one. A struct's fields are listed once,
// in a function describe(archive, struct), so that what is written can be read.
//
// Numbers must survive: doubles that JSON lacks (NaN, Inf) are {"bits", "value"}, 64-bit codes and
// seeds hexadecimal strings. A reader never throws and never trusts: the first thing that is
// missing or of the wrong kind is its error(), with the path to it.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "oracles/base/text.h"
#include "reports/record/packed_counts.h"

namespace plumbline {

using Json = nlohmann::ordered_json;

// T or const T: describe() serves both archives.
template <typename T, typename Of>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Of>;

template <typename T>
concept Enumeration = std::is_enum_v<T>;

// A struct, whose fields describe() lists.
template <typename T>
concept Described = std::is_class_v<T> && !std::same_as<T, std::string>;

class JsonWriter {
 public:
  template <typename T>
  void required(const char* key, const T& value) {
    json_[key] = written(value);
  }

  // Left out when it has the value a reader would assume.
  template <typename T>
  void optional(const char* key, const T& value) {
    if (!(value == T{})) json_[key] = written(value);
  }

  template <typename T>
  void optional(const char* key, const std::optional<T>& value) {
    if (value) json_[key] = written(*value);
  }

  template <typename T>
  void optional(const char* key, const std::vector<T>& value) {
    if (!value.empty()) json_[key] = written(value);
  }

  // Taken out again where only the figures of a case are kept.
  template <typename T>
  void detail(const char* key, const T& value) {
    required(key, value);
  }

  // Counts of a histogram of so many cells. Left out where there is none.
  void cells(const char* key, const std::vector<std::int64_t>& counts, std::size_t) {
    if (!counts.empty()) json_[key] = packed(counts);
  }

  void hex(const char* key, std::uint64_t value) { json_[key] = fmt::format("0x{:x}", value); }

  Json take() { return std::move(json_); }

  static Json written(const std::string& value) { return value; }

  static Json written(bool value) { return value; }

  static Json written(int value) { return value; }

  static Json written(std::int64_t value) { return value; }

  static Json written(double value) {
    if (std::isfinite(value)) return value;
    return {{"bits", fmt::format("0x{:016x}", std::bit_cast<std::uint64_t>(value))},
            {"value", std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf")}};
  }

  template <Enumeration T>
  static Json written(T value) {
    return name(value);
  }

  template <typename T>
  static Json written(const std::vector<T>& values) {
    Json json = Json::array();
    for (const T& value : values) json.push_back(written(value));
    return json;
  }

  template <typename T>
  static Json written(const std::map<std::string, T>& values) {
    Json json = Json::object();
    for (const auto& [key, value] : values) json[key] = written(value);
    return json;
  }

  template <Enumeration Key, typename T>
  static Json written(const std::map<Key, T>& values) {
    Json json = Json::object();
    for (const auto& [key, value] : values) json[std::string(name(key))] = written(value);
    return json;
  }

  template <Described T>
  static Json written(const T& value) {
    JsonWriter writer;
    describe(writer, value);
    return writer.take();
  }

 private:
  Json json_ = Json::object();
};

class JsonReader {
 public:
  // What parse_json() gave.
  JsonReader(const nlohmann::json& json, std::string path, std::string& error)
      : json_(json), path_(std::move(path)), error_(error) {
    if (!json_.is_object()) fail(path_, "an object is due");
  }

  template <typename T>
  void required(const char* key, T& value) {
    if (!error_.empty()) return;
    const auto found = json_.find(key);
    if (found == json_.end()) return fail(at(key), "missing");
    read(*found, at(key), value);
  }

  template <typename T>
  void optional(const char* key, T& value) {
    if (!error_.empty() || !json_.contains(key)) return;
    read(json_[key], at(key), value);
  }

  template <typename T>
  void optional(const char* key, std::optional<T>& value) {
    if (!error_.empty() || !json_.contains(key)) return;
    read(json_[key], at(key), value.emplace());
  }

  template <typename T>
  void detail(const char* key, T& value) {
    optional(key, value);
  }

  void cells(const char* key, std::vector<std::int64_t>& counts, std::size_t cells) {
    if (!error_.empty() || !json_.contains(key)) return;
    std::string text;
    read(json_[key], at(key), text);
    if (error_.empty() && !unpack(text, cells, counts))
      fail(at(key), fmt::format("a histogram of {} cells is due", cells));
  }

  void hex(const char* key, std::uint64_t& value) {
    std::string text;
    required(key, text);
    if (!error_.empty()) return;
    if (!parse_hex(text, value)) fail(at(key), "a hexadecimal number like \"0x1f\" is due");
  }

 private:
  const nlohmann::json& json_;
  std::string path_;
  std::string& error_;

  std::string at(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  void fail(const std::string& where, std::string_view what) {
    if (error_.empty()) error_ = fmt::format("{}: {}", where.empty() ? "the whole" : where, what);
  }

  static bool parse_hex(std::string_view text, std::uint64_t& value) {
    if (!text.starts_with("0x")) return false;
    const auto number = parse_number<std::uint64_t>(text.substr(2), 16);
    if (number) value = *number;
    return number.has_value();
  }

  void read(const nlohmann::json& json, const std::string& where, std::string& value) {
    if (!json.is_string()) return fail(where, "a text is due");
    value = json.get<std::string>();
  }

  void read(const nlohmann::json& json, const std::string& where, bool& value) {
    if (!json.is_boolean()) return fail(where, "true or false is due");
    value = json.get<bool>();
  }

  // Counts, sizes and places: none of a record's whole numbers but these two may be negative.
  void read(const nlohmann::json& json, const std::string& where, std::int64_t& value) {
    const bool whole = json.is_number_integer() &&
                       (!json.is_number_unsigned() ||
                        json.get<std::uint64_t>() <=
                            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!whole) return fail(where, "a whole number is due");
    value = json.get<std::int64_t>();
    if (value < 0) fail(where, "a number that is not negative is due");
  }

  void read(const nlohmann::json& json, const std::string& where, int& value) {
    const bool whole = json.is_number_integer() && json.get<double>() >= -2147483648.0 &&
                       json.get<double>() <= 2147483647.0;
    if (!whole) return fail(where, "a whole number of 32 bits is due");
    value = json.get<int>();
  }

  void read(const nlohmann::json& json, const std::string& where, double& value) {
    if (json.is_number()) {
      value = json.get<double>();
      return;
    }
    std::uint64_t bits = 0;
    const bool good = json.is_object() && json.contains("bits") && json["bits"].is_string() &&
                      parse_hex(json["bits"].get<std::string>(), bits);
    if (!good) return fail(where, "a number is due");
    value = std::bit_cast<double>(bits);
  }

  template <Enumeration T>
  void read(const nlohmann::json& json, const std::string& where, T& value) {
    std::string word;
    read(json, where, word);
    if (error_.empty() && !by_name(word, value))
      fail(where, fmt::format("unknown word \"{}\"", word.substr(0, 40)));
  }

  template <typename T>
  void read(const nlohmann::json& json, const std::string& where, std::vector<T>& values) {
    if (!json.is_array()) return fail(where, "a list is due");
    values.clear();
    values.reserve(json.size());
    for (std::size_t i = 0; i < json.size() && error_.empty(); ++i)
      read(json[i], fmt::format("{}[{}]", where, i), values.emplace_back());
  }

  template <typename T>
  void read(const nlohmann::json& json, const std::string& where,
            std::map<std::string, T>& values) {
    if (!json.is_object()) return fail(where, "an object is due");
    for (const auto& [key, value] : json.items()) {
      if (!error_.empty()) return;
      read(value, fmt::format("{}.{}", where, key), values[key]);
    }
  }

  template <Enumeration Key, typename T>
  void read(const nlohmann::json& json, const std::string& where, std::map<Key, T>& values) {
    if (!json.is_object()) return fail(where, "an object is due");
    for (const auto& [word, value] : json.items()) {
      Key key{};
      if (!by_name(word, key)) return fail(where, fmt::format("unknown word \"{}\"", word));
      read(value, fmt::format("{}.{}", where, word), values[key]);
    }
  }

  template <Described T>
  void read(const nlohmann::json& json, const std::string& where, T& value) {
    if (!error_.empty()) return;
    JsonReader reader(json, where, error_);
    describe(reader, value);
  }
};

}  // namespace plumbline
