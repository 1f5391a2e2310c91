// SPDX-License-Identifier: MIT
#include "harness/interrupt.h"

#include <atomic>
#include <csignal>

namespace plumbline {
namespace {

std::atomic<bool> requested{false};

void on_signal(int signal) {
  if (requested.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

bool interrupted() { return requested.load(std::memory_order_relaxed); }

}  // namespace plumbline
