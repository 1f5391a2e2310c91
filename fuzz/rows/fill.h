// SPDX-License-Identifier: MIT
// The inputs of a row operation from a value class. Inputs that a forward pass made (Y of a
// softmax, mean and rstd of a norm) are what it could have made of the others.
#pragma once

#include "fuzz/case/case.h"

namespace plumbline {

void fill_row_case(const Case& test_case, CaseTensors& tensors);

}  // namespace plumbline
