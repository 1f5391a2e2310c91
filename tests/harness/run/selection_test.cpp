// SPDX-License-Identifier: MIT
// --only, --shard and how targets are chosen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/launch/target.h"
#include "harness/run/filter.h"
#include "harness/run/shard.h"
#include "kernels/manifest/operation.h"
#include "tests/folders.h"
#include "tests/kernels/ops/gemm_problems.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

struct Selection : testing::Test {
  Manifest manifest;
  Case test_case;

  void SetUp() override {
    manifest.name = "k";
    manifest.operation = find_operation("gemm");
    manifest.targets = {80, 90};
    test_case.kernel = &manifest;
    manifest.own_schema = every_field(*manifest.operation);
    test_case.problem = Problem(manifest.schema());
    test_case.problem.set_integer("m", 64);
    test_case.problem.set_integer("n", 8);
    test_case.problem.set_integer("k", 1031);
    test_case.recipe.value_class = "cancelling";
  }

  bool holds(std::string_view text) const {
    const Result<Filter> filter = Filter::parse(text, {&manifest});
    EXPECT_TRUE(filter) << text;
    return filter && filter->holds(test_case);
  }

  std::string error(std::string_view text) const {
    const Result<Filter> filter = Filter::parse(text, {&manifest});
    EXPECT_FALSE(filter) << text;
    return filter ? "" : filter.error().text();
  }
};

TEST_F(Selection, AllTermsOfAFilterMustHold) {
  EXPECT_TRUE(holds("class=cancelling k>512"));
  EXPECT_FALSE(holds("class=cancelling k>2000"));
  EXPECT_TRUE(holds("value=cancelling k>512"));
  EXPECT_TRUE(holds("layout=nn m>=64 m<=64 n!=9 alpha=1"));
  EXPECT_FALSE(holds("class!=cancelling"));
  EXPECT_TRUE(holds(""));
}

TEST_F(Selection, ARealIsComparedAsTheCaseHasIt) {
  test_case.problem.set_real("alpha", 0.97F);
  EXPECT_TRUE(holds("alpha=0.97"));
  EXPECT_TRUE(holds("alpha<=0.97 alpha>=0.97"));
  EXPECT_FALSE(holds("alpha!=0.97"));
  EXPECT_FALSE(holds("alpha<0.97"));
  EXPECT_TRUE(holds("alpha<0.971"));
}

TEST_F(Selection, FieldsOfEveryOperationAreCheckedToo) {
  EXPECT_THAT(error("offset=ten"), HasSubstr("offset is compared with \"ten\", which is no whole"));
  EXPECT_TRUE(holds("offset=0"));
}

TEST_F(Selection, AFilterThatMakesNoSenseSaysWhy) {
  EXPECT_THAT(error("clas=normal"), HasSubstr("did you mean \"class\"?"));
  EXPECT_THAT(error("k"), HasSubstr("\"k\" is not key=value"));
  EXPECT_THAT(error("k=>3"), HasSubstr("unknown comparison \"=>\""));
  EXPECT_THAT(error("class=cancelin"), HasSubstr("did you mean \"cancelling\"?"));
  EXPECT_THAT(error("class!=zzzzzz"), HasSubstr("plumbline list classes"));
  EXPECT_THAT(error("layout=nnn"), HasSubstr("no case of these kernels has layout=nnn"));
  EXPECT_THAT(error("origin=desined"), HasSubstr("did you mean \"designed\"?"));
  EXPECT_FALSE(holds("class=literal origin=corpus shape=k_tail strides=padded_8"));
}

TEST_F(Selection, EveryCaseIsInExactlyOneShard) {
  int holders = 0;
  for (int i = 1; i <= 7; ++i) holders += Shard{i, 7}.holds(test_case);
  EXPECT_EQ(holders, 1);
}

TEST_F(Selection, BadShardsAreRefused) {
  for (const char* text : {"", "3", "0/4", "5/4", "a/b", "1/0", "1/2x"})
    EXPECT_FALSE(parse_shard(text)) << text;
  const Result<Shard> shard = parse_shard("3/8");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->index, 3);
  EXPECT_EQ(shard->count, 8);
}

TEST_F(Selection, TheEmulatorRunsEveryChipOfTheManifest) {
  std::string why;
  const auto both = kernel_targets(manifest, On::automatic, std::nullopt, std::nullopt, why);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].name(), "emulator sm_80");
  EXPECT_EQ(kernel_targets(manifest, On::emulator, 90, std::nullopt, why).size(), 1u);
  EXPECT_TRUE(kernel_targets(manifest, On::emulator, 70, std::nullopt, why).empty());
  EXPECT_THAT(why, HasSubstr("sm_70"));
}

