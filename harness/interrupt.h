// SPDX-License-Identifier: MIT
// Ctrl-C: asks a run to stop at the next case and keep what it has, and says so, since a case may
// take a minute. A second Ctrl-C ends the program at once.
#pragma once

namespace plumbline {

void catch_interrupts();
bool interrupted();

}  // namespace plumbline
