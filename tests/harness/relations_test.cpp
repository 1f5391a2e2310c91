// SPDX-License-Identifier: MIT
// Relations: that each is asked of some planned case, that conforming kernels keep them, and that
// faults which no bound shows break them.
#include "harness/relations.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "fuzz/plan.h"
#include "kernels/registry.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

using ::testing::IsEmpty;

// Few of the planned cases bind some relations; materializing the large ones takes long.
constexpr double kMostWork = 1e6;

std::string name(const Relation& relation, const Operation& operation) {
  return fmt::format("{} {}", operation.name(), relation.id);
}

// A relation that no planned case is ever asked about checks nothing.
TEST(Relations, EachBindsAPlannedQuickCase) {
  const Result<Registry> registry = Registry::open(PLUMBLINE_SOURCE_DIR "/kernels");
  ASSERT_TRUE(registry) << registry.error().text();
  std::map<std::string, Relation> unbound;
  for (const Operation* operation : all_operations())
    for (const Relation& relation : relations_of(*operation))
      EXPECT_TRUE(unbound.emplace(name(relation, *operation), relation).second)
          << "two relations are called " << name(relation, *operation);
  for (const Manifest& kernel : registry->all()) {
    if (!kernel.deterministic()) continue;
    for (const Case& test_case : plan_cases(kernel, {.profile = Profile::quick, .seed = 1})) {
      if (kernel.operation->work(test_case.problem) > kMostWork) continue;
      std::optional<CaseTensors> tensors;
      for (const Relation& relation : relations_of(*kernel.operation)) {
        const auto found = unbound.find(name(relation, *kernel.operation));
        if (found == unbound.end()) continue;
        if (!tensors) {
          Result<CaseTensors> inputs = materialize(test_case);
          ASSERT_TRUE(inputs) << inputs.error().text();
          tensors = *std::move(inputs);
        }
        const std::optional<RelatedRun> run = relation.make(test_case, *tensors);
        if (run && !run->outputs.empty()) unbound.erase(found);
      }
    }
  }
  std::vector<std::string> dead;
  for (const auto& [id, relation] : unbound) dead.push_back(id);
  EXPECT_THAT(dead, IsEmpty());
}

}  // namespace
}  // namespace plumbline
