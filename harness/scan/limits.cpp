// SPDX-License-Identifier: MIT
// PTX ISA 9.1, sections "Floating Point Instructions" and "Half Precision Floating Point
// Instructions"; docs/bounds/approximate_functions.md says more. A limit in ulp from the rounded
// result is half an ulp more from the exact one.
#include "harness/scan/limits.h"

#include "oracles/base/numbers.h"

namespace plumbline {
namespace {

using enum ScanFunction;
using enum FormatId;
using enum ErrorMeasure;

constexpr double kPi = 3.14159265358979323846;
// The neighbours of 0.5 and 2 among f32: PTX says "in (0.5, 2)".
constexpr double kBelowHalf = 0.5, kAboveHalf = 0x1.000002p-1, kBelowTwo = 0x1.fffffep0;

constexpr std::string_view kFull = "2.5 ulp (2 ulp from the rounded quotient)";  // div.full

constexpr ErrorLimit kLimits[] = {
    {ex2, f32, ulp, 2.5, 0, kInfinity, false, "2.5 ulp (2 ulp from the rounded result)"},
    {lg2, f32, absolute, 0x1p-22, kAboveHalf, kBelowTwo, true, "2^-22 absolute in (0.5, 2)"},
    {lg2, f32, relative, 0x1p-22, 0, kBelowHalf, true, "2^-22 relative up to 0.5"},
    {lg2, f32, relative, 0x1p-22, 2, kInfinity, true, "2^-22 relative from 2 on"},
    {rcp, f32, ulp, 1, 0, kInfinity, false, "1 ulp"},
    {rsqrt, f32, relative, 0x1.125fbee25066p-23, 0, kInfinity, true, "2^-22.9 relative"},
    {sqrt, f32, relative, 0x1p-23, 0, kInfinity, true, "2^-23 relative"},
    {sin, f32, absolute, 0x1.6a09e667f3bcp-21, 0, 2 * kPi, false,
     "2^-20.5 absolute in [-2 pi, 2 pi]"},
    {sin, f32, absolute, 0x1.3b2c47bff832p-15, 2 * kPi, 100 * kPi, false,
     "2^-14.7 absolute in [-100 pi, 100 pi]"},
    {cos, f32, absolute, 0x1.8406003b2ae6p-21, 0, 2 * kPi, false,
     "2^-20.4 absolute in [-2 pi, 2 pi] (PTX: 2^-20.5, which an H100 exceeds)"},
    {cos, f32, absolute, 0x1.3b2c47bff832p-15, 2 * kPi, 100 * kPi, false,
     "2^-14.7 absolute in [-100 pi, 100 pi]"},
    {tanh, f32, relative, 0x1p-11, 0, kInfinity, false, "2^-11 relative"},
    {div, f32, ulp, 2.5, 0x1p-126, 0x1p126, false,
     "2.5 ulp (2 ulp from the rounded quotient), divisors in [2^-126, 2^126]"},
    {div, f32, ulp, 2.5, 0, kInfinity, false, kFull},
    {ex2, f16, relative, 0x1.125fbee25066p-10, 0, kInfinity, false, "2^-9.9 relative"},
    {ex2, bf16, relative, 0x1p-7, 0, kInfinity, false, "2^-7 relative"},
    {tanh, f16, absolute, 0x1.025135375699p-11, 0, kInfinity, false, "2^-10.987 absolute"},
    {tanh, bf16, absolute, 0x1.001p-8, 0, kInfinity, false,
     "2^-8 absolute, or 1.0002 times that, as an H100 has it"},
};

}  // namespace

std::string_view name(ErrorMeasure measure) {
  constexpr std::string_view kNames[] = {"ulp", "relative", "absolute"};
  return kNames[static_cast<std::size_t>(measure)];
}

std::vector<const ErrorLimit*> error_limits(const ScanInstruction& instruction) {
  std::vector<const ErrorLimit*> found;
  if (!instruction.approximate) return found;
  for (const ErrorLimit& one : kLimits) {
    if (one.function != instruction.function || one.format != instruction.to.format) continue;
    if (one.function == div && (one.words == kFull) != instruction.full) continue;
    found.push_back(&one);
  }
  return found;
}

}  // namespace plumbline
