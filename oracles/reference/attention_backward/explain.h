// SPDX-License-Identifier: MIT
// One gradient in words: where it lies, what it should be, and which simple fault would give the
// values that its whole row has.
#pragma once

#include "oracles/reference/attention_backward/judge.h"

namespace plumbline {

Explanation explain_gradient(const GradientOperands& operands, const GradientJudge& judge,
                             GradientOutput output, const ElementVerdict& verdict,
                             const Tensor& got);

}  // namespace plumbline
