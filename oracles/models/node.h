// SPDX-License-Identifier: MIT
// The T-FDPA node ("truncated fused dot-product-add"): how NVIDIA tensor cores add. One node takes
// L products and an accumulator and gives one result:
//   1. products are exact and not renormalized (exponent = sum of the operands' exponents);
//   2. all terms, the accumulator too, are aligned to the largest exponent and cut to F fraction
//      bits, toward zero;
//   3. the sum of those is exact;
//   4. one conversion to the output: toward zero to f32 or to 1+13 bits, or to nearest even f16.
// Longer dot products are chains of nodes in increasing k. node() is the readable specification;
// mma_fast() in mma.h is the vector path, which gives the same bits or declines.
// Sources: Xie et al., MMA-Sim, arXiv 2511.10909; Khattak & Mikaitis, arXiv 2512.07004.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "oracles/formats/decode.h"
#include "oracles/formats/format.h"

namespace plumbline {

// The conversion at the end of a node.
enum class NodeOutput : std::uint8_t {
  f32_toward_zero,    // 24 bits; overflow gives Inf
  e8m13_toward_zero,  // 1+13 bits in an f32 register (FP8 on Ada and Hopper wgmma)
  f16_nearest_even,
};

// Of C and of the result; those of 14 bits are kept in an f32 register.
const Format& accumulator_format(NodeOutput output);

struct NodeModel {
  int products;       // L: the most products one node takes
  int fraction_bits;  // F: bits kept below the alignment exponent
  int zero_exponent;  // e_zero: the alignment exponent never goes below it
  NodeOutput output;
  // Of scaled_node(): so many products with one scale are added exactly before anything is cut.
  int group = 1;
};

// One node. a and b hold up to model.products codes of the formats; c is an f32 pattern (f16 when
// the output is f16).
std::uint32_t node(const NodeModel& model, const Format& a_format, const Format& b_format,
                   std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                   std::uint32_t c);

// The same for operands that are decoded already, for callers that use each of them many times.
std::uint32_t node(const NodeModel& model, const Format& a_format, const Format& b_format,
                   std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c);

// What the products of a block-scaled instruction are multiplied by: a[j] * b[j] belongs to number
// j of equal blocks of them. The format is ue8m0, or e4m3 (ue4m3 with its sign bit cleared).
struct NodeScales {
  FormatId format;
  std::span<const Decoded> a, b;
};

// The node of a block-scaled instruction. An addend's exponent is that of its scales, and of its
// product where that is alone; a sum of products does not move it. A group is exactly zero, and so
// aligned to e_zero, where every product or a scale is; a sum that cancels is not.
// Source: MMA-Sim 2.1 (ST-FDPA and GST-FDPA).
std::uint32_t scaled_node(const NodeModel& model, const Format& a_format, const Format& b_format,
                          std::span<const Decoded> a, std::span<const Decoded> b,
                          const NodeScales& scales, std::uint32_t c);

// How an instruction strings nodes together.
enum class Chaining : std::uint8_t {
  in_order,    // node i takes k = iL .. iL+L-1 and the previous result
  hopper_fp8,  // FP8 mma.sync on sm_90/sm_100: k mod 4 in {0,1}, then {2,3}, from zero; then one RN
               // addition of C
};

struct DotModel {
  NodeModel node;
  Chaining chaining = Chaining::in_order;
};

// One output element of an instruction with any number of products.
std::uint32_t dot(const DotModel& model, const Format& a_format, const Format& b_format,
                  std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                  std::uint32_t c);

std::uint32_t dot(const DotModel& model, const Format& a_format, const Format& b_format,
                  std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c);

}  // namespace plumbline
