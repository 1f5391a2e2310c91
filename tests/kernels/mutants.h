// SPDX-License-Identifier: MIT
// The planted faults of kernels/mutants/ for tests: list them, and make the mutated kernel.
#pragma once

#include "tests/folders.h"
#include "tests/kernels/manifest/manifest_files.h"

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

// The kernel a patch is for, from its header.
inline std::string mutant_kernel(const std::filesystem::path& patch) {
  const std::string text = read_file(patch), label = "\nkernel ";
  const std::size_t begin = text.find_first_not_of(' ', text.find(label) + label.size());
  return text.substr(begin, text.find('\n', begin) - begin);
}

// All text of the kernels below a folder: what a patch must change.
inline std::string all_kernel_text(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder + "/kernels")) {
    if (file.path().extension() == ".cu" || file.path().extension() == ".cuh")
      files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  std::string text;
  for (const auto& file : files) text += read_file(file);
  return text;
}

// A copy of the kernels' sources.
inline void copy_kernels(const TemporaryFolder& folder) {
  const std::filesystem::path source = std::string(PLUMBLINE_SOURCE_DIR) + "/kernels";
  for (const auto& file : std::filesystem::recursive_directory_iterator(source)) {
    if (file.path().extension() != ".cu" && file.path().extension() != ".cuh") continue;
    folder.write("kernels/" + std::filesystem::relative(file.path(), source).string(),
                 read_file(file.path()));
  }
}

// Applies a patch to a copy of the kernels in the folder; returns the exit status of git apply.
inline int apply_mutant(const TemporaryFolder& folder, const std::filesystem::path& patch) {
  copy_kernels(folder);
  // Outside any repository, so that git looks at the files and nothing else.
  const std::string command = "cd '" + folder.path() + "' && GIT_CEILING_DIRECTORIES='" +
                              folder.path() + "' git apply -p1 '" + patch.string() + "'";
  return std::system(command.c_str());
}

}  // namespace plumbline
