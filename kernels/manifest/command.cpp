// SPDX-License-Identifier: MIT
#include "kernels/manifest/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace plumbline {

CommandOutcome run_command(const std::string& command, const std::atomic<bool>* give_up) {
  CommandOutcome outcome;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return outcome;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    // The command does not outlive this program, not even where that is killed.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::array<char, 4096> buffer{};
  constexpr int kMilliseconds = 50;
  const auto stop_where_asked = [&] {
    if (give_up != nullptr && *give_up) ::kill(child, SIGKILL);
  };
  while (child > 0) {
    stop_where_asked();
    pollfd end{ends[0], POLLIN, 0};
    if (give_up != nullptr && ::poll(&end, 1, kMilliseconds) <= 0) continue;
    const ssize_t count = ::read(ends[0], buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    outcome.output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  // What it prints may have gone elsewhere, so that it goes on.
  int status = -1;
  while (child > 0) {
    stop_where_asked();
    const pid_t ended = ::waitpid(child, &status, give_up != nullptr ? WNOHANG : 0);
    if (ended == child || (ended < 0 && errno != EINTR)) break;
    if (ended == 0) ::poll(nullptr, 0, kMilliseconds);
  }
  if (child > 0 && WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (child > 0 && WIFSIGNALED(status)) outcome.exit_code = 128 + WTERMSIG(status);
  outcome.succeeded = outcome.exit_code == 0;
  return outcome;
}

}  // namespace plumbline