TEST_F(Selection, AGpuRunsTheNewestBuildItCan) {
  EXPECT_EQ(best_build(manifest, 89), 80);
  EXPECT_EQ(best_build(manifest, 100), 90);
  EXPECT_EQ(best_build(manifest, 75), std::nullopt);
  Target old;
  old.on_gpu = true;
  old.sm = 75;
  std::string why;
  EXPECT_TRUE(kernel_targets(manifest, On::gpu, std::nullopt, old, why).empty());
  EXPECT_EQ(why, "needs sm_80, this device is sm_75");
  old.sm = 110;  // between those that there are models of
  EXPECT_TRUE(kernel_targets(manifest, On::gpu, std::nullopt, old, why).empty());
  EXPECT_EQ(why, "how sm_110 adds is not known (plumbline list models)");
  old.sm = 90;
  old.gpu_name = "NVIDIA H200";
  const auto targets = kernel_targets(manifest, On::both, std::nullopt, old, why);
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_TRUE(targets[0].compare);
  EXPECT_EQ(targets[0].name(), "NVIDIA H200 (sm_90)");
}

TEST_F(Selection, AChipThatTheGpuIsNotIsEmulatedOrRefused) {
  Target gpu;
  gpu.on_gpu = true;
  gpu.sm = 90;
  gpu.gpu_name = "NVIDIA H200";
  std::string why;
  const auto emulated = kernel_targets(manifest, On::automatic, 80, gpu, why);
  ASSERT_EQ(emulated.size(), 1u);
  EXPECT_EQ(emulated[0].name(), "emulator sm_80");
  const auto same = kernel_targets(manifest, On::automatic, 90, gpu, why);
  ASSERT_EQ(same.size(), 1u);
  EXPECT_TRUE(same[0].on_gpu);
  for (const On on : {On::gpu, On::both}) {
    why.clear();
    EXPECT_TRUE(kernel_targets(manifest, on, 80, gpu, why).empty());
    EXPECT_EQ(why, "--sm 80 leaves nothing to run: this device is sm_90");
  }
}

TEST_F(Selection, RowsTooFarApartForAGpuAreEmulated) {
  const Result<Manifest> gemm =
      read_manifest(PLUMBLINE_SOURCE_DIR "/kernels/shipped/gemm_bf16/gemm_bf16.toml");
  ASSERT_TRUE(gemm) << gemm.error().text();
  Target gpu;
  gpu.on_gpu = true;
  gpu.sm = 90;
  gpu.gpu_name = "NVIDIA H200";
  const auto place = [&](std::string_view problem) {
    Case one;
    one.kernel = &*gemm;
    one.problem = *parse_problem(gemm->schema(), problem);
    return target_for(one, gpu).name();
  };
  EXPECT_EQ(place("m=6 n=8 k=40"), "NVIDIA H200 (sm_90)");
  EXPECT_EQ(place("m=6 n=8 k=40 ldd=1073741888"), "emulator sm_90");
}

TEST(FindGpu, IsAnErrorOnlyWhereAGpuWasAskedFor) {
  const Result<Target> there = probe_gpu();
  for (const On on : {On::automatic, On::emulator, On::gpu, On::both}) {
    const Result<std::optional<Target>> found = find_gpu(on);
    const bool asked_for = on == On::gpu || on == On::both;
    ASSERT_EQ(found.ok(), there.ok() || !asked_for);
    if (found) {
      EXPECT_EQ(found->has_value(), there.ok() && on != On::emulator);
    }
  }
}

TEST_F(Selection, ABuildForOneChipRunsThereAlone) {
  manifest.specific_targets = {{90, 'a'}};
  EXPECT_EQ(best_build(manifest, 90), 90);
  EXPECT_EQ(best_build(manifest, 100), 80) << "what 90a has, 100 need not";
  manifest.targets = {90};
  Target blackwell;
  blackwell.on_gpu = true;
  blackwell.sm = 100;
  std::string why;
  EXPECT_TRUE(kernel_targets(manifest, On::gpu, std::nullopt, blackwell, why).empty());
  EXPECT_EQ(why, "needs sm_90a, this device is sm_100");
}

}  // namespace
}  // namespace plumbline
