// SPDX-License-Identifier: MIT
// Problems of the shipped operations for tests: from text, and arbitrary ones of any schema.
#pragma once

#include "kernels/operation.h"
#include "kernels/problem.h"

#include <gtest/gtest.h>

namespace plumbline {

inline Problem gemm(std::string_view text) {
  Result<Problem> problem = parse_problem(find_operation("gemm")->schema(), text);
  EXPECT_TRUE(problem.ok()) << problem.error().text();
  return problem.ok() ? *problem : Problem(find_operation("gemm")->schema());
}

}  // namespace plumbline
