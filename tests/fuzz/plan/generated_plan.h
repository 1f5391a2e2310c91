// SPDX-License-Identifier: MIT
// What every generator must give, checked on the quick plan of a small manifest.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fuzz/case/generator.h"
#include "fuzz/case/literal.h"
#include "fuzz/case/values.h"
#include "fuzz/plan/plan.h"
#include "oracles/base/assert.h"
#include "oracles/formats/decode.h"

namespace plumbline {

inline Manifest manifest_of(std::string_view text, const std::string& kernel) {
  Result<Manifest> manifest = parse_manifest(text, kernel + ".toml");
  if (!manifest) ADD_FAILURE() << manifest.error().text();
  PLUMB_ASSERT(manifest.ok());
  return std::move(*manifest);
}

inline CaseTensors filled(const Case& test_case) {
  Result<CaseTensors> tensors = materialize(test_case);
  if (!tensors) ADD_FAILURE() << test_case.text() << ": " << tensors.error().text();
  PLUMB_ASSERT(tensors.ok());
  return std::move(*tensors);
}

inline Case case_with(const Manifest& manifest, const std::string& problem,
                      const std::string& value_class, std::uint64_t seed = 1) {
  Result<Problem> parsed = parse_problem(manifest.schema(), problem);
  if (!parsed) ADD_FAILURE() << parsed.error().text();
  PLUMB_ASSERT(parsed.ok());
  Case test_case;
  test_case.kernel = &manifest;
  test_case.problem = *parsed;
  test_case.recipe = {value_class, seed};
  return test_case;
}

// Of a matrix [rows, columns] or a vector.
inline double element_of(const Tensor& tensor, std::int64_t index) {
  return to_double(format(tensor.layout.format), tensor.bits(index));
}

inline std::uint64_t bits_of(const Case& test_case) {
  const Result<Case> frozen = freeze(test_case);
  PLUMB_ASSERT(frozen.ok());
  return literal_fingerprint(frozen->literals);
}

// Every case materializes, twice with the same bits; every class is reached; every designed case
// that names its classes names some that exist.
inline void check_plan(const Manifest& manifest) {
  const Generator& generator = generator_of(*manifest.operation);
  std::set<std::string> shapes, layouts, values;
  std::set<std::string_view> known_shapes, known_layouts;
  for (const ClassInfo& info : generator.shape_classes()) known_shapes.insert(info.name);
  for (const ClassInfo& info : generator.layout_classes()) known_layouts.insert(info.name);
  const std::vector<Case> plan = plan_cases(manifest, {Profile::quick, 1});
  EXPECT_GE(plan.size(), 300u);
  EXPECT_LE(plan.size(), 750u);
  for (const Case& test_case : plan) {
    EXPECT_TRUE(materialize(test_case).ok()) << test_case.text();
    EXPECT_TRUE(known_shapes.contains(test_case.shape_class)) << test_case.text();
    EXPECT_TRUE(known_layouts.contains(test_case.layout_class)) << test_case.text();
    if (test_case.origin != "planned") continue;
    shapes.insert(test_case.shape_class);
    layouts.insert(test_case.layout_class);
    values.insert(test_case.recipe.value_class);
  }
  EXPECT_EQ(shapes.size(), known_shapes.size());
  EXPECT_EQ(layouts.size(), known_layouts.size());
  EXPECT_EQ(values.size(), generator.value_classes().size());
  for (const std::string_view name : generator.value_classes()) {
    EXPECT_NE(find_value_class(name), nullptr) << name;
  }
}

inline void check_bits_repeat(const Manifest& manifest) {
  const std::vector<Case> plan = plan_cases(manifest, {Profile::quick, 1});
  const std::vector<Case> again = plan_cases(manifest, {Profile::quick, 1});
  ASSERT_EQ(plan.size(), again.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    ASSERT_EQ(plan[i].text(), again[i].text());
    if (i % 7 != 0) continue;
    EXPECT_EQ(bits_of(plan[i]), bits_of(again[i])) << plan[i].text();
  }
}

// Designed cases that this manifest turns away are typing mistakes, unless it lacks their words.
inline void check_designed(const Manifest& manifest) {
  for (const DesignedCase& designed : generator_of(*manifest.operation).designed(manifest)) {
    const Result<Problem> problem = parse_problem(manifest.schema(), designed.problem);
    EXPECT_TRUE(problem.ok()) << designed.problem << ": " << problem.error().text();
    EXPECT_TRUE(has_value_class(*manifest.operation, designed.value_class)) << designed.value_class;
    EXPECT_GE(designed.purpose.size(), 10u) << designed.problem;
  }
}

}  // namespace plumbline
