// SPDX-License-Identifier: MIT
// The generator of operation "linear_backward".
#pragma once

#include "fuzz/case/generator.h"

namespace plumbline {

const Generator& linear_generator();

}  // namespace plumbline
