// SPDX-License-Identifier: MIT
// What an instruction should give: the real number that its operands ask for, and which results are
// that number rounded.
#pragma once

#include <cstdint>

#include "harness/scan/instruction.h"
#include "oracles/exact/real.h"

namespace plumbline {

using ScanReal = RealOf<256>;

// An operand as the instruction sees it: decoded, and with .ftz a subnormal number as zero.
double operand_value(const ScanInstruction& instruction, std::uint64_t bits);

// The number that operands ask for (`b` of division), before it is rounded to the result's format:
// NaN, infinities and signed zeros as IEEE 754 has them, else within 2^-51 of it, and of
// conversions itself.
double due_value(const ScanInstruction& instruction, double a, double b);

// The same of a function, for finite numbers that are not 0, by MPFR.
ScanReal due_real(const ScanInstruction& instruction, double a, double b);

// What a register holds of an integer result: of 8 bits extended to 32.
std::uint64_t due_integer(const ScanInstruction& instruction, std::uint64_t bits);

// Magnitudes that round to the code of a float. An end belongs to them or not.
struct RoundingInterval {
  double low = 0, high = 0;
  bool has_low = true, has_high = true;

  template <typename Number>
  bool holds(const Number& magnitude) const {
    return (has_low ? magnitude >= low : magnitude > low) &&
           (has_high ? magnitude <= high : magnitude < high);
  }
};

// `code` is without its sign, and no NaN; `negative` says which way .rm and .rp go.
RoundingInterval rounds_to(const ScanInstruction& instruction, std::uint64_t code, bool negative);

}  // namespace plumbline
