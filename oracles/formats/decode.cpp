// SPDX-License-Identifier: MIT
// decode() reads the fields of a code as the format's row says, and is the specification.
// to_double() and to_float() give the same values faster: 8-bit formats and f16 from tables that
// decode() fills, the others through the machine's own f32 and f64, which hold all their values.
#include "oracles/formats/decode.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "oracles/base/assert.h"

namespace plumbline {
namespace {

constexpr double kQuietNan = std::numeric_limits<double>::quiet_NaN();

Decoded decode_integer(const Format& format, std::uint64_t code) {
  const std::uint64_t sign_bit = format.has_sign ? std::uint64_t{1} << format.mantissa_bits : 0;
  const bool negative = (code & sign_bit) != 0;
  const std::uint64_t magnitude = negative ? (sign_bit << 1) - code : code;
  return {magnitude == 0 ? ValueClass::zero : ValueClass::finite, negative, magnitude, 0};
}

// 2^exponent, subnormal results included.
double power_of_two(int exponent) {
  if (exponent >= -1022)
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  return std::bit_cast<double>(std::uint64_t{1} << (exponent + 1074));
}

double value_of(const Decoded& decoded) {
  const double sign = decoded.negative ? -1.0 : 1.0;
  switch (decoded.cls) {
    case ValueClass::zero:
      return sign * 0.0;
    case ValueClass::finite:  // both factors and the product are doubles: no rounding
      return sign * static_cast<double>(decoded.significand) * power_of_two(decoded.exponent);
    case ValueClass::infinite:
      return sign * std::numeric_limits<double>::infinity();
    case ValueClass::nan:
      break;
  }
  return kQuietNan;
}

// NaN is recognized on the integer side: comparing floats would keep the compiler from vectorizing
// the loops below.
float f32_of(std::uint32_t bits) {
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return std::bit_cast<float>(nan ? 0x7fc00000u : bits);
}

float bf16_of(std::uint16_t bits) { return f32_of(static_cast<std::uint32_t>(bits) << 16); }

float tf32_of(std::uint32_t bits) { return f32_of(bits & 0xffffe000u); }

double f64_of(std::uint64_t bits) {
  const double value = std::bit_cast<double>(bits);
  return value == value ? value : kQuietNan;
}

// The values of all 256 codes of an 8-bit format.
template <typename Value>
struct ByteTables {
  static constexpr std::size_t kFormats = static_cast<std::size_t>(FormatId::s64) + 1;
  std::array<std::array<Value, 256>, kFormats> values{};

  ByteTables() {
    for (const Format& row : all_formats()) {
      if (row.storage_bits != 8) continue;
      for (std::size_t code = 0; code < 256; ++code) {
        values[static_cast<std::size_t>(row.id)][code] =
            static_cast<Value>(value_of(decode(row, code)));
      }
    }
  }
};

template <typename Value>
const std::array<Value, 256>& byte_table(FormatId id) {
  static const ByteTables<Value> tables;
  return tables.values[static_cast<std::size_t>(id)];
}

// The values of all f16 codes. Its subnormals and its top exponent make arithmetic on the fields
// slower than a table.
const std::vector<float>& half_table() {
  static const std::vector<float> table = [] {
    const Format& f16 = format(FormatId::f16);
    std::vector<float> values(65536);
    for (std::size_t code = 0; code < values.size(); ++code) {
      values[code] = static_cast<float>(value_of(decode(f16, code)));
    }
    return values;
  }();
  return table;
}

// Applies convert to each stored element; the storage need not be aligned.
template <typename Stored, typename Value, typename Convert>
void convert_all(const void* bits, std::int64_t count, Value* out, Convert convert) {
  const auto* bytes = static_cast<const std::byte*>(bits);
  for (std::int64_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, bytes + i * static_cast<std::int64_t>(sizeof(Stored)), sizeof(Stored));
    out[i] = static_cast<Value>(convert(stored));
  }
}

template <typename Value>
void convert_all(const Format& format, const void* bits, std::int64_t count, Value* out) {
  switch (format.id) {
    case FormatId::e2m1:
    case FormatId::e2m3:
    case FormatId::e3m2:
    case FormatId::e4m3:
    case FormatId::e5m2:
    case FormatId::ue8m0:
    case FormatId::s8:
    case FormatId::u8: {
      const std::array<Value, 256>& table = byte_table<Value>(format.id);
      return convert_all<std::uint8_t>(bits, count, out,
                                       [&table](std::uint8_t code) { return table[code]; });
    }
    case FormatId::f16: {
      const float* table = half_table().data();
      return convert_all<std::uint16_t>(bits, count, out,
                                        [table](std::uint16_t code) { return table[code]; });
    }
    case FormatId::bf16:
      return convert_all<std::uint16_t>(bits, count, out, bf16_of);
    case FormatId::tf32:
      return convert_all<std::uint32_t>(bits, count, out, tf32_of);
    case FormatId::f32:
      return convert_all<std::uint32_t>(bits, count, out, f32_of);
    case FormatId::f64:
      return convert_all<std::uint64_t>(bits, count, out, f64_of);
    case FormatId::s32:
      return convert_all<std::int32_t>(bits, count, out, [](std::int32_t value) { return value; });
    case FormatId::s64:
      return convert_all<std::int64_t>(bits, count, out, [](std::int64_t value) { return value; });
  }
}

}  // namespace

