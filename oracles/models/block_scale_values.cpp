// SPDX-License-Identifier: MIT
#include "oracles/models/block_scale_values.h"

#include <array>

#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

struct Scale {
  double value = 0;
  std::int32_t exponent = BlockScaleValues::kNoExponent;
  bool is_nan = false;
};

// By code; ue4m3 is e4m3 whose sign is ignored.
std::array<Scale, 256> scales_of(FormatId id) {
  const Format& f = format(id);
  std::array<Scale, 256> scales;
  for (std::uint32_t code = 0; code < 256; ++code) {
    const std::uint32_t without_sign = f.has_sign ? code & 0x7f : code;
    const Decoded decoded = decode(f, without_sign);
    scales[code].is_nan = decoded.cls == ValueClass::nan;
    if (decoded.cls == ValueClass::finite)
      scales[code] = {to_double(f, without_sign), decoded.exponent + f.mantissa_bits};
  }
  return scales;
}

}  // namespace

BlockScaleValues::BlockScaleValues(const MmaKind& kind, const MmaScales& scales) {
  static const std::array<Scale, 256> kUe8m0 = scales_of(FormatId::ue8m0),
                                      kUe4m3 = scales_of(FormatId::e4m3);
  const auto& codes = kind.scale.format == FormatId::ue8m0 ? kUe8m0 : kUe4m3;
  const auto scale = [&](const MmaScales::Operand& from, int lane, int block) -> const Scale& {
    return codes[(*from.word)[lane] >> (8 * (from.byte + block)) & 0xff];
  };
  for (int block = 0; block < kind.shape.k / kind.scale.block; ++block) {
    for (int row = 0; row < kMmaRows; ++row) {
      const Scale& from = scale(scales.a, 4 * (row % 8) + 2 * scales.a.thread + row / 8, block);
      rows[block][row] = from.value;
      row_exponents[block][row] = from.exponent;
      nan_rows |= static_cast<std::uint32_t>(from.is_nan) << row;
    }
    for (int column = 0; column < kMmaColumns; ++column) {
      const Scale& from = scale(scales.b, 4 * column + scales.b.thread, block);
      columns[block][column] = from.value;
      column_exponents[block][column] = from.exponent;
      nan_columns |= static_cast<std::uint32_t>(from.is_nan) << column;
    }
  }
}

}  // namespace plumbline
