// SPDX-License-Identifier: MIT
#include <chrono>

#include "kernels/manifest/patched_kernel.h"

#include "tests/kernels/manifest/manifest_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sys/wait.h>
#include <unistd.h>

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kHeader = "X1 · tier 1 · one too many\nkernel    k\nwhat      a fault.\n\n";

// kernels/shipped/k/k.{toml,cu}, kernels/device/shared.cuh, kernels/mutants/X1.patch.
class PatchedKernel : public testing::Test {
 protected:
  void SetUp() override {
    const std::string manifest =
        folder_.write("kernels/shipped/k/k.toml",
                      replaced(read_file(shipped_manifest_path()), "gemm_bf16.cu", "k.cu"));
    folder_.write("kernels/shipped/k/k.cu", "first\nsecond\nthird\n");
    folder_.write("kernels/device/shared.cuh", "shared\n");
    const Result<Manifest> read = read_manifest(manifest);
    ASSERT_TRUE(read.ok()) << read.error().text();
    kernel_ = *read;
  }

  Result<std::vector<KernelPatch>> patches(const std::string& text) {
    folder_.write("kernels/mutants/X1.patch", text);
    return read_patches(folder_.path() + "/kernels/mutants");
  }

  Result<Manifest> apply(const std::string& from, const std::string& to) {
    const Result<std::vector<KernelPatch>> all = patches(
        std::string(kHeader) +
        "--- a/kernels/shipped/k/k.cu\n+++ b/kernels/shipped/k/k.cu\n@@ -1,3 +1,3 @@\n first\n-" +
        from + "\n+" + to + "\n third\n");
    if (!all) return all.error();
    return apply_patch(all->front(), kernel_, folder_.path() + "/out/X1");
  }

  TemporaryFolder folder_;
  Manifest kernel_;
};

TEST_F(PatchedKernel, HeadersSayWhatAPatchIsFor) {
  const Result<std::vector<KernelPatch>> all = patches(kHeader);
  ASSERT_TRUE(all.ok()) << all.error().text();
  EXPECT_EQ(all->front().id, "X1");
  EXPECT_EQ(all->front().kernel, "k");
  EXPECT_EQ(all->front().title, "one too many");
}

TEST_F(PatchedKernel, APatchWithoutAHeaderIsAnError) {
  const Result<std::vector<KernelPatch>> all = patches("--- a/kernels/shipped/k/k.cu\n");
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().text(), HasSubstr("X1.patch: has no header"));
  EXPECT_EQ(all.error().kind, ErrorKind::bad_input);
}

TEST_F(PatchedKernel, NoPatchesAreAnError) {
  const Result<std::vector<KernelPatch>> none = read_patches(folder_.path() + "/nowhere");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::cannot_run);
}

TEST_F(PatchedKernel, IsAKernelOfItsOwn) {
  const Result<Manifest> patched = apply("second", "planted");
  ASSERT_TRUE(patched.ok()) << patched.error().text();
  EXPECT_EQ(patched->name, "k_X1");
  const fs::path out = folder_.path() + "/out/X1";
  EXPECT_EQ(read_file(out / "k.cu"), "first\nplanted\nthird\n");
  EXPECT_EQ(read_file(out / "device/shared.cuh"), "shared\n");
  EXPECT_EQ(patched->ptx_path(80), out / "k_X1.sm_80.ptx");
  EXPECT_EQ(read_file(folder_.path() + "/kernels/shipped/k/k.cu"), "first\nsecond\nthird\n");
}

TEST_F(PatchedKernel, OnlyFilesThatChangedAreWrittenAgain) {
  ASSERT_TRUE(apply("second", "planted").ok());
  const fs::path out = folder_.path() + "/out/X1";
  const auto long_ago = fs::last_write_time(out / "k.cu") - std::chrono::hours(1);
  for (const char* file : {"k.cu", "k_X1.toml", "device/shared.cuh"})
    fs::last_write_time(out / file, long_ago);
  ASSERT_TRUE(apply("second", "planted").ok());
  for (const char* file : {"k.cu", "k_X1.toml", "device/shared.cuh"})
    EXPECT_EQ(fs::last_write_time(out / file), long_ago) << file;

  folder_.write("kernels/device/shared.cuh", "changed\n");
  ASSERT_TRUE(apply("second", "otherwise").ok());
  EXPECT_EQ(fs::last_write_time(out / "k_X1.toml"), long_ago);
  EXPECT_EQ(read_file(out / "k.cu"), "first\notherwise\nthird\n");
  EXPECT_EQ(read_file(out / "device/shared.cuh"), "changed\n");
}

TEST_F(PatchedKernel, WhatAKilledProcessLeftIsCleared) {
  const pid_t killed = fork();
  if (killed == 0) _exit(0);
  waitpid(killed, nullptr, 0);
  const auto left_by = [&](pid_t process) {
    const std::string file = fmt::format("out/X1/patching.{}/kernels/k/k.cu", process);
    return fs::path(folder_.write(file, "half")).parent_path().parent_path().parent_path();
  };
  const fs::path abandoned = left_by(killed), own = left_by(getpid()), in_use = left_by(getppid());
  ASSERT_TRUE(apply("second", "planted").ok());
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_FALSE(fs::exists(own));
  EXPECT_TRUE(fs::exists(in_use));
}

TEST_F(PatchedKernel, APatchThatNoLongerAppliesIsAnError) {
  const Result<Manifest> patched = apply("another", "planted");
  ASSERT_FALSE(patched.ok());
  EXPECT_EQ(patched.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(patched.error().text(), HasSubstr("X1 no longer applies to k"));
  EXPECT_TRUE(fs::is_empty(folder_.path() + "/out/X1"));
}

}  // namespace
}  // namespace plumbline