Decoded decode(const Format& format, std::uint64_t bits) {
  const int magnitude_bits = format.exponent_bits + format.mantissa_bits;
  const std::uint64_t one = 1;
  std::uint64_t code = bits >> format.padding_bits;
  if (format.code_bits() < 64) code &= (one << format.code_bits()) - 1;
  if (format.is_integer) return decode_integer(format, code);

  const bool negative = format.has_sign && (code >> magnitude_bits) != 0;
  const std::uint64_t mantissa = code & ((one << format.mantissa_bits) - 1);
  const std::uint64_t top_field = (one << format.exponent_bits) - 1;
  const std::uint64_t field = (code >> format.mantissa_bits) & top_field;
  switch (format.specials) {
    case Specials::none:
      break;
    case Specials::ieee:
      if (field != top_field) break;
      return {mantissa == 0 ? ValueClass::infinite : ValueClass::nan, negative, 0, 0};
    case Specials::nan_only:
      if (field != top_field || mantissa != (one << format.mantissa_bits) - 1) break;
      return {ValueClass::nan, negative, 0, 0};
    case Specials::scale_nan:
      if (field == top_field) return {ValueClass::nan, false, 0, 0};
      return {ValueClass::finite, false, 1, static_cast<int>(field) - format.bias};
  }
  const int lowest = format.emin() - format.mantissa_bits;
  if (field != 0) {
    return {ValueClass::finite, negative, mantissa | (one << format.mantissa_bits),
            lowest + static_cast<int>(field) - 1};
  }
  if (mantissa != 0) return {ValueClass::finite, negative, mantissa, lowest};
  return {ValueClass::zero, negative, 0, 0};
}

double to_double(const Format& format, std::uint64_t bits) {
  if (format.storage_bits == 8) return byte_table<double>(format.id)[bits & 0xff];
  switch (format.id) {
    case FormatId::f16:
      return half_table()[bits & 0xffff];
    case FormatId::bf16:
      return bf16_of(static_cast<std::uint16_t>(bits));
    case FormatId::tf32:
      return tf32_of(static_cast<std::uint32_t>(bits));
    case FormatId::f32:
      return f32_of(static_cast<std::uint32_t>(bits));
    case FormatId::f64:
      return f64_of(bits);
    case FormatId::s32:
      return static_cast<std::int32_t>(bits);
    case FormatId::s64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    default:
      return value_of(decode(format, bits));
  }
}

void to_double(const Format& format, const void* bits, std::int64_t count, double* out) {
  convert_all(format, bits, count, out);
}

void to_float(const Format& format, const void* bits, std::int64_t count, float* out) {
  PLUMB_ASSERT(format.precision() <= 24);
  convert_all(format, bits, count, out);
}

}  // namespace plumbline
