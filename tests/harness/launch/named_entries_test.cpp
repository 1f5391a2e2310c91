// SPDX-License-Identifier: MIT
#include "harness/launch/named_entries.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

Manifest gemm(const std::string& entry) {
  const Result<Manifest> kernel = parse_manifest(R"(
computes = "gemm"
summary = "a GEMM"
ptx = "g.ptx"
targets = [80]
entry = ")" + entry + R"("
parameters = ["ptr a", "ptr b", "ptr d", "s32 m", "s32 n", "s32 k"]
[problem]
layout = ["tn", "nn"]
out = ["bf16", "f32"]
[launch]
grid = ['m']
block = [32]
[formats]
a = "bf16"
b = "bf16"
c = "{out}"
d = "{out}"
[contract]
unit = "mma.sync"
schedule = "sequential"
epilogue = []
)",
                                                 "g.toml");
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  return *kernel;
}

TEST(NamedEntries, WordsOfAFieldStandForItsName) {
  const Manifest kernel = gemm("gemm_{layout}_{out}");
  const EntryFilter named = entries_of(kernel);
  for (const char* entry : {"gemm_tn_bf16", "gemm_nn_f32"}) EXPECT_TRUE(named(entry)) << entry;
  for (const char* entry :
       {"gemm_tt_bf16", "gemm_tn_f16", "gemm_tn_bf16_2", "gemm_tn", "gemm__f32"})
    EXPECT_FALSE(named(entry)) << entry;
}

TEST(NamedEntries, NumbersStandForIntegers) {
  const Manifest kernel = gemm("gemm_{k}_{out}");
  const EntryFilter named = entries_of(kernel);
  EXPECT_TRUE(named("gemm_128_bf16"));
  for (const char* entry : {"gemm__bf16", "gemm_x_bf16", "gemm_128"})
    EXPECT_FALSE(named(entry)) << entry;
}

TEST(NamedEntries, MangledNamesAreMeantByTheirNameInCpp) {
  const Manifest kernel = gemm("lib::run");
  const EntryFilter named = entries_of(kernel);
  EXPECT_TRUE(named("_ZN3lib3runILi64EEEvPf"));
  EXPECT_FALSE(named("_ZN3lib4walkILi64EEEvPf"));
}

}  // namespace
}  // namespace plumbline
