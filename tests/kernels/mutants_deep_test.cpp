// SPDX-License-Identifier: MIT
// Compiling the mutants takes nvcc some minutes, so this is the nightly ring.
#include "kernels/manifest/compile.h"
#include "tests/folders.h"
#include "tests/kernels/mutants.h"

namespace plumbline {
namespace {

TEST(MutantsDeep, EveryMutantCompiles) {
  const std::string nvcc = find_nvcc();
  if (nvcc.empty()) GTEST_SKIP() << "no nvcc: run scripts/setup";
  for (const auto& patch : mutant_patches()) {
    const TemporaryFolder folder;
    ASSERT_EQ(apply_mutant(folder, patch), 0) << patch;
    const std::string kernel = mutant_kernel(patch),
                      file = "/kernels/shipped/" + kernel + "/" + kernel;
    const Result<Manifest> manifest = read_manifest(PLUMBLINE_SOURCE_DIR + file + ".toml");
    ASSERT_TRUE(manifest.ok()) << patch << manifest.error().text();
    for (const int target : manifest->targets) {
      const std::string command = "'" + nvcc + "' " + std::string(kCompilerFlags) +
                                  " -arch=compute_" + manifest->architecture(target) + " -I '" +
                                  folder.path() + "/kernels' -o '" + folder.path() +
                                  "/mutant.ptx' '" + folder.path() + file + ".cu'";
      EXPECT_EQ(std::system(command.c_str()), 0) << patch << target;
      EXPECT_NE(read_file(folder.path() + "/mutant.ptx").find(".entry " + kernel),
                std::string::npos)
          << patch;
    }
  }
}

}  // namespace
}  // namespace plumbline
