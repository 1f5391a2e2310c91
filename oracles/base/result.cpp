// SPDX-License-Identifier: MIT
#include "oracles/base/result.h"

namespace plumbline {

std::string Error::text() const {
  std::string out = where.empty() ? message : where + ": " + message;
  if (!hint.empty()) out += " (" + hint + ")";
  return out;
}

}  // namespace plumbline
