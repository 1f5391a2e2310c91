// SPDX-License-Identifier: MIT
// Every shipped kernel on its quick plan, with every relation that binds a case: a conforming
// kernel keeps them all. A relation that is broken here would be a false alarm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "fuzz/plan/plan.h"
#include "harness/launch/interrupt.h"
#include "harness/launch/launch.h"
#include "harness/launch/target.h"
#include "harness/relations/relations.h"
#include "kernels/registry.h"
#include "oracles/formats/decode.h"
#include "tests/folders.h"

namespace plumbline {
namespace {

constexpr double kMostWork = 4e6;
constexpr std::size_t kOneIn = 5;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class ShippedKernels : public testing::TestWithParam<std::string> {
 protected:
  // What an output of the related run is, where it does not follow.
  static std::string broken(const Relation& relation, const RelatedRun& run,
                            const CaseTensors& first) {
    for (const Follow& follow : run.outputs) {
      const Tensor &before = *first.find(follow.output), &after = *run.tensors.find(follow.output);
      for (std::int64_t at = 0; at < after.layout.count(); ++at) {
        if (follows(follow, before, at, after.bits(at))) continue;
        const std::int64_t from = follow.source ? follow.source(at) : at;
        return fmt::format("{}: {}[{}] is {:#x}, was {:#x} at {}", relation.id, follow.output, at,
                           after.bits(at), before.bits(from), from);
      }
    }
    return {};
  }
};

TEST_P(ShippedKernels, KeepEveryRelation) {
  const std::string name = GetParam();
  const Result<Manifest> kernel =
      read_manifest(fmt::format("{0}/kernels/shipped/{1}/{1}.toml", PLUMBLINE_BINARY_DIR, name));
  ASSERT_TRUE(kernel) << kernel.error().text();
  const std::vector<Relation> relations = relations_of(*kernel->operation);
  if (relations.empty() || !kernel->deterministic()) GTEST_SKIP() << "no relations";
  const int sm = kernel->targets.back();
  const Result<std::unique_ptr<Device>> device =
      open_device(Target{.sm = sm, .gpu_name = ""}, 1, interrupt_flag());
  ASSERT_TRUE(device) << device.error().text();
  const std::string path = kernel->ptx_path(sm);
  const Result<std::unique_ptr<Module>> module = (*device)->load(text_of(path), path);
  ASSERT_TRUE(module) << module.error().text();
  std::set<std::string_view> runs;
  const std::vector<Case> plan = plan_cases(*kernel, {.profile = Profile::quick, .seed = 1});
  for (std::size_t i = 0; i < plan.size(); i += kOneIn) {
    const Case& test_case = plan[i];
    if (kernel->operation->work(test_case.problem) > kMostWork) continue;
    Result<CaseTensors> tensors = materialize(test_case);
    ASSERT_TRUE(tensors) << tensors.error().text();
    const Result<LaunchResult> first = launch_case(test_case, *tensors, **device, **module);
    ASSERT_TRUE(first) << first.error().text();
    for (const Relation& relation : relations) {
      std::optional<RelatedRun> run = relation.make(test_case, *tensors);
      if (!run) continue;
      runs.insert(relation.id);
      const Result<LaunchResult> second =
          launch_case(run->test_case, run->tensors, **device, **module);
      ASSERT_TRUE(second) << relation.id << " " << test_case.text() << second.error().text();
      EXPECT_TRUE(second->completed && second->findings.empty())
          << relation.id << " " << test_case.text();
      EXPECT_EQ(broken(relation, *run, *tensors), "") << test_case.text();
    }
  }
  EXPECT_FALSE(runs.empty());
}

std::vector<std::string> names() {
  const Result<Registry> registry = Registry::open(PLUMBLINE_SOURCE_DIR "/kernels");
  std::vector<std::string> found;
  if (registry)
    for (const Manifest& kernel : registry->all()) found.push_back(kernel.name);
  return found;
}

INSTANTIATE_TEST_SUITE_P(Relations, ShippedKernels, testing::ValuesIn(names()),
                         [](const auto& kernel) { return kernel.param; });

}  // namespace
}  // namespace plumbline
