// SPDX-License-Identifier: MIT
#include "tests/kernels/mutants.h"

namespace plumbline {
namespace {

TEST(Mutants, TheSixOfTheFirstRoundAreThere) {
  std::vector<std::string> names;
  for (const auto& patch : mutant_patches()) names.push_back(patch.stem());
  for (const char* name : {"C01", "G01", "G02", "G04", "G05", "G07s"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST(Mutants, EveryPatchAppliesAndChangesTheKernel) {
  const std::string source = all_kernel_text(PLUMBLINE_SOURCE_DIR);
  for (const auto& patch : mutant_patches()) {
    const TemporaryFolder folder;
    EXPECT_EQ(apply_mutant(folder, patch), 0) << patch;
    EXPECT_TRUE(all_kernel_text(folder.path()) != source) << patch;
  }
}

TEST(Mutants, EveryHeaderSaysWhatWhereAndWhichCheck) {
  for (const auto& patch : mutant_patches()) {
    const std::string text = read_file(patch);
    EXPECT_TRUE(text.starts_with(patch.stem().string() + " · tier ")) << patch;
    for (const char* part :
         {"\nkernel ", "\nwhat ", "\nseen in ", "\nkilled by ", "\nsmallest ", "claim"}) {
      EXPECT_NE(text.find(part), std::string::npos) << patch << part;
    }
  }
}

}  // namespace
}  // namespace plumbline
