// SPDX-License-Identifier: MIT
#include "harness/launch/interrupt.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

namespace plumbline {
namespace {

std::atomic<bool> requested{false};
std::atomic<std::atomic<bool>*> also_raised{nullptr};

constexpr std::string_view kWord =
    "\nplumbline: stopping soon; what has finished is kept; interrupt again to stop at once\n";

void on_signal(int signal) {
  if (requested.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  if (std::atomic<bool>* const flag = also_raised) *flag = true;
  const int before = errno;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWord.data(), kWord.size());
  errno = before;
}

// A handler and not SIG_IGN, which programs started by this one would inherit. What is written
// after these signals fails with an error code, which is looked at.
void let_write_fail(int) {}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGPIPE, let_write_fail);
  std::signal(SIGXFSZ, let_write_fail);  // a file beyond `ulimit -f`
}

bool interrupted() { return requested.load(std::memory_order_relaxed); }

const std::atomic<bool>& interrupt_flag() { return requested; }

StopFlag::StopFlag() {
  also_raised = &raised_;
  if (interrupted()) raise();
}

StopFlag::~StopFlag() { also_raised = nullptr; }

Error interruption(std::string case_text) {
  return {ErrorKind::cannot_run, "interrupted", std::move(case_text), ""};
}

}  // namespace plumbline
