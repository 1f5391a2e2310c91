// SPDX-License-Identifier: MIT
// Ctrl-C: asks a run to stop at the next case and keep what it has. A second Ctrl-C ends the
// program at once.
#pragma once

namespace plumbline {

void catch_interrupts();
bool interrupted();

}  // namespace plumbline
