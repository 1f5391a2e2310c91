// SPDX-License-Identifier: MIT
// Literal inputs: tensors whose bits are written out in a case instead of drawn from a recipe. They
// hold the logical elements in row-major order and nothing else; where those lie in memory is the
// problem's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/case/case.h"
#include "oracles/base/result.h"

namespace plumbline {

// The value class of a case whose every input is literal. It has no seed, and value_classes() does
// not list it.
inline constexpr std::string_view kLiteralValues = "literal";

using Literals = std::vector<std::pair<std::string, Tensor>>;

const Tensor* find_literal(const Literals& literals, std::string_view name);

// Of names, shapes, formats and logical bits.
std::uint64_t literal_fingerprint(const Literals& literals);

// The logical elements of `tensor` as a contiguous tensor.
Tensor contiguous_copy(const Tensor& tensor);

// Copies a literal's elements into a tensor of the same shape and format. False when elements that
// share storage (stride 0) have different bits.
bool copy_literal(const Tensor& literal, Tensor& tensor);

// The same case with every input turned into literal bits.
Result<Case> freeze(const Case& test_case);

}  // namespace plumbline
