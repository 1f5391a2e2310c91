// SPDX-License-Identifier: MIT
// Replays every input the fuzzer started from or stumbled over.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/folders.h"
#include "tests/harness/emulator/frontend/module_checks.h"

namespace plumbline::emulator {
namespace {

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = PLUMBLINE_SOURCE_DIR "/tests/fuzzers/corpus/ptx";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  return files;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(PtxCorpus, EveryFileGivesAModuleOrAnErrorWithAPlace) {
  const auto files = corpus();
  EXPECT_GE(files.size(), 8u);
  for (const auto& file : files) EXPECT_EQ(test::check_parse(contents(file)), "") << file;
}

// Cheap neighbors of real PTX: every file cut short at every byte, and with each byte replaced.
TEST(PtxCorpus, CutAndDamagedFilesNeverBreakTheParser) {
  for (const auto& file : corpus()) {
    const std::string text = contents(file);
    const std::size_t step = text.size() / 100 + 1;
    for (std::size_t i = 0; i < text.size(); i += step) {
      EXPECT_EQ(test::check_parse(text.substr(0, i)), "") << file << " cut at " << i;
      for (const char c : {'{', '}', ';', '%', '0', '\0', '"'}) {
        std::string damaged = text;
        damaged[i] = c;
        EXPECT_EQ(test::check_parse(damaged), "") << file << " with byte " << i << " = " << c;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline::emulator
