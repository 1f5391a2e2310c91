// SPDX-License-Identifier: MIT
#include "oracles/reference/describe_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

std::string number_text(double x, int digits) {
  if (std::isnan(x)) return "NaN";
  return digits > 0 ? fmt::format("{:.{}g}", x, digits) : fmt::format("{}", x);
}

std::string code_text(const Format& f, std::uint64_t code) {
  return fmt::format("{} (0x{:0{}x})", number_text(to_double(f, code)), code, f.storage_bits / 4);
}

std::string describe_range(const F32Range& range) {
  if (!range.has_numbers()) return "NaN";
  std::string text = range.is_point() ? fmt::format("{:.9g} and no other", range.low)
                                      : fmt::format("from {:.9g} to {:.9g}", range.low, range.high);
  if (range.nan) text += ", or NaN";
  return text;
}

std::string describe_result(const std::string& place, const Format& f,
                            const ElementVerdict& verdict) {
  return fmt::format("{}: got {}; the exact result is {}, {} {}", place, code_text(f, verdict.got),
                     number_text(verdict.exact),
                     is_rounded(f, verdict.exact, verdict.expected)
                         ? "which rounds to"
                         : "of which the contract's steps make",
                     code_text(f, verdict.expected));
}

bool is_rounded(const Format& f, double exact, std::uint64_t code) {
  if (std::isnan(exact)) return true;
  const double stored = to_double(f, code);
  return stored == to_double(f, encode(f, exact)) ||
         stored == to_double(f, encode(f, exact, {.overflow = Overflow::saturate}));
}

std::string describe_range(const Format& f, const ElementVerdict& verdict) {
  return fmt::format("admissible under the contract: {} to {}", code_text(f, verdict.low),
                     code_text(f, verdict.high));
}

double largest_admissible(const Format& f, const ElementVerdict& verdict) {
  return std::max(std::fabs(to_double(f, verdict.low)), std::fabs(to_double(f, verdict.high)));
}

std::string describe_error(const Format& f, const ElementVerdict& verdict) {
  if (verdict.exact == 0) {
    return fmt::format("error {:+.4g}; an admissible output is at most {:.4g} away",
                       to_double(f, verdict.got), largest_admissible(f, verdict));
  }
  return fmt::format("error {:+.4g} ulp of {}; an admissible output is at most {:.4g} ulp away",
                     verdict.error_ulp, f.name, verdict.bound_ulp);
}

}  // namespace plumbline
