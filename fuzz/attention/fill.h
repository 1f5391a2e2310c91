// SPDX-License-Identifier: MIT
// Fills the input tensors of an attention case by its value class and lengths.
#pragma once

#include "fuzz/attention/values.h"
#include "fuzz/case/case.h"

namespace plumbline {

void attention_fill(const Case& test_case, CaseTensors& tensors);

// What a class is told of a case.
AttentionContext attention_context(const Case& test_case, const CaseTensors& tensors);

}  // namespace plumbline
