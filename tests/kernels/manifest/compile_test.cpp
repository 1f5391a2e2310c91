// SPDX-License-Identifier: MIT
// With a stand-in compiler: a shell script that takes nvcc's arguments. The real one takes seconds
// a file.
#include "kernels/manifest/compile.h"
#include "tests/folders.h"

#include "kernels/manifest/command.h"
#include "oracles/base/shell_word.h"
#include "tests/kernels/manifest/manifest_files.h"

#include <chrono>
#include <cstdlib>

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// A kernel outside the tree, and a CUDA_HOME whose nvcc is a script.
class Compile : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("k.cu", "source text\n");
    const Result<Manifest> manifest = read_manifest(folder_.write(
        "k.toml", replaced(read_file(shipped_manifest_path()), "gemm_bf16.cu", "k.cu")));
    ASSERT_TRUE(manifest.ok()) << manifest.error().text();
    kernel_ = *manifest;
    // Notes its arguments, and writes the source behind them as "PTX".
    use_compiler("echo \"$@\" >>" + folder_.path() +
                 "/calls\nwhile [ \"$1\" != -o ]; do shift; done\ncp \"$3\" \"$2\"\n");
  }

  void TearDown() override { ::unsetenv("CUDA_HOME"); }

  void use_compiler(const std::string& script) {
    const std::string nvcc = folder_.write("cuda/bin/nvcc", "#!/bin/sh\n" + script);
    fs::permissions(nvcc, fs::perms::owner_all);
    ::setenv("CUDA_HOME", (folder_.path() + "/cuda").c_str(), 1);
  }

  std::ptrdiff_t calls() const {
    const std::string text =
        fs::exists(folder_.path() + "/calls") ? read_file(folder_.path() + "/calls") : "";
    return std::count(text.begin(), text.end(), '\n');
  }

  TemporaryFolder folder_;
  Manifest kernel_;
};

// Notes its arguments, writes the source as "PTX", and of the files it says it read one is told
// from the manifest's folder.
constexpr std::string_view kToldInputs =
    "while [ \"$1\" != -MF ]; do shift; done\n"
    "printf 'k.ptx : %s \\\\\n    my\\\\ headers/tile.cuh other.cuh\\n' \"$5\" >\"$2\"\n"
    "cp \"$5\" \"$4\"\n";

TEST_F(Compile, WritesPtxOfEveryTargetBesideTheManifest) {
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(read_file(kernel_.ptx_path(80)), "source text\n");
  EXPECT_EQ(read_file(kernel_.ptx_path(90)), "source text\n");
  EXPECT_NE(read_file(folder_.path() + "/calls")
                .find(std::string(kCompilerFlags) + " -arch=compute_90 -MMD -MF "),
            std::string::npos);
}

TEST_F(Compile, ATargetThatIsNotAskedForMayNotCompile) {
  use_compiler(
      "case \"$*\" in *compute_80*) echo 'error: needs sm_90' >&2; exit 2 ;; esac\n"
      "while [ \"$1\" != -o ]; do shift; done\ncp \"$3\" \"$2\"\n");
  EXPECT_FALSE(compile_outdated(kernel_).ok());
  ASSERT_TRUE(compile_outdated(kernel_, 90).ok());
  EXPECT_TRUE(is_compiled(kernel_, 90));
  EXPECT_FALSE(fs::exists(kernel_.ptx_path(80)));
}

TEST_F(Compile, CodeForOneChipIsCompiledForItAndNamedAfterItsNumber) {
  kernel_.specific_targets = {{90, 'a'}};
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(read_file(folder_.path() + "/k.sm_90.ptx"), "source text\n");
  const std::string calls = read_file(folder_.path() + "/calls");
  EXPECT_NE(calls.find(" -arch=compute_80 -MMD "), std::string::npos);
  EXPECT_NE(calls.find(" -arch=compute_90a -MMD "), std::string::npos);
}

// What is older than neither the source nor a header may be another chip's code all the same, or
// another compiler's.
TEST_F(Compile, CompilesAgainForAnotherArchitectureAndByAnotherCompiler) {
  use_compiler("echo called >>" + folder_.path() + "/calls\n" + std::string(kToldInputs));
  kernel_.targets = {90};
  folder_.write("my headers/tile.cuh", "1\n");
  folder_.write("other.cuh", "1\n");
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 1);
  kernel_.specific_targets = {{90, 'a'}};
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 2);
  const std::string listed = kernel_.ptx_path(90) + ".inputs";
  std::string text = read_file(listed);
  const std::size_t second = text.find('\n') + 1;
  text.replace(second, text.find('\n', second) - second, "/opt/another/bin/nvcc");
  folder_.write("k.sm_90.ptx.inputs", text);
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 3);
}

TEST_F(Compile, CompilesOnlyWhatIsOlderThanTheSource) {
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 2);
  fs::last_write_time(kernel_.ptx_path(90),
                      fs::last_write_time(folder_.path() + "/k.cu") - std::chrono::seconds(5));
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 3);
}

