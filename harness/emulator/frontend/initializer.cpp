// SPDX-License-Identifier: MIT
// Braces are followed without recursion limits of their own: their depth cannot exceed the number
// of dimensions.
#include "harness/emulator/frontend/initializer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "harness/emulator/frontend/literal.h"
#include "harness/emulator/frontend/type_names.h"

namespace plumbline::emulator {
namespace {

class InitializerParser {
 public:
  InitializerParser(Cursor& cursor, Variable& variable, const Token& type,
                    std::span<std::int64_t> dimensions, std::int64_t& bytes_left)
      : cursor_(cursor),
        variable_(variable),
        type_(type),
        element_bytes_(type_bits(type.text) / 8),
        dimensions_(dimensions),
        bytes_left_(bytes_left) {}

  void parse() {
    if (element_bytes_ > 8) {
      cursor_.fail(cursor_.current(),
                   fmt::format("initial values of {} are not supported", type_.text));
      return;
    }
    if (cursor_.at('{')) {
      parse_region(0, 0);
    } else {
      parse_value(0);
    }
    if (dimensions_[0] == 0 && !cursor_.failed()) {
      const std::int64_t row = region_bytes(1);
      const auto used = static_cast<std::int64_t>(variable_.initial.size());
      dimensions_[0] = row > 0 ? (used + row - 1) / row : 0;
    }
  }

 private:
  // Bytes of one { } at this level; level 0 is the whole variable, whose size may be open.
  std::int64_t region_bytes(std::size_t level) const {
    std::int64_t bytes = element_bytes_;
    for (std::size_t i = level; i < dimensions_.size(); ++i) {
      if (__builtin_mul_overflow(bytes, dimensions_[i], &bytes)) return kLimit;
    }
    return std::min(bytes, kLimit);
  }

  void parse_region(std::size_t level, std::int64_t start) {
    const Token brace = cursor_.take();
    if (level >= dimensions_.size()) {
      cursor_.fail(brace, fmt::format("{} has {} dimensions, this is one {{ more",
                                      in_quotes(variable_.name), dimensions_.size()));
      return;
    }
    const bool open_ended = level == 0 && dimensions_[0] == 0;
    const std::int64_t end = open_ended ? kLimit : start + region_bytes(level);
    const std::int64_t row = region_bytes(level + 1);
    std::int64_t at = start;
    if (cursor_.accept('}')) return;
    do {
      if (cursor_.at('}')) break;  // after a trailing comma
      const bool nested = cursor_.at('{');
      if (nested && row > 0) at = start + (at - start + row - 1) / row * row;
      const std::int64_t next = at + (nested ? row : element_bytes_);
      if (next > end || next > kLimit) {
        cursor_.fail(cursor_.current(),
                     fmt::format("more values than {} has room for", in_quotes(variable_.name)));
        return;
      }
      if (nested) {
        parse_region(level + 1, at);
      } else {
        parse_value(at);
      }
      at = next;
    } while (cursor_.accept(','));
    cursor_.expect('}', "or \",\" in an initial value");
  }

  void parse_value(std::int64_t at) {
    const Token start = cursor_.current();
    if (cursor_.at_word() && !starts_constant(cursor_)) {
      parse_symbol(at);
      return;
    }
    const Constant constant = parse_constant(cursor_);
    const Literal& literal = constant.literal;
    if (cursor_.failed()) return;
    std::uint64_t bits = literal.value;
    if (is_float_type(type_.text)) {
      bits = float_bits(start, literal);
    } else if (literal.float_bits != 0) {
      cursor_.fail(start, fmt::format("a float cannot initialize a {}", type_.text));
    } else if (!constant.computed && !fits(literal)) {
      cursor_.fail(start, fmt::format("the value does not fit a {}", type_.text));
    }
    store(start, at, bits);
  }

  bool fits(const Literal& literal) const {
    const int bits = static_cast<int>(element_bytes_) * 8;
    if (bits >= 64) return true;
    const auto value = static_cast<std::int64_t>(literal.value);
    if (literal.negative) return value >= -(std::int64_t{1} << (bits - 1));
    return literal.value < (std::uint64_t{1} << bits);
  }

  // The bits of a number given for a float element: f32 and f64 convert, the 16-bit ones take
  // integer bits.
  std::uint64_t float_bits(const Token& at, const Literal& literal) {
    const bool wide = element_bytes_ == 8;
    if (element_bytes_ == 2) {
      if (literal.float_bits != 0 || !fits(literal)) {
        cursor_.fail(at,
                     fmt::format("a {} is initialized by its bits, such as 0x3C00", type_.text));
      }
      return literal.value;
    }
    if (literal.float_bits == static_cast<int>(element_bytes_) * 8) return literal.value;
    double value = literal.negative ? static_cast<double>(static_cast<std::int64_t>(literal.value))
                                    : static_cast<double>(literal.value);
    if (literal.float_bits == 32)
      value = std::bit_cast<float>(static_cast<std::uint32_t>(literal.value));
    if (literal.float_bits == 64) value = std::bit_cast<double>(literal.value);
    return wide ? std::bit_cast<std::uint64_t>(value)
                : std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }

  // name, name+4, generic(name)+4
  void parse_symbol(std::int64_t at) {
    Relocation relocation;
    Token name = cursor_.take();
    const Token start = name;
    if (cursor_.at('(')) {
      if (name.text != "generic") {
        cursor_.fail(
            name, fmt::format("{}() is not supported in an initial value", in_quotes(name.text)));
        return;
      }
      cursor_.take();
      relocation.generic = true;
      name = cursor_.expect_word("the name of a variable");
      cursor_.expect(')', "after generic(name");
    }
    if (element_bytes_ < 4) {
      cursor_.fail(start, fmt::format("an address does not fit a {}", type_.text));
      return;
    }
    relocation.offset = at;
    relocation.bytes = static_cast<int>(element_bytes_);
    relocation.name = name.text;
    relocation.addend = parse_offset(cursor_);
    relocation.line = start.line;
    relocation.column = start.column;
    store(start, at, 0);
    if (!cursor_.failed()) variable_.relocations.push_back(std::move(relocation));
  }

  void store(const Token& token, std::int64_t at, std::uint64_t bits) {
    const std::int64_t end = at + element_bytes_;
    const std::int64_t growth = end - static_cast<std::int64_t>(variable_.initial.size());
    if (growth > bytes_left_) {
      cursor_.fail(token, "the initial values of this module are too large for its text");
    }
    if (cursor_.failed()) return;
    if (growth > 0) {
      bytes_left_ -= growth;
      variable_.initial.resize(static_cast<std::size_t>(end));
    }
    for (std::int64_t i = 0; i < element_bytes_; ++i) {
      variable_.initial[static_cast<std::size_t>(at + i)] = static_cast<std::byte>(bits >> (8 * i));
    }
  }

  static constexpr std::int64_t kLimit = std::int64_t{1} << 40;

  Cursor& cursor_;
  Variable& variable_;
  const Token& type_;
  std::int64_t element_bytes_;
  std::span<std::int64_t> dimensions_;
  std::int64_t& bytes_left_;
};

}  // namespace

void parse_initializer(Cursor& cursor, Variable& variable, const Token& type,
                       std::span<std::int64_t> dimensions, std::int64_t& bytes_left) {
  InitializerParser(cursor, variable, type, dimensions, bytes_left).parse();
}

}  // namespace plumbline::emulator
