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
namespace {

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The command and all it starts are one process group, led by a process that waits for the command
// and kills the group when this program ends first. (A death signal alone reaches the shell, but
// not the compiler's children.) Runs in a child of fork(), so nothing here may allocate.
[[noreturn]] void lead_group(const char* command, pid_t parent, int output) {
  sigset_t awaited, before;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &awaited, &before);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  const pid_t shell = ::fork();
  if (shell == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execl("/bin/sh", "sh", "-c", command, nullptr);
    ::_exit(127);
  }
  if (shell < 0) ::_exit(127);
  ::close_range(3, ~0U, 0);  // pipes of other commands, whose ends are waited for
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(shell, &status, WNOHANG);
    if (ended != 0) ::_exit(ended == shell ? exit_code_of(status) : 127);
    if (::sigwaitinfo(&awaited, nullptr) == SIGTERM) ::kill(0, SIGKILL);
  }
}

}  // namespace

CommandOutcome run_command(const std::string& command, const std::atomic<bool>* give_up) {
  CommandOutcome outcome;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return outcome;
  // The parent process may have left SIGCHLD ignored: waitpid() would then not tell how the command
  // ended.
  ::signal(SIGCHLD, SIG_DFL);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) lead_group(command.c_str(), parent, ends[1]);
  ::close(ends[1]);
  std::array<char, 4096> buffer{};
  constexpr int kMilliseconds = 50;
  const auto stop_where_asked = [&] {
    if (give_up == nullptr || !*give_up) return;
    ::kill(-child, SIGKILL);
    ::kill(child, SIGKILL);  // before it leads its group
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
  if (child > 0 && status != -1) outcome.exit_code = exit_code_of(status);
  outcome.succeeded = outcome.exit_code == 0;
  return outcome;
}

}  // namespace plumbline