TEST_F(Compile, CompilesAgainWhenAHeaderItReadHasChanged) {
  use_compiler("echo called >>" + folder_.path() + "/calls\n" + std::string(kToldInputs));
  kernel_.targets = {80};
  const std::string header = folder_.write("my headers/tile.cuh", "1\n");
  folder_.write("other.cuh", "1\n");
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 1);
  fs::last_write_time(header, fs::last_write_time(kernel_.ptx_path(80)) + std::chrono::seconds(5));
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 2);
  fs::remove(header);
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 3);
  EXPECT_FALSE(fs::exists(kernel_.ptx_path(80) + ".d"));
}

TEST_F(Compile, AHeaderThatItDidNotReadMattersNot) {
  use_compiler("echo called >>" + folder_.path() + "/calls\n" + std::string(kToldInputs));
  kernel_.targets = {80};
  folder_.write("my headers/tile.cuh", "1\n");
  folder_.write("other.cuh", "1\n");
  const std::string header = folder_.write("device/another.cuh", "1\n");
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  fs::last_write_time(header, fs::last_write_time(kernel_.ptx_path(80)) + std::chrono::seconds(5));
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 1);
  fs::remove(kernel_.ptx_path(80) + ".inputs");
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 2) << "which headers were read is not known";
}

TEST_F(Compile, TheManifestsFlagsTakeThePlaceOfTheUsualOnes) {
  kernel_.targets = {80};
  kernel_.flags = {"-O2", "-I../it's here"};
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(read_file(folder_.path() + "/calls").find("-ptx -lineinfo -O2 -I../it's here -arch="),
            0u);
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 1);
  kernel_.flags = {"-O3"};
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 2) << "other flags, other PTX";
}

TEST_F(Compile, TheCompilerRunsInTheManifestsFolder) {
  use_compiler("pwd >>" + folder_.path() + "/calls\n" + std::string(kToldInputs));
  folder_.write("my headers/tile.cuh", "1\n");
  folder_.write("other.cuh", "1\n");
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(read_file(folder_.path() + "/calls"), folder_.path() + "\n" + folder_.path() + "\n");
}

TEST_F(Compile, ShowsTheCompilersFirstError) {
  use_compiler("echo 'k.cu(3): warning: x'\necho 'k.cu(7): error: expected a \";\"' >&2\nexit 2\n");
  const Status compiled = compile_outdated(kernel_);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().kind, ErrorKind::cannot_run);
  EXPECT_EQ(compiled.error().message,
            "does not compile for sm_80: k.cu(7): error: expected a \";\"");
  EXPECT_EQ(compiled.error().where, folder_.path() + "/k.cu");
  EXPECT_FALSE(fs::exists(kernel_.ptx_path(80)));
}

TEST_F(Compile, LeavesGivenPtxAlone) {
  kernel_.source.clear();
  kernel_.ptx = "k.ptx";
  EXPECT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(calls(), 0);
}

TEST_F(Compile, AMissingSourceIsNamed) {
  kernel_.source = "nowhere.cu";
  const Status compiled = compile_outdated(kernel_);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().where, folder_.path() + "/nowhere.cu");
}

TEST_F(Compile, PathsMayHoldQuotesAndSpaces) {
  folder_.write("it's here/k.cu", "other\n");
  kernel_.path = folder_.write("it's here/k.toml", "");
  ASSERT_TRUE(compile_outdated(kernel_).ok());
  EXPECT_EQ(read_file(kernel_.ptx_path(80)), "other\n");
}

TEST(KernelTargets, AreReadAlikeByTheBuild) {
  const TemporaryFolder folder;
  const auto build_reads = [&](const std::string& line) {
    const std::string manifest = folder.write("k.toml", "source = \"k.cu\"\n" + line + "\n");
    const std::string script = folder.write(
        "read.cmake", "include(\"" + std::string(PLUMBLINE_SOURCE_DIR) +
                          "/cmake/kernel_targets.cmake\")\nplumbline_kernel_targets(\"" + manifest +
                          "\" targets)\nmessage(\"${targets}\")\n");
    return run_command("cmake -P " + shell_word(script)).output;
  };
  EXPECT_EQ(build_reads("targets = [80, 90]"), "80;90\n");
  EXPECT_EQ(build_reads("targets   = [80,\"90a\", \"100f\"]"), "80;90a;100f\n");
  EXPECT_NE(build_reads("targets = [").find("CMake Error"), std::string::npos);
}

TEST(KernelTargets, FlagsOfItsOwnAreNotForTheBuild) {
  const TemporaryFolder folder;
  const std::string manifest =
      folder.write("k.toml", "source = \"k.cu\"\nflags = [\"-O1\"]\ntargets = [80]\n");
  const std::string script =
      folder.write("read.cmake", "include(\"" + std::string(PLUMBLINE_SOURCE_DIR) +
                                     "/cmake/kernel_targets.cmake\")\nplumbline_kernel_targets(\"" +
                                     manifest + "\" targets)\n");
  EXPECT_NE(run_command("cmake -P " + shell_word(script)).output.find("flags"), std::string::npos);
}

TEST(CompilerFlags, AreThoseOfTheBuild) {
  const std::string cmake =
      read_file(std::string(PLUMBLINE_SOURCE_DIR) + "/cmake/cuda_kernel.cmake");
  EXPECT_NE(cmake.find("set(PLUMBLINE_NVCC_FLAGS " + std::string(kCompilerFlags) + ")"),
            std::string::npos);
}

}  // namespace
}  // namespace plumbline
