// SPDX-License-Identifier: MIT
// When and where a run is made: the machine, and the state of the user's repository.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace plumbline {

// Now, here, with `folder` in the repository. Without a repository, or without git, there is no
// commit.
PlaceRecord place_here(const std::string& folder);

}  // namespace plumbline
