// SPDX-License-Identifier: MIT
// --only 'class=cancelling k>512': a filter on the words of a case: value class, shape class,
// layout class, origin, and the problem's fields with = != < <= > >=. All terms must hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/case/case.h"
#include "oracles/base/result.h"

namespace plumbline {

class Filter {
 public:
  // An unknown word is an error that names the known ones, and so is a class or a word of a field
  // that no case of these kernels' operations can have.
  static Result<Filter> parse(std::string_view text, const std::vector<const Manifest*>& kernels);
  bool holds(const Case& test_case) const;

 private:
  struct Term {
    std::string key, comparison, value;
  };

  std::vector<Term> terms_;
};

}  // namespace plumbline
