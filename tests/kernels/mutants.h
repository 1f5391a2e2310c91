// SPDX-License-Identifier: MIT
// The planted faults of kernels/mutants/ for tests: list them, and make the mutated kernel.
#pragma once

#include "tests/kernels/manifest_files.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace plumbline {

inline std::vector<std::filesystem::path> mutant_patches() {
  std::vector<std::filesystem::path> patches;
  for (const auto& file : std::filesystem::directory_iterator(std::string(PLUMBLINE_SOURCE_DIR) +
                                                              "/kernels/mutants")) {
    if (file.path().extension() == ".patch") patches.push_back(file.path());
  }
  std::sort(patches.begin(), patches.end());
  return patches;
}

// Applies a patch to a copy of the kernels in the folder; returns the exit status of git apply.
inline int apply_mutant(const TemporaryFolder& folder, const std::filesystem::path& patch) {
  const std::string source = std::string(PLUMBLINE_SOURCE_DIR) + "/kernels/gemm_bf16/gemm_bf16.cu";
  folder.write("kernels/gemm_bf16/gemm_bf16.cu", read_file(source));
  // Outside any repository, so that git looks at the files and nothing else.
  const std::string command = "cd '" + folder.path() + "' && GIT_CEILING_DIRECTORIES='" +
                              folder.path() + "' git apply -p1 '" + patch.string() + "'";
  return std::system(command.c_str());
}

}  // namespace plumbline
