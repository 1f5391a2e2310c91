// SPDX-License-Identifier: MIT
// Epilogue: g, what happens to an accumulator value on its way to memory, bit for bit: the
// contract's f32 steps to nearest even, then one conversion to the output format. g is monotone
// (falling when alpha < 0), which is what the interval rule rests on; only NaN breaks the order,
// and NaN appears at one end of the range alone.
//
// A step that the problem needs and the contract does not name is done in its usual place (alpha
// first, then beta * C, bias, relu): a kernel cannot opt out of alpha by not mentioning it.
#pragma once

#include <array>
#include <cstdint>

#include "oracles/bounds/contract.h"

namespace plumbline {

// What a problem asks of the epilogue.
struct EpilogueScalars {
  float alpha = 1, beta = 0;
  bool has_bias = false, relu = false;
};

// What one element brings to it. NaN and Inf are allowed.
struct EpilogueOperands {
  float c = 0, bias = 0;
};

class Epilogue {
 public:
  Epilogue(const Contract& contract, const EpilogueScalars& scalars, FormatId output);

  // The f32 value before the conversion.
  float value(float accumulator, const EpilogueOperands& operands) const;

  // The conversion. Under stochastic rounding a value has two admissible codes; otherwise both are
  // encode()'s.
  std::uint64_t low_code(float x) const;
  std::uint64_t high_code(float x) const;

  // An order of the output codes as g passes through them with rising x: rises with the value, both
  // zeros equal. A NaN code that a finite or infinite x was converted to (overflow in e4m3) lies
  // beyond all numbers on the side of x.
  std::int64_t order_of(std::uint64_t code, float x) const;
  std::int64_t order_of(std::uint64_t code) const;  // of a code that is no NaN

  bool is_nan(std::uint64_t code) const;
  bool is_finite(std::uint64_t code) const;

  bool falling() const { return falling_; }

  bool is_identity() const { return step_count_ == 0; }

  bool stochastic() const { return options_.rounding == Rounding::stochastic; }

  const Format& output() const { return output_; }

  bool saturates() const;  // overflow ends at largest()

  double largest() const { return largest_; }  // finite output

 private:
  std::array<EpilogueStep, 5> steps_{};
  int step_count_ = 0;
  float alpha_, beta_;
  bool falling_ = false;
  EncodeOptions options_, low_options_, high_options_;
  const Format& output_;
  std::uint64_t magnitude_mask_ = 0, sign_mask_ = 0;
  double largest_ = 0;
};

// The real number that g approximates: activation(alpha y + beta c + bias) with y = hi + lo, to
// about 2^-100 of its largest term, as an unevaluated sum. All that enters must be finite.
struct TwoDoubles {
  double hi = 0, lo = 0;
};

TwoDoubles real_epilogue(const EpilogueScalars& scalars, TwoDoubles y,
                         const EpilogueOperands& operands);

}  // namespace plumbline
