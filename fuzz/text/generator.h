// SPDX-License-Identifier: MIT
// The generators of operations that a text says: one for each, made when it is first asked for.
#pragma once

#include "fuzz/case/generator.h"
#include "kernels/ops/text_operation.h"

namespace plumbline {

const Generator& text_generator(const TextOperation& operation);

}  // namespace plumbline
