// SPDX-License-Identifier: MIT
// The list that a designer of cases writes: what each operation's designed.cpp has in common.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/case/generator.h"

namespace plumbline {

class DesignedCases {
 public:
  std::vector<DesignedCase> take() { return std::move(cases_); }

 protected:
  void put(std::string problem, std::string_view value, std::string_view shape,
           std::string_view layout, std::string_view purpose) {
    cases_.push_back({std::move(problem), std::string(value), std::string(shape),
                      std::string(layout), std::string(purpose)});
  }

 private:
  std::vector<DesignedCase> cases_;
};

}  // namespace plumbline
