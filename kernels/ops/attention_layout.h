// SPDX-License-Identifier: MIT
// How the tensors of an attention problem lie in memory. All of q, k, v, o and their gradients are
// logically [batch, heads, length, width]; `layout` says in which order the first three lie, `pad`
// how many elements follow each row, `kv` whether all of the batch shares one k and v (stride 0;
// their gradients are those of each batch element).
// With varying lengths batch is 1 and `length` holds all sequences.
#pragma once

#include <cstdint>

#include "kernels/manifest/problem.h"
#include "oracles/base/result.h"
#include "oracles/formats/tensor.h"

namespace plumbline {

// dq lies as q does, d_o as o.
enum class AttentionMatrix : std::uint8_t { q, k, v, o, dk, dv };

// Sizes in effect where the problem leaves them at their defaults.
std::int64_t attention_kv_heads(const Problem& problem);
std::int64_t attention_value_width(const Problem& problem);
bool attention_lengths_vary(const Problem& problem);

Result<TensorLayout> attention_layout(const Problem& problem, AttentionMatrix matrix,
                                      FormatId format);

}  // namespace plumbline
