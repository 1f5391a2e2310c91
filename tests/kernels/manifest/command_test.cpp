// SPDX-License-Identifier: MIT
// Commands that are given up, or whose program is killed, leave no process behind: a compiler that
// went on would take a core, and write into folders that others use by then.
#include "kernels/manifest/command.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

namespace plumbline {
namespace {

// A shell with a child of its own, as nvcc has. Both hold the write end of `open_`.
class CommandWithChildren : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe(open_.data()), 0); }

  std::string command() const {
    return "sleep 100 & echo begun >&" + std::to_string(open_[1]) + "; sleep 100; true";
  }

  void wait_until_begun() {
    std::array<char, 6> word{};
    ASSERT_EQ(::read(open_[0], word.data(), word.size()), 6);
  }

  bool all_end() {
    ::close(open_[1]);
    pollfd end{open_[0], POLLIN, 0};
    constexpr int kMilliseconds = 20'000;
    char byte = 0;
    return ::poll(&end, 1, kMilliseconds) == 1 && ::read(open_[0], &byte, 1) == 0;
  }

  std::array<int, 2> open_{};
};

TEST_F(CommandWithChildren, EndsWhenItsProgramIsKilled) {
  const pid_t program = ::fork();
  if (program == 0) {
    run_command(command());
    ::_exit(0);
  }
  wait_until_begun();
  ::kill(program, SIGKILL);
  ASSERT_EQ(::waitpid(program, nullptr, 0), program);
  EXPECT_TRUE(all_end());
}

TEST_F(CommandWithChildren, EndsWhenItIsGivenUp) {
  std::atomic<bool> give_up{false};
  CommandOutcome outcome;
  std::thread running([&] { outcome = run_command(command(), &give_up); });
  wait_until_begun();
  give_up = true;
  running.join();
  EXPECT_TRUE(all_end());
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
}

TEST(Command, SaysHowItEndedWhereSigchldWasIgnored) {
  std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run_command("exit 3").exit_code, 3);
  std::signal(SIGCHLD, SIG_DFL);
}

TEST(Command, GivesWhatWasPrintedAndHowItEnded) {
  const CommandOutcome outcome = run_command("echo out; echo err >&2; exit 7");
  EXPECT_EQ(outcome.output, "out\nerr\n");
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(run_command("kill -ABRT $$").exit_code, 128 + SIGABRT);
  EXPECT_TRUE(run_command("true").succeeded);
}

}  // namespace
}  // namespace plumbline
