// SPDX-License-Identifier: MIT
// Fields by name, and the canonical text in both directions. A field whose default lies outside its
// range (m = -1) has no usable default: it must be given.
#include "kernels/manifest/problem.h"

#include "kernels/manifest/bad_input.h"
#include "kernels/manifest/position.h"
#include "kernels/manifest/real_text.h"
#include "oracles/base/assert.h"
#include "oracles/base/suggest.h"
#include "oracles/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace plumbline {
namespace {

std::optional<std::size_t> index_of(std::span<const Field> schema, std::string_view name) {
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].name == name) return i;
  }
  return std::nullopt;
}

std::size_t field_index(std::span<const Field> schema, std::string_view name, FieldKind kind) {
  const std::optional<std::size_t> index = index_of(schema, name);
  PLUMB_ASSERT(index && schema[*index].kind == kind);
  return *index;
}

std::uint32_t real_bits(std::int64_t stored) { return static_cast<std::uint32_t>(stored); }

std::string join(std::string_view separator, std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, separator));
}

// One value from its text; the error's position is the caller's to fill in.
Result<std::int64_t> parse_any_value(const Field& field, std::string_view text) {
  switch (field.kind) {
    case FieldKind::integer: {
      const std::optional<std::int64_t> value = parse_number<std::int64_t>(text);
      if (!value) {
        return bad_input(fmt::format("{}={} is not a whole number of 64 bits", field.name, text),
                         fmt::format("write it like {}={}", field.name, field.minimum));
      }
      if (*value < field.minimum || *value > field.maximum) {
        return bad_input(
            fmt::format("{}={} is out of range", field.name, text),
            fmt::format("{} is from {} to {}", field.name, field.minimum, field.maximum));
      }
      return *value;
    }
    case FieldKind::real: {
      const std::optional<std::uint32_t> bits = parse_real(text);
      if (!bits) {
        return bad_input(fmt::format("{}={} is not a number that fits f32", field.name, text),
                         "write a decimal (0.5, 1e-3, inf) or the bits of an f32 (0x7fc00000)");
      }
      return std::int64_t{*bits};
    }
    case FieldKind::word: {
      for (std::size_t i = 0; i < field.choices.size(); ++i) {
        if (field.choices[i] == text) return static_cast<std::int64_t>(i);
      }
      const std::string meant = did_you_mean(text, field.choices);
      if (field.choices.size() == 1) {
        return bad_input(fmt::format("{}={} is not what this kernel has: only {}={}", field.name,
                                     text, field.name, field.choices[0]),
                         meant);
      }
      return bad_input(
          fmt::format("{}={} is none of {}", field.name, text, join(", ", field.choices)), meant);
    }
  }
  return std::int64_t{0};
}

// The same, refusing what the kernel has fixed.
Result<std::int64_t> parse_value(const Field& field, std::string_view text) {
  const Result<std::int64_t> value = parse_any_value(field, text);
  if (value && field.fixed && *value != field.default_value) {
    const std::string only = value_text(field, field.default_value);
    return bad_input(fmt::format("{}={} is not what this kernel has", field.name, text),
                     fmt::format("leave {} out: it is always {}", field.name, only));
  }
  return value;
}

Error unknown_field(std::span<const Field> schema, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Field& field : schema) names.push_back(field.name);
  const std::string meant = did_you_mean(name, names);
  return bad_input(fmt::format("there is no field \"{}\"", name),
                   meant.empty() ? "the fields are " + join(", ", names) : meant);
}

}  // namespace

std::string value_text(const Field& field, std::int64_t value) {
  switch (field.kind) {
    case FieldKind::integer:
      return fmt::format("{}", value);
    case FieldKind::real:
      return real_text(real_bits(value));
    case FieldKind::word:
      return std::string(field.choices[static_cast<std::size_t>(value)]);
  }
  return {};
}

bool must_be_given(const Field& field) {
  switch (field.kind) {
    case FieldKind::integer:
      return field.default_value < field.minimum || field.default_value > field.maximum;
    case FieldKind::word:
      return field.default_value == kNoDefault;
    case FieldKind::real:
      break;
  }
  return false;
}

