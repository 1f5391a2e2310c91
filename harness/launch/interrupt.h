// SPDX-License-Identifier: MIT
// Ctrl-C: asks a run to give up the launches that are emulated, to begin nothing new, and to keep
// what it has; and says so, since exact values of a large case or a GPU may take a minute. A second
// Ctrl-C ends the program at once. A closed pipe does not end it: the record is still to be
// written.
#pragma once

#include <atomic>

#include "oracles/base/result.h"

namespace plumbline {

void catch_interrupts();
bool interrupted();

// What interrupted() looks at, for those that are not to know this file.
const std::atomic<bool>& interrupt_flag();

// A flag that Ctrl-C raises as well: for work that may have to end earlier. At most one lives at a
// time.
class StopFlag {
 public:
  StopFlag();
  StopFlag(const StopFlag&) = delete;
  StopFlag& operator=(const StopFlag&) = delete;
  ~StopFlag();

  void raise() { raised_ = true; }

  const std::atomic<bool>& raised() const { return raised_; }

 private:
  std::atomic<bool> raised_{false};
};

// The error of a case that was given up. A case that could not run after Ctrl-C counts as not
// begun.
Error interruption(std::string case_text);

}  // namespace plumbline
