// SPDX-License-Identifier: MIT
// The simple faults that would give what a kernel stored.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

struct NamedFaults {
  std::vector<std::string> names;  // the most telling first
  // What the right computation would give as well, up to roundings: no fault is named then.
  bool close_to_right = false;

  // What to say where none is named.
  const char* none() const {
    return close_to_right ? "as a whole this is close to right: no simple fault is this small"
                          : "none of the simple faults known here fits";
  }
};

}  // namespace plumbline
