// SPDX-License-Identifier: MIT
#include "reports/count_text.h"

#include <fmt/format.h>

#include <cmath>

namespace plumbline {

std::string count_text(std::int64_t count) {
  std::string text = fmt::format("{}", count);
  for (std::size_t at = text.size(); at > 3 + (count < 0 ? 1u : 0u);) text.insert(at -= 3, 1, ',');
  return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : "s");
}

std::string ulp_number(double ulp) {
  if (std::isnan(ulp)) return "–";
  if (std::isinf(ulp)) return "∞";
  return ulp == 0 ? "0" : fmt::format("{:.3g}", ulp);
}

}  // namespace plumbline
