// SPDX-License-Identifier: MIT
#include "oracles/base/file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace plumbline {
namespace {

std::string words(const std::string& path, std::uint64_t longest = kLongestFile) {
  const Result<std::string> text = read_text_file(path, "name another", longest);
  return text ? "read" : text.error().text();
}

TEST(TextFile, IsReadWhole) {
  const std::string path = testing::TempDir() + "/plumbline_text_file";
  const std::string all(100'000, 'x');
  std::ofstream(path) << all;
  EXPECT_EQ(*read_text_file(path, ""), all);
  EXPECT_EQ(words(path, all.size()), "read");
  EXPECT_EQ(words(path, all.size() - 1), path + ": is longer than 99999 bytes (name another)");
  std::remove(path.c_str());
  EXPECT_EQ(words(path), path + ": cannot be read: No such file or directory (name another)");
}

TEST(TextFile, FoldersAndDevicesAreNone) {
  EXPECT_EQ(words(testing::TempDir()), testing::TempDir() + ": is a folder (name another)");
  EXPECT_EQ(words("/dev/zero"), "/dev/zero: is a device (name another)");
}

}  // namespace
}  // namespace plumbline
