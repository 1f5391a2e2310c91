// SPDX-License-Identifier: MIT
#include "kernels/registry.h"
#include "tests/folders.h"

#include "tests/kernels/manifest/manifest_files.h"

#include <cstdlib>

namespace plumbline {
namespace {

// A kernel folder with manifests of these names.
void fill(const TemporaryFolder& folder, const std::vector<std::string>& names) {
  const std::string text = read_file(shipped_manifest_path());
  for (const std::string& name : names)
    folder.write("shipped/" + name + "/" + name + ".toml", text);
}

std::string matches(const Registry& registry, const std::vector<std::string>& globs) {
  const auto found = registry.match(globs);
  if (!found.ok()) return found.error().text();
  std::string names;
  for (const Manifest* manifest : *found) names += (names.empty() ? "" : " ") + manifest->name;
  return names;
}

TEST(Registry, ReadsTheShippedKernels) {
  const Result<Registry> registry = Registry::open(std::string(PLUMBLINE_SOURCE_DIR) + "/kernels");
  ASSERT_TRUE(registry.ok()) << registry.error().text();
  EXPECT_NE(registry->find("gemm_bf16"), nullptr);
  EXPECT_EQ(registry->find("gemm"), nullptr);
}

TEST(Registry, GlobsSelectInNameOrder) {
  const TemporaryFolder folder;
  fill(folder, {"gemm_f16", "attention_bf16", "gemm_bf16"});
  const Result<Registry> registry = Registry::open(folder.path());
  ASSERT_TRUE(registry.ok()) << registry.error().text();
  EXPECT_EQ(matches(*registry, {}), "attention_bf16 gemm_bf16 gemm_f16");
  EXPECT_EQ(matches(*registry, {"gemm_*"}), "gemm_bf16 gemm_f16");
  EXPECT_EQ(matches(*registry, {"*_?f16"}), "attention_bf16 gemm_bf16");
  EXPECT_EQ(matches(*registry, {"*_*16"}), "attention_bf16 gemm_bf16 gemm_f16");
  EXPECT_EQ(matches(*registry, {"gemm_f16", "*"}), "attention_bf16 gemm_bf16 gemm_f16");
  EXPECT_EQ(matches(*registry, {"gemm_f16", "gemm_f16"}), "gemm_f16");
}

TEST(Registry, WhatMatchesNothingIsAnError) {
  const TemporaryFolder folder;
  fill(folder, {"gemm_bf16"});
  const Result<Registry> registry = Registry::open(folder.path());
  ASSERT_TRUE(registry.ok());
  EXPECT_EQ(matches(*registry, {"gemm_bf61"}),
            "there is no kernel \"gemm_bf61\" (did you mean \"gemm_bf16\"?)");
  EXPECT_EQ(matches(*registry, {"gemm"}),
            "there is no kernel \"gemm\" (plumbline list kernels shows them all; others need "
            "--kernel FILE)");
  EXPECT_EQ(matches(*registry, {"a/mine.toml"}),
            "there is no kernel \"a/mine.toml\" (a manifest is given by --kernel a/mine.toml, each "
            "by its own)");
  EXPECT_EQ(matches(*registry, {"gemm_bf16", "att*"}),
            "no kernel matches \"att*\" (plumbline list kernels shows them all; others need "
            "--kernel FILE)");
}

TEST(Registry, ABrokenManifestIsAnError) {
  const TemporaryFolder folder;
  fill(folder, {"gemm_bf16"});
  const std::string broken =
      folder.write("shipped/other/other.toml", "computes = \"gemm\"\nsumary = \"\"\n");
  const Result<Registry> registry = Registry::open(folder.path());
  ASSERT_FALSE(registry.ok());
  EXPECT_EQ(registry.error().text(),
            broken + ":2:1: unknown key \"sumary\" (did you mean \"summary\"?)");
}

TEST(Registry, TakesManifestsFromOutside) {
  const TemporaryFolder folder;
  fill(folder, {"gemm_bf16"});
  Result<Registry> registry = Registry::open(folder.path());
  ASSERT_TRUE(registry.ok());
  const std::string mine = folder.write("mine.toml", read_file(shipped_manifest_path()));
  EXPECT_TRUE(registry->add(mine).ok());
  EXPECT_NE(registry->find("mine"), nullptr);
  // A command line that names a manifest, and no kernel, means none of the others.
  EXPECT_EQ(matches(*registry, {}), "mine");
  EXPECT_EQ(matches(*registry, {"*"}), "gemm_bf16 mine");
  EXPECT_EQ(
      matches(*registry, {"gemm_bf16"}),
      "no kernel of the manifests given by --kernel (mine) is among those that are named (name "
      "it as well, or leave the names away)");
  const Status again = registry->add(mine);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().text(), mine + ": a kernel named mine is there already, from " + mine +
                                      " (rename the manifest file: its name is the kernel's)");
}

TEST(Registry, AMissingFolderSaysWhatToDo) {
  const Result<Registry> registry = Registry::open("/nowhere/kernels");
  ASSERT_FALSE(registry.ok());
  EXPECT_EQ(registry.error().kind, ErrorKind::cannot_run);
  EXPECT_NE(registry.error().text().find("build first"), std::string::npos);
}

TEST(Registry, TheEnvironmentNamesTheKernelFolder) {
  ::setenv("PLUMBLINE_KERNELS", "/somewhere", 1);
  EXPECT_EQ(default_kernel_folder(), "/somewhere");
  ::unsetenv("PLUMBLINE_KERNELS");
  EXPECT_NE(default_kernel_folder().find("kernels"), std::string::npos);
}

}  // namespace
}  // namespace plumbline
