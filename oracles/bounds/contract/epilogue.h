// SPDX-License-Identifier: MIT
// Epilogue: g, what happens to an accumulator value on its way to memory, bit for bit: the
// contract's f32 steps to nearest even, then one conversion to the output format. Every step is
// monotone in x, rising or falling with the sign of its factor, so g is too; that is what the
// interval rule rests on. Only NaN breaks the order. Where factors and addends are finite and no
// factor is 0 there is none; elsewhere trace() tells the pieces without NaN from the others.
//
// A smooth activation (gelu, gelu_tanh, silu) is neither monotone nor known bit for bit, and where
// numbers below 2^-126 may count as 0, g has more than one value beside them. There an epilogue is
// uncertain(): g has a range of values, which range() follows step by step, and value() is one of
// them.
//
// A step that the problem needs and the contract does not name is done in its usual place (the
// order of EpilogueStep): a kernel cannot opt out of alpha by not mentioning it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "oracles/bounds/contract/activation_range.h"
#include "oracles/bounds/contract/contract.h"
#include "oracles/bounds/contract/f32_range.h"

namespace plumbline {

// What a problem asks of the epilogue.
struct EpilogueScalars {
  float alpha = 1, beta = 0;
  bool has_bias = false;
  Activation activation = Activation::none;
  bool has_scale_a = false, has_scale_b = false;  // of the tensor, the row or the column
  bool has_scale_d = false;
  float scale_d = 1;
  std::int64_t zero_d = 0;
};

// What one element brings to it. NaN and Inf are allowed.
struct EpilogueOperands {
  float c = 0, bias = 0, scale_a = 1, scale_b = 1;
};

// A real number as an unevaluated sum.
struct TwoDoubles {
  double hi = 0, lo = 0;
};

class Epilogue {
 public:
  Epilogue(const Contract& contract, const EpilogueScalars& scalars, FormatId output);

  // The f32 value before the conversion; of a smooth activation the nearest one.
  float value(float accumulator, const EpilogueOperands& operands) const;

  // Whether values are known to a bound only: for every accumulator; for none; for some of these.
  bool uncertain() const { return is_smooth(scalars_.activation); }

  bool certain() const { return !uncertain() && !flushes_; }

  bool uncertain(const F32Range& accumulator, const EpilogueOperands& operands) const;

  // The f32 values before the conversion that a conforming epilogue can have.
  F32Range range(const F32Range& accumulator, const EpilogueOperands& operands) const;

  // The real number that g approximates, with y = hi + lo in place of the accumulator, to about
  // 2^-100 of its largest term, a smooth activation to 2^-40 of itself. All that enters must be
  // finite.
  TwoDoubles real(TwoDoubles y, const EpilogueOperands& operands) const;

  // Every factor is finite and not 0, every addend finite: no finite accumulator becomes NaN.
  bool regular(const EpilogueOperands& operands) const;
  // Whether all factors and addends are finite.
  bool finite(const EpilogueOperands& operands) const;

  // The classes (NaN, infinities, signs, zero) that an accumulator value goes through. Over finite
  // values in increasing order equal traces lie together, and within one of them g is either NaN
  // throughout or monotone: a step maps values of one class monotonically, or all of them to NaN.
  std::uint64_t trace(float accumulator, const EpilogueOperands& operands) const;

  bool falling(const EpilogueOperands& operands) const;

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

  // What the contract lists and what the problem needs besides.
  std::span<const EpilogueStep> steps() const { return {steps_.data(), step_count_}; }

  bool is_identity() const { return step_count_ == 0; }

  bool stochastic() const { return options_.rounding == Rounding::stochastic; }

  const Format& output() const { return output_; }

  bool saturates() const;  // overflow ends at largest()

  double largest() const { return largest_; }  // finite outputs

  double lowest() const { return lowest_; }

 private:
  static constexpr std::size_t kMostSteps = 8;

  struct InRanges;

  template <typename Arithmetic>
  typename Arithmetic::Number apply(std::size_t at, typename Arithmetic::Number x,
                                    const EpilogueOperands& operands, const Arithmetic& in) const;
  // What may count as 0 does, or not; `small` is set where there is such a number.
  F32Range kept_or_lost(F32Range x, bool& small) const;
  F32Range follow(F32Range x, const EpilogueOperands& operands, bool& small) const;
  bool adds_c(EpilogueStep step) const;
  // What x is multiplied by; nullopt for a step that does not multiply.
  std::optional<float> factor(EpilogueStep step, const EpilogueOperands& operands) const;

  std::array<EpilogueStep, kMostSteps> steps_{};
  std::size_t step_count_ = 0;
  EpilogueScalars scalars_;
  EncodeOptions options_, low_options_, high_options_;
  bool flushes_;
  const Format& output_;
  std::uint64_t magnitude_mask_ = 0, sign_mask_ = 0;
  // Magnitudes above them are NaN, and infinities or NaN.
  std::uint64_t largest_number_ = 0, largest_finite_ = 0;
  double largest_ = 0, lowest_ = 0;
};

}  // namespace plumbline