Problem::Problem(std::span<const Field> schema) : schema_(schema) {
  values_.reserve(schema.size());
  for (const Field& field : schema) values_.push_back(field.default_value);
}

std::int64_t Problem::integer(std::string_view name) const {
  return values_[field_index(schema_, name, FieldKind::integer)];
}

float Problem::real(std::string_view name) const {
  return std::bit_cast<float>(real_bits(values_[field_index(schema_, name, FieldKind::real)]));
}

std::string_view Problem::word(std::string_view name) const {
  const std::size_t index = field_index(schema_, name, FieldKind::word);
  return schema_[index].choices[static_cast<std::size_t>(values_[index])];
}

void Problem::set_integer(std::string_view name, std::int64_t value) {
  values_[field_index(schema_, name, FieldKind::integer)] = value;
}

void Problem::set_real(std::string_view name, float value) {
  values_[field_index(schema_, name, FieldKind::real)] = std::bit_cast<std::uint32_t>(value);
}

void Problem::set_word(std::string_view name, std::string_view value) {
  const std::size_t index = field_index(schema_, name, FieldKind::word);
  const Result<std::int64_t> choice = parse_value(schema_[index], value);
  PLUMB_ASSERT(choice.ok());
  values_[index] = *choice;
}

void Problem::reset(std::string_view name) {
  const std::optional<std::size_t> index = index_of(schema_, name);
  PLUMB_ASSERT(index);
  values_[*index] = schema_[*index].default_value;
}

bool Problem::has(std::string_view name) const { return index_of(schema_, name).has_value(); }

bool Problem::is_default(std::string_view name) const {
  const std::optional<std::size_t> index = index_of(schema_, name);
  PLUMB_ASSERT(index);
  return values_[*index] == schema_[*index].default_value;
}

std::string Problem::text() const {
  std::string text;
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    if (values_[i] == schema_[i].default_value) continue;
    if (!text.empty()) text += ' ';
    text += fmt::format("{}={}", schema_[i].name, value_text(schema_[i], values_[i]));
  }
  return text;
}

std::string Problem::full_text() const {
  std::string text;
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{}={}", schema_[i].name, value_text(schema_[i], values_[i]));
  }
  return text;
}

Result<Problem> parse_problem(std::span<const Field> schema, std::string_view text,
                              std::string_view where) {
  Problem problem(schema);
  std::vector<bool> given(schema.size(), false);
  constexpr std::string_view kSpaces = " \t\r\n";
  std::size_t at = text.find_first_not_of(kSpaces);
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    const std::string_view token = text.substr(at, end - at);
    const auto fail = [&](Error error, std::size_t column) {
      error.where = advance_position(where, at + column);
      return error;
    };
    const std::size_t equals = token.find('=');
    if (equals == std::string_view::npos) {
      return fail(bad_input(fmt::format("\"{}\" is not of the form field=value", token),
                            fmt::format("write {}=...", token)),
                  0);
    }
    const std::string_view name = token.substr(0, equals), value = token.substr(equals + 1);
    const std::optional<std::size_t> index = index_of(schema, name);
    if (!index) return fail(unknown_field(schema, name), 0);
    if (given[*index]) {
      return fail(bad_input(fmt::format("{} is given twice", name), "keep one of them"), 0);
    }
    given[*index] = true;
    const Field& field = schema[*index];
    Result<std::int64_t> parsed = parse_value(field, value);
    if (!parsed) return fail(parsed.error(), equals + 1);
    switch (field.kind) {
      case FieldKind::integer:
        problem.set_integer(name, *parsed);
        break;
      case FieldKind::real:
        problem.set_real(name, std::bit_cast<float>(real_bits(*parsed)));
        break;
      case FieldKind::word:
        problem.set_word(name, value);
        break;
    }
    at = text.find_first_not_of(kSpaces, end);
  }
  for (const Field& field : schema) {
    if (must_be_given(field) && problem.is_default(field.name)) {
      return bad_input(fmt::format("{} is missing", field.name),
                       fmt::format("give {}=...", field.name), std::string(where));
    }
  }
  return problem;
}

}  // namespace plumbline
