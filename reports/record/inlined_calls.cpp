// SPDX-License-Identifier: MIT
#include "reports/record/inlined_calls.h"

#include <algorithm>
#include <string_view>

namespace plumbline {

std::vector<std::string> calls_of(const std::string& inlined_at) {
  constexpr std::string_view kBetween = ", inlined at ";
  std::vector<std::string> calls;
  for (std::size_t at = 0; at < inlined_at.size();) {
    const std::size_t end = std::min(inlined_at.find(kBetween, at), inlined_at.size());
    calls.push_back(inlined_at.substr(at, end - at));
    at = end + kBetween.size();
  }
  return calls;
}

}  // namespace plumbline
