// SPDX-License-Identifier: MIT
// Forms: what a conforming kernel's f32 value can be, beside the exact one, step by step.
//
// A form is the exact value and first-order terms of the kernel's distance from it,
//
//   kernel's value = value + sum over s of symbols[s] e_s + own e,   |e_s|, |e| <= 1,
//
// where e_s is the error of an earlier step that several uses share, and `own` bounds all the
// rest: what is of second order, functions' own errors, roundings. It says nothing of the order
// in which a sum's terms are added or a product's factors multiplied, nor of what is fused: all of
// these keep the bound. Where a value need not be finite, a form is a plain range instead.
// docs/bounds/operation_texts.md derives every rule.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "oracles/bounds/accumulator/any_order.h"
#include "oracles/reference/range_verdict.h"
#include "oracles/reference/text/evaluator.h"
#include "oracles/reference/text/product_sums.h"
#include "oracles/reference/text/spans.h"

namespace plumbline::text {

// How a kernel computes a text's steps: its contract.
struct Arithmetic {
  // fast: CUDA's approximate forms may be used (__expf, __fdividef, rsqrt.approx); approx: and
  // tanh.approx; precise: the functions of CUDA's library and division to nearest.
  enum class Functions : std::uint8_t { fast, approx, precise };

  // Of a sum of n terms, how many additions a term passes through: with lanes, what partial sums
  // of `vector` neighboring terms at a time make (RowContract); without, ceil(n / 32) + 6, or in
  // any order n - 1.
  std::int64_t lanes = 0, vector = 1;
  bool any_order = false;
  Functions functions = Functions::fast;
  bool flushed = true;              // subnormal operands and results may count as 0
  bool begins_with_addend = false;  // of c + sum[...] the sum begins with c
  ProductUnit products{.unit = {Unit::fma_f32, Instruction::mma_sync}};

  std::int64_t additions(std::int64_t terms) const;
};

struct Form {
  double value = 0, error = 0;  // the exact value is within `error` of `value`
  double own = 0;
  std::array<double, kMostSymbols> symbols{};
  bool shares = false;  // some symbol is not 0
  // The kernel's value is from [low, high], or NaN where `nan` says so; low > high: nothing but.
  bool special = false, nan = false;
  // Of a form that is not special: it is from [low, high] as well.
  bool bounded = false;
  double low = 0, high = 0;

  // How far the kernel's value can be from the exact one.
  double reach() const {
    double out = own;
    if (!shares) return out;
    for (const double one : symbols) out += std::fabs(one);
    return out;
  }
};

class Forms {
 public:
  using Value = Form;

  // Of a kernel without tensor cores.
  explicit Forms(const Arithmetic& arithmetic) : arithmetic_(arithmetic) {}

  // Of one that gives some sums of the instance's program to tensor cores, where the contract says
  // so.
  Forms(const Arithmetic& arithmetic, const Instance& instance);

  const ProductSum* product_sum(const Expression& sum) const {
    return products_ ? products_->find(sum) : nullptr;
  }

  bool begins_with_addend() const { return arithmetic_.begins_with_addend; }

  // A child's value, as that of a node that is nothing else.
  Form placed(const Expression& node, std::size_t child, const Form& a) const;

  Form real(double x, double rest = 0) const;
  Form whole(std::int64_t k) const;
  Form input(double x) const;
  Form used(const Expression& node, const Form& a) const;
  Form sum(const Expression& node, std::span<const Form> of) const;
  Form product(const Expression& node, std::span<const Form> of) const;
  Form quotient(const Expression& node, const Form& a, const Form& b) const;
  Form function(const Expression& node, const Form& a) const;
  Form negate(const Expression& node, const Form& a) const;
  Form extreme(bool maximum, const Form& a, const Form& b) const;
  Form chosen(const Expression& node, std::size_t child, const Form& a) const;
  Form either(const Truth& first, const Form& a, const Form& b) const;
  Form round_to(FormatId to, const Form& a) const;
  Truth compare(Comparison op, const Form& a, const Form& b) const;

  class Total {
   public:
    Total(const Forms& forms, const Expression& node);
    void begin(const Form& first);
    void add(const Form& term, const Truth& counts);
    Form value() const;

   private:
    Form sum() const;

    const Forms& forms_;
    const Expression& node_;
    Reduction kind_;
    std::int64_t terms_ = 0;
    bool begun_ = false;  // the first term was there before
    Form total_;
    SpanSum spans_;
    double magnitude_ = 0;
    bool points_ = true, special_ = false, nan_ = false;
    int lattice_ = 1 << 20;  // 2^lattice divides all terms
  };

  // A sum of products on tensor cores. A kernel's factor may be another than the exact one where it
  // was rounded to its format.
  class Products {
   public:
    Products(const Forms& forms, const ProductSum& how) : forms_(forms), how_(how) {}

    // Of a tensor's element: no operation of f32 takes it for 0.
    static Form stored(double x) { return Forms({.flushed = false}).input(x); }

    void skip() { add(Form{}, Form{}, {true}); }

    // Before all products: the accumulator of the first instruction.
    void begin(const Form& first);

    void add(const Form& a, const Form& b, const Truth& counts);
    Form value() const;

   private:
    struct InAnyOrder {
      RunningBound bound;
      double magnitude = 0;  // of all products together
    };

    static bool is_known(const Form& x);
    InAnyOrder in_any_order() const;
    Form special_sum() const;

    const Forms& forms_;
    const ProductSum& how_;
    std::vector<Form> a_, b_;
    bool known_ = true, special_ = false;
  };

 private:
  double tiny() const;  // what a result below 2^-126 may lose
  double rounding(double least, double most) const;
  double rounding_of_point(double exact) const;
  void check(Form& a) const;
  Form special_sum(const Expression& node, std::span<const Form> of, double value,
                   double error) const;
  Form special_product(const Expression& node, std::span<const Form> of) const;

  Arithmetic arithmetic_;
  std::shared_ptr<const ProductSums> products_;  // null: there are none
};

// What a conforming kernel may round when it stores the value.
RangedElement ranged(const Form& a);

}  // namespace plumbline::text
