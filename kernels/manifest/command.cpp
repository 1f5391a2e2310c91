// SPDX-License-Identifier: MIT
#include "kernels/manifest/command.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace plumbline {

CommandOutcome run_command(const std::string& command) {
  CommandOutcome outcome;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return outcome;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    // The command does not outlive this program, not even where that is killed.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::array<char, 4096> buffer{};
  while (child > 0) {
    const ssize_t count = ::read(ends[0], buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    outcome.output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.succeeded = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return outcome;
}

}  // namespace plumbline
