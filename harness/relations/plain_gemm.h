// SPDX-License-Identifier: MIT
// A GEMM case, for what is known of GEMMs whatever their inputs: relations and tests of many
// errors.
#pragma once

#include <cstdint>
#include <string_view>

#include "fuzz/case/case.h"

namespace plumbline {

struct PlainGemm {
  const Case& test_case;
  const Problem& problem;
  const Manifest& kernel;
  const Contract contract;

  explicit PlainGemm(const Case& original)
      : test_case(original),
        problem(original.problem),
        kernel(*original.kernel),
        contract(kernel.contract(problem, "d")) {}

  std::int64_t size(std::string_view field) const { return problem.integer(field); }

  bool is(std::string_view field, std::string_view word) const {
    return problem.word(field) == word;
  }

  bool floating() const { return contract.unit != Unit::int32; }

  // Nothing is added to the sum, so that D is odd and linear in it up to rounding.
  bool pure_product() const {
    return is("bias", "none") && is("act", "none") && problem.real("beta") == 0 &&
           size("zero_a") == 0 && size("zero_b") == 0 && size("zero_d") == 0;
  }
};

}  // namespace plumbline
