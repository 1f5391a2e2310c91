// SPDX-License-Identifier: MIT
// Fills the input tensors of a SwiGLU MLP by its value class: those of GEMM, and one about gates.
#pragma once

#include <span>
#include <string_view>

#include "fuzz/case/case.h"

namespace plumbline {

std::span<const std::string_view> swiglu_value_classes();

void swiglu_fill(const Case& test_case, CaseTensors& tensors);

}  // namespace plumbline
