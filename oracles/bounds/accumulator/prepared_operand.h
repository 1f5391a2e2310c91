// SPDX-License-Identifier: MIT
// What the running bound needs of each operand element, as three numbers that multiply:
//             of an element                              of the product of two
//   value     the element itself                         the exact product t
//   exponent  2^e, e its exponent field's value          2^(e_a + e_b), not renormalized
//             (a subnormal has the format's minimum)
//   lowest    2^l, l the position of its lowest set bit  the weight of t's lowest set bit
// A zero has exponent weight 0 and lowest weight infinity, so that it never raises a maximum or
// lowers a minimum. NaN and Inf count as zero: rows that hold them are judged by class.
//
// Scales of a block-scaled unit are multiplied in: an element times its scale, whose exponents add.
// Where a node adds groups of products exactly (FP4), the exponent is that of the scale alone.
//
// A panel holds kPanelLanes vectors interleaved, [k][lane], for eight dot products at a time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace plumbline {

inline constexpr int kPanelLanes = 8;

struct PreparedElement {
  float value, exponent, lowest;
};

// minimum_exponent: emin of the format the operand is stored in.
PreparedElement prepare(float element, int minimum_exponent);

// What a block-scaled unit multiplies a vector by: elements [i * depth, (i + 1) * depth) by
// values[i * stride]. Null values are none. One that is not finite counts as 0.
struct OperandScales {
  const float* values = nullptr;
  std::int64_t stride = 1, depth = 1;
  int minimum_exponent = 0;  // emin of their format
  std::int64_t group = 1;    // products that are added exactly (NodeModel::group)

  // Of element p; 1 where there are none.
  float at(std::int64_t p) const { return values == nullptr ? 1 : values[p / depth * stride]; }
};

// A row of A or a column of B. Nothing is owned: who hands a vector or a panel of them to
// running_bounds() keeps the elements and scales until then.
struct BoundOperand {
  const float* elements = nullptr;
  OperandScales scales{};

  BoundOperand() = default;

  BoundOperand(const float* plain) : elements(plain) {}

  BoundOperand(const float* scaled, const OperandScales& by) : elements(scaled), scales(by) {}
};

// An element with its scale, in double's range.
struct ScaledElement {
  double value, exponent, lowest;
};

ScaledElement prepare(const BoundOperand& operand, std::int64_t p, int minimum_exponent);

// One vector, in double so that the vector path can broadcast without converting.
struct PreparedVector {
  BoundOperand source;
  std::vector<double> value, exponent, lowest;  // to the end of the last group

  void assign(const BoundOperand& operand, std::int64_t k, int minimum_exponent);
};

struct PreparedPanel {
  std::int64_t k = 0;
  std::array<BoundOperand, kPanelLanes> sources;
  std::vector<float> value, exponent, lowest;  // [k, to the end of the last group][kPanelLanes]
  // Lanes with scaled elements beyond the range of f32, which are left out here.
  std::array<bool, kPanelLanes> beyond{};

  // Operands without elements stand for zeros.
  void assign(const std::array<BoundOperand, kPanelLanes>& operands, std::int64_t length,
              int minimum_exponent);
};

}  // namespace plumbline
