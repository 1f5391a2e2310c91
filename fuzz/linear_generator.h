// SPDX-License-Identifier: MIT
// The generator of operation "linear_backward".
#pragma once

#include "fuzz/generator.h"

namespace plumbline {

const Generator& linear_generator();

}  // namespace plumbline
