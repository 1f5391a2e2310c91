// SPDX-License-Identifier: MIT
#include "oracles/reference/error_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oracles/formats/decode.h"

namespace plumbline {

double largest_admissible(const Format& f, const ElementVerdict& verdict) {
  return std::max(std::fabs(to_double(f, verdict.low)), std::fabs(to_double(f, verdict.high)));
}

std::string error_words(const Format& f, const ElementVerdict& verdict) {
  if (verdict.exact == 0) {
    return fmt::format("error {:+.4g}; an admissible output is at most {:.4g} away",
                       to_double(f, verdict.got), largest_admissible(f, verdict));
  }
  return fmt::format("error {:+.4g} ulp of {}; an admissible output is at most {:.4g} ulp away",
                     verdict.error_ulp, f.name, verdict.bound_ulp);
}

}  // namespace plumbline
