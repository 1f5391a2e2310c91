// SPDX-License-Identifier: MIT
// How far off approximate instructions may be, as PTX documents it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "harness/scan/instruction.h"

namespace plumbline {

enum class ErrorMeasure : std::uint8_t {
  ulp,       // over the ulp of the exact result (oracles/formats/ulp.h)
  relative,  // over the exact result, or the smallest normal number where it is smaller
  absolute,
};

std::string_view name(ErrorMeasure measure);

// Of inputs with a magnitude from `least` to `most`; of division it is the divisor's.
struct ErrorLimit {
  ScanFunction function;
  FormatId format;
  ErrorMeasure measure;
  double limit;
  double least, most;
  bool positive_only;
  std::string_view words;  // "2.5 ulp (2 ulp from the rounded result)"
};

// Those of an instruction; none where it rounds correctly.
std::vector<const ErrorLimit*> error_limits(const ScanInstruction& instruction);

}  // namespace plumbline
