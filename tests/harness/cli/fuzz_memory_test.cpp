// SPDX-License-Identifier: MIT
// What a search remembers comes back from its file, with the device that showed it.
#include "harness/cli/fuzz_memory.h"
#include "tests/folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace plumbline {
namespace {

using ::testing::ElementsAre;

class SearchFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "plumbline-search-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    Result<Registry> registry = Registry::open(PLUMBLINE_SOURCE_DIR "/kernels");
    ASSERT_TRUE(registry.ok()) << registry.error().text();
    registry_.emplace(*std::move(registry));
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  FuzzMemory open() const {
    Result<FuzzMemory> memory =
        FuzzMemory::open(folder_, *registry_->find("gemm_bf16"), *registry_);
    EXPECT_TRUE(memory.ok()) << memory.error().text();
    return *std::move(memory);
  }

  // Shape class and device of every line.
  std::vector<std::string> notes() const {
    const FuzzMemory memory = open();
    std::vector<std::string> notes;
    for (const Remembered& one : memory.cases())
      notes.push_back(one.test_case.shape_class + "|" + one.device);
    return notes;
  }

  void write(const std::string& text) const {
    std::ofstream(folder_ / "gemm_bf16.txt", std::ios::app) << text;
  }

  std::filesystem::path folder_;
  std::optional<Registry> registry_;
};

TEST_F(SearchFile, SaysWhichDeviceShowedACase) {
  write("gemm_bf16 m=1 n=2 k=3 value=ones seed=0x1  # one row\n");
  EXPECT_THAT(notes(), ElementsAre("one row|")) << "as earlier versions wrote it";
  {
    FuzzMemory memory = open();
    Remembered next = memory.cases().front();
    next.device = "emulator sm_90";
    memory.append(next);
    next.device = "NVIDIA H200 (sm_90)";
    memory.append(next);
  }
  EXPECT_THAT(notes(),
              ElementsAre("one row|", "one row|emulator sm_90", "one row|NVIDIA H200 (sm_90)"));
  FuzzMemory memory = open();
  ASSERT_TRUE(memory.replace({memory.cases().back()}).ok());
  EXPECT_THAT(notes(), ElementsAre("one row|NVIDIA H200 (sm_90)"));
}

TEST_F(SearchFile, ReadsCasesWithoutANoteAndDropsACutLine) {
  write("gemm_bf16 m=1 n=2 k=3 value=ones seed=0x1\n\n# a comment\ngemm_bf16 m=4 n=");
  EXPECT_THAT(notes(), ElementsAre("|"));
}

TEST_F(SearchFile, TwoSearchesShareIt) {
  write("gemm_bf16 m=1 n=2 k=3 value=ones seed=0x1  # first\n");
  FuzzMemory one = open(), other = open();
  Remembered next = one.cases().front();
  next.test_case.shape_class = "of one";
  one.append(next);
  next.test_case.shape_class = "of the other";
  other.append(next);
  EXPECT_THAT(notes(), ElementsAre("first|", "of one|", "of the other|"));
}

TEST_F(SearchFile, WhatOneAddsWhileTheOtherMinimizesStays) {
  write("gemm_bf16 m=1 n=2 k=3 value=ones seed=0x1  # first\n");
  write("gemm_bf16 m=2 n=2 k=3 value=ones seed=0x1  # second\n");
  FuzzMemory one = open(), other = open();
  Remembered next = one.cases().front();
  next.test_case.shape_class = "before";
  one.append(next);
  ASSERT_TRUE(other.replace({other.cases().back()}));
  next.test_case.shape_class = "after";
  one.append(next);
  EXPECT_THAT(notes(), ElementsAre("second|", "before|", "after|"));
}

}  // namespace
}  // namespace plumbline
