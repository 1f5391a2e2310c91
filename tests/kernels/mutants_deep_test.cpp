// SPDX-License-Identifier: MIT
// Compiling a mutant takes nvcc some seconds, so this is the nightly ring.
#include "kernels/compile.h"
#include "tests/kernels/mutants.h"

namespace plumbline {
namespace {

TEST(MutantsDeep, EveryMutantCompiles) {
  const std::string nvcc = find_nvcc();
  if (nvcc.empty()) GTEST_SKIP() << "no nvcc: run scripts/setup";
  for (const auto& patch : mutant_patches()) {
    const TemporaryFolder folder;
    ASSERT_EQ(apply_mutant(folder, patch), 0) << patch;
    const std::string command = "'" + nvcc + "' " + std::string(kCompilerFlags) +
                                " -arch=compute_80 -I '" + folder.path() + "/kernels' -o '" + folder.path() + "/mutant.ptx' '" +
                                folder.path() + "/kernels/gemm_bf16/gemm_bf16.cu'";
    EXPECT_EQ(std::system(command.c_str()), 0) << patch;
    EXPECT_NE(read_file(folder.path() + "/mutant.ptx").find(".entry gemm_bf16_nn_bf16"),
              std::string::npos)
        << patch;
  }
}

}  // namespace
}  // namespace plumbline
