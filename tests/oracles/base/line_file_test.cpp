// SPDX-License-Identifier: MIT
#include "oracles/base/line_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "oracles/base/file.h"

namespace plumbline {
namespace {

class LineFileTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  std::string text() const { return read_text_file(path_, "").value(); }

  std::string path_ = testing::TempDir() + "line_file_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(LineFileTest, GrowsByLinesAcrossOpenings) {
  LineFile::open(path_).value().append("one");
  Result<LineFile> again = LineFile::open(path_);
  ASSERT_TRUE(again);
  again->append("two");
  EXPECT_EQ(text(), "one\ntwo\n");
  again->clear();
  again->append("three");
  EXPECT_EQ(text(), "three\n");
}

TEST_F(LineFileTest, AFolderThatIsMissingIsAnError) {
  const Result<LineFile> file = LineFile::open("/nowhere/lines");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().where, "/nowhere/lines");
}

TEST_F(LineFileTest, WritesThroughNoLink) {
  const std::string other = path_ + "_other";
  std::ofstream(other) << "kept\n";
  std::filesystem::create_symlink(other, path_);
  const Result<LineFile> file = LineFile::open(path_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().where, path_);
  EXPECT_EQ(read_text_file(other, "").value(), "kept\n");
  std::filesystem::remove(other);
}

// The limit of a file's size stands for a disk that is full for a while.
TEST_F(LineFileTest, HoldsNoHalfLineAndLosesNoneWhereTheDiskWasFull) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    Result<LineFile> file = LineFile::open(path_);
    if (!file) _exit(1);
    file->append(std::string(60, 'a'));
    const rlimit full{100, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    file->append(std::string(60, 'b'));
    if (std::filesystem::file_size(path_) != 61) _exit(2);
    setrlimit(RLIMIT_FSIZE, &limit);
    file->append("c");
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(text(), std::string(60, 'a') + "\n" + std::string(60, 'b') + "\nc\n");
}

}  // namespace
}  // namespace plumbline
