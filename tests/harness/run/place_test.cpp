// SPDX-License-Identifier: MIT
#include "harness/run/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/manifest/command.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(Place, IsTheMachineAndTheStateOfTheRepository) {
  const std::string folder = testing::TempDir() + "/place of a run";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  // No repository around the folder of temporary files counts.
  ::setenv("GIT_CEILING_DIRECTORIES", testing::TempDir().c_str(), 1);
  const PlaceRecord nowhere = place_here(folder);
  EXPECT_THAT(nowhere.date, MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_THAT(nowhere.instruction_set, HasSubstr(", "));
  EXPECT_EQ(nowhere.commit, "");
  EXPECT_FALSE(nowhere.uncommitted_changes);

  const std::string git = "cd '" + folder + "' && git -c user.name=a -c user.email=a@b ";
  ASSERT_TRUE(run_command(git + "init -q").succeeded);
  EXPECT_EQ(place_here(folder).commit, "");
  std::ofstream(folder + "/kernel.cu") << "one\n";
  ASSERT_TRUE(run_command(git + "add kernel.cu").succeeded);
  ASSERT_TRUE(run_command(git + "commit -qm one").succeeded);
  const PlaceRecord clean = place_here(folder);
  EXPECT_EQ(clean.commit.size(), 40u);
  EXPECT_FALSE(clean.uncommitted_changes);
  std::ofstream(folder + "/kernel.cu") << "two\n";
  EXPECT_TRUE(place_here(folder).uncommitted_changes);
  EXPECT_EQ(place_here(folder).commit, clean.commit);
  ::unsetenv("GIT_CEILING_DIRECTORIES");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plumbline
