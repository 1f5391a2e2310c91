// SPDX-License-Identifier: MIT
// A contract's correctly rounded quotients, reciprocals and roots, held against the PTX before
// anything runs.
#pragma once

#include <string_view>

#include "kernels/manifest/manifest.h"

namespace plumbline {

// An Error with both lines, the manifest's and the PTX's, where the contract has such a step and
// the kernel's entries and what they call have nothing but approximate instructions for it. `file`
// names the PTX in messages.
Status check_promised_steps(const Manifest& kernel, std::string_view ptx, std::string_view file);

}  // namespace plumbline
