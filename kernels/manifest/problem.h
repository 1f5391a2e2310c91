// SPDX-License-Identifier: MIT
// Problem: one operation with its sizes, layouts, formats and epilogue, as a list of named fields.
// Its canonical text
// ("m=65 n=8 k=33 layout=nt out=f32") parses back, leaves defaults out, and is the repro line, the
// name in reports and the hash for sharding. Which fields there are is the operation's schema
// (operation.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/base/result.h"

namespace plumbline {

enum class FieldKind : std::uint8_t {
  integer,  // sizes, strides
  real,     // f32 scalars, kept as bits: printed as a decimal that reads back to the same f32
  word,     // one of `choices`
};

struct Field {
  std::string_view name;
  FieldKind kind;
  std::int64_t default_value;             // integer; f32 bits for real; index into choices for word
  std::int64_t minimum = 0, maximum = 0;  // integers only
  std::span<const std::string_view> choices{};
  std::string_view help{};
  bool fixed = false;  // numbers: a kernel has this field at its default only (kernel_schema.h)
};

// The default of a word that has none.
inline constexpr std::int64_t kNoDefault = -1;

// A field without a usable default: its default lies outside its range or choices.
bool must_be_given(const Field& field);

// A field's value as problems are written: "5", "0.5", "bf16".
std::string value_text(const Field& field, std::int64_t value);

class Problem {
 public:
  Problem() = default;
  explicit Problem(std::span<const Field> schema);

  std::int64_t integer(std::string_view name) const;  // PLUMB_ASSERTs that the field exists
  float real(std::string_view name) const;
  std::string_view word(std::string_view name) const;

  void set_integer(std::string_view name, std::int64_t value);
  void set_real(std::string_view name, float value);
  void set_word(std::string_view name, std::string_view value);

  void reset(std::string_view name);  // to its default

  bool has(std::string_view name) const;
  bool is_default(std::string_view name) const;

  std::span<const Field> schema() const { return schema_; }

  std::string text() const;       // canonical: fields in schema order, defaults left out
  std::string full_text() const;  // every field

  bool operator==(const Problem& other) const { return values_ == other.values_; }

 private:
  std::span<const Field> schema_;  // static storage
  std::vector<std::int64_t> values_;
};

// Errors name the field and, for a near miss, the one that was meant. `where` prefixes the error's
// position.
Result<Problem> parse_problem(std::span<const Field> schema, std::string_view text,
                              std::string_view where = {});

}  // namespace plumbline
