// SPDX-License-Identifier: MIT
// The error this room makes: something a person wrote in a manifest, a problem or on the command
// line is wrong.
#pragma once

#include <string>
#include <utility>

#include "oracles/base/result.h"

namespace plumbline {

inline Error bad_input(std::string message, std::string hint = {}, std::string where = {}) {
  return {ErrorKind::bad_input, std::move(message), std::move(where), std::move(hint)};
}

}  // namespace plumbline
