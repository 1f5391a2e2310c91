// SPDX-License-Identifier: MIT
#include "harness/cli/text/console_text.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace plumbline {
namespace {

constexpr const char* kReplaced = "\xEF\xBF\xBD";

TEST(ConsoleText, KeepsItsOwnColorsAndNoOtherEscape) {
  EXPECT_EQ(console_text("\x1b[31mFAIL\x1b[0m k"), "\x1b[31mFAIL\x1b[0m k");
  EXPECT_EQ(console_text("a\x1b[2Jb\x1b]0;title\a"),
            std::string("a") + kReplaced + "[2Jb" + kReplaced + "]0;title" + kReplaced);
  EXPECT_EQ(console_text("10 % of 2^-24, \xC3\x97 2"), "10 % of 2^-24, \xC3\x97 2");
  EXPECT_EQ(console_text("\xff"), kReplaced);
}

TEST(ConsoleText, ALineHasNoSecondOne) {
  EXPECT_EQ(console_line("a\nfail: another kernel"), "a fail: another kernel");
  EXPECT_EQ(console_line("a\rb\tc"), "a b c");
}

TEST(ConsoleText, HoldsNoWorkflowCommandWhereGitHubReads) {
  const char* before = std::getenv("GITHUB_ACTIONS");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("GITHUB_ACTIONS", "true", 1);
  EXPECT_EQ(console_text("one\n  ::stop-commands::x\n::error::y"),
            "one\n  : :stop-commands::x\n: :error::y");
  EXPECT_EQ(console_text("a ##[group]b"), "a ## [group]b");
  EXPECT_EQ(console_text("lib::kernel"), "lib::kernel");
  ::unsetenv("GITHUB_ACTIONS");
  EXPECT_EQ(console_text("::error::y"), "::error::y");
  if (before != nullptr) ::setenv("GITHUB_ACTIONS", kept.c_str(), 1);
}

TEST(ConsoleText, HoldsNoCommandWhereAzurePipelinesRead) {
  ::setenv("TF_BUILD", "True", 1);
  EXPECT_EQ(console_text("a ##vso[task.setvariable]b"), "a ## vso[task.setvariable]b");
  ::unsetenv("TF_BUILD");
}

}  // namespace
}  // namespace plumbline
