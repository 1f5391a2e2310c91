// SPDX-License-Identifier: MIT
// Which formats tensors can have (TensorName::formats): lists that operations share. An oracle
// reads or judges every format it lists here; a manifest that asks for another is refused.
#pragma once

#include <array>
#include <string_view>

namespace plumbline::tensor_formats {

template <std::size_t kCount>
using Names = std::array<std::string_view, kCount>;

// Floating point numbers of memory, as inputs and as what arithmetic in f32 is stored as.
inline constexpr Names<5> kFloat = {"bf16", "f16", "f32", "e4m3", "e5m2"};
inline constexpr Names<3> kStored = {"bf16", "f16", "f32"};
// Factors of products of a tensor core, of f32 FMAs, and of int32 sums.
inline constexpr Names<9> kFactor = {"bf16", "f16",  "f32", "tf32", "e4m3",
                                     "e5m2", "e2m1", "s8",  "u8"};
inline constexpr Names<7> kRealFactor = {"bf16", "f16", "f32", "tf32", "e4m3", "e5m2", "e2m1"};
// Of scores and of what is summed by probabilities.
inline constexpr Names<6> kAttentionFactor = {"bf16", "f16", "f32", "e4m3", "e5m2", "s8"};
// What only one format makes sense for.
inline constexpr Names<1> kF32 = {"f32"};
inline constexpr Names<1> kIndices = {"s32"};
// Scales of blocks: a number, a power of two, or ue4m3, which is stored as an e4m3 without a sign.
inline constexpr Names<3> kScale = {"f32", "ue8m0", "e4m3"};

}  // namespace plumbline::tensor_formats
