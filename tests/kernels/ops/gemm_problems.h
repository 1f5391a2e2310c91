// SPDX-License-Identifier: MIT
// Problems of the shipped operations for tests: from text, and arbitrary ones of any schema.
#pragma once

#include "kernels/manifest/kernel_schema.h"
#include "kernels/manifest/operation.h"
#include "kernels/manifest/problem.h"

#include <gtest/gtest.h>

#include <memory>

namespace plumbline {

inline Problem gemm(std::string_view text) {
  Result<Problem> problem = parse_problem(find_operation("gemm")->schema(), text);
  EXPECT_TRUE(problem.ok()) << problem.error().text();
  return problem.ok() ? *problem : Problem(find_operation("gemm")->schema());
}

// The schema of a kernel that has all its operation offers.
inline std::shared_ptr<const KernelSchema> every_field(const Operation& operation) {
  auto schema = std::make_shared<KernelSchema>(operation);
  for (const Field& field : operation.schema()) {
    if (field.kind == FieldKind::word) {
      schema->allow(field.name, {field.choices.begin(), field.choices.end()});
    } else {
      schema->free(field.name);
    }
  }
  return schema;
}

}  // namespace plumbline
