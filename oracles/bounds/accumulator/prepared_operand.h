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

// One vector, in double so that the vector path can broadcast without converting.
struct PreparedVector {
  std::vector<double> value, exponent, lowest;

  void assign(const float* elements, std::int64_t k, int minimum_exponent);
};

struct PreparedPanel {
  std::int64_t k = 0;
  std::vector<float> value, exponent, lowest;  // [k][kPanelLanes]

  // Null vectors stand for zeros.
  void assign(const std::array<const float*, kPanelLanes>& vectors, std::int64_t length,
              int minimum_exponent);
};

}  // namespace plumbline
