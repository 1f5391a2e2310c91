// SPDX-License-Identifier: MIT
// One conversion of one value, any type to any type: decoded exactly, rounded once. The forms of
// cvt that are not worth vector code run through here.
#pragma once

#include <cstdint>

#include "harness/emulator/decode/types.h"
#include "oracles/base/random.h"

namespace plumbline::emulator {

// How cvt rounds: to a float format (rn rz rm rp rna), or first to an integral value (rni rzi rmi
// rpi).
enum class ConvertRounding : std::uint8_t { none, rn, rz, rm, rp, rna, rni, rzi, rmi, rpi };

struct Conversion {
  Type to = Type::none;
  Type from = Type::none;  // scalars; pairs are two of them
  ConvertRounding rounding = ConvertRounding::none;
  bool ftz = false;
  bool sat = false;
  bool satfinite = false;
  bool relu = false;
};

// Bits of `from` to bits of `to`. Signed integer results are extended to 64 bits.
std::uint64_t convert(const Conversion& how, std::uint64_t bits);

// The same, the rounding to a float format of at most 24 bits moved at random
// (oracles/formats/random_rounding.h). What becomes an integer, or an integral value, is not moved.
std::uint64_t convert_randomly(const Conversion& how, std::uint64_t bits, Random& random);

}  // namespace plumbline::emulator
