// SPDX-License-Identifier: MIT
// The task that a submission of `plumbline judge` is held against.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <toml++/toml.h>

namespace plumbline {

// A manifest without its kernel, and the text that says what it computes where there is one.
struct Task {
  std::string name;     // what the kernel is called
  toml::table table{};  // the manifest
  std::vector<int> targets{};
  std::string text_name{}, text{};
};

// A file that a stage is given: its name and its text.
using NamedText = std::pair<std::string, std::string>;

inline std::string text_of(const toml::table& table) {
  std::ostringstream written;
  written << table << '\n';
  return written.str();
}

}  // namespace plumbline
