// SPDX-License-Identifier: MIT
// The generator of operation "quantize".
#pragma once

#include "fuzz/case/generator.h"

namespace plumbline {

const Generator& quantize_generator();

}  // namespace plumbline
