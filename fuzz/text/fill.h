// SPDX-License-Identifier: MIT
// The inputs of an operation that a text says, from a value class: those of the row operations
// (fuzz/rows/values.h) in every tensor, whose rows are all indices but the last. Inputs whose
// values the text says have those instead.
#pragma once

#include "fuzz/case/case.h"
#include "kernels/ops/text_operation.h"

namespace plumbline {

void fill_text_case(const TextOperation& operation, const Case& test_case, CaseTensors& tensors);

// Literals of inputs whose values the text says: what is outside becomes the nearest that is
// allowed, as where a size has become smaller or an element simpler.
void settle_text_values(const TextOperation& operation, Case& after);

// Whether an input says where something begins, or how much there is: integers of a range, wide
// enough to count elements of memory. (Narrower ones are codes.)
bool holds_places(const TextOperation& operation, const text::Parameter& input);

// Whether a size between brackets depends on a named one.
bool mentions(const text::Node& size, std::string_view name);

}  // namespace plumbline
