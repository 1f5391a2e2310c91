// SPDX-License-Identifier: MIT
// Small PTX modules for tests: only the body of a kernel varies, and it begins at line 5, column 1.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "harness/emulator/frontend/module.h"

namespace plumbline::emulator::test {

inline constexpr std::string_view kHeader = ".version 9.0\n.target sm_80\n.address_size 64\n";

inline std::string kernel(std::string_view body) {
  return std::string(kHeader) + ".visible .entry k(.param .u64 p) {\n" + std::string(body) +
         "\n}\n";
}

// The module of a text that must parse.
inline PtxModule parsed(std::string_view text) {
  auto module = parse_ptx(text, "t.ptx");
  if (!module) {
    ADD_FAILURE() << module.error().text();
    return {};
  }
  return std::move(*module);
}

// The kernel with this body; it must parse.
inline Function body(std::string_view statements) {
  PtxModule module = parsed(kernel(statements));
  if (module.functions.empty()) return {};
  return std::move(module.functions.back());
}

// The error text of a module that must not parse.
inline std::string error_of(std::string_view text) {
  const auto module = parse_ptx(text, "t.ptx");
  return module ? "no error" : module.error().text();
}

}  // namespace plumbline::emulator::test
