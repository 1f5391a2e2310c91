// SPDX-License-Identifier: MIT
// Definition: a text evaluated without any rounding but those that it asks for, over MPFR numbers
// (the referee) or over double (hypotheses). NaN and infinities are those of IEEE 754; a maximum
// and a minimum pass NaN over.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include "oracles/exact/real.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/text/evaluator.h"

namespace plumbline::text {

template <typename Number>
class Definition {
 public:
  using Value = Number;

  static constexpr bool kIsDouble = std::is_same_v<Number, double>;

  Number real(double x, double rest = 0) const { return Number(Number(x) + Number(rest)); }

  Number whole(std::int64_t k) const { return Number(static_cast<double>(k)); }

  Number input(double x) const { return Number(x); }

  Number used(const Expression&, const Number& a) const { return a; }

  Number sum(const Expression& node, std::span<const Number> of) const {
    Number out = node.negative[0] ? Number(-of[0]) : of[0];
    for (std::size_t i = 1; i < of.size(); ++i)
      out = node.negative[i] ? Number(out - of[i]) : Number(out + of[i]);
    return out;
  }

  Number product(const Expression&, std::span<const Number> of) const {
    Number out = of[0];
    for (std::size_t i = 1; i < of.size(); ++i) out = out * of[i];
    return out;
  }

  Number quotient(const Expression&, const Number& a, const Number& b) const {
    return Number(a / b);
  }

  Number function(const Expression& node, const Number& x) const {
    using std::abs, std::exp, std::exp2, std::floor, std::log, std::log2, std::sqrt, std::tanh,
        std::sin, std::cos;
    switch (node.function) {
      case Function::exp:
        return exp(x);
      case Function::exp2:
        return exp2(x);
      case Function::log:
        return log(x);
      case Function::log2:
        return log2(x);
      case Function::sqrt:
        return sqrt(x);
      case Function::rsqrt:
        return Number(1 / Number(sqrt(x)));
      case Function::tanh:
        return tanh(x);
      case Function::erf:
        return error_function(x);
      case Function::sin:
        return within_double(x) ? sin(x) : nan();
      case Function::cos:
        return within_double(x) ? cos(x) : nan();
      case Function::abs:
        return abs(x);
      case Function::sign:
        return x > 0 ? Number(1) : x < 0 ? Number(-1) : x;
      case Function::floor:
        return floor(x);
      case Function::round:
        return nearest_even(x);
      case Function::logb:
        return exponent(x);
      case Function::square:
        return Number(x * x);
    }
    return x;
  }

  Number negate(const Expression&, const Number& a) const { return Number(-a); }

  Number extreme(bool maximum, const Number& a, const Number& b) const {
    if (a != a) return b;
    if (b != b) return a;
    return maximum == (a > b) ? a : b;
  }

  Number chosen(const Expression&, std::size_t, const Number& a) const { return a; }

  Number either(const Truth& first, const Number& a, const Number& b) const {
    return first.holds ? a : b;
  }

  Number round_to(FormatId to, const Number& x) const {
    const Format& f = plumbline::format(to);
    if constexpr (kIsDouble) {
      return to_double(f, encode(f, x));
    } else {
      return Number(to_double(f, encode(f, Real(x))));
    }
  }

  Truth compare(Comparison op, const Number& a, const Number& b) const {
    return {Evaluator<Definition>::compared(op, a, b)};
  }

  class Total {
   public:
    Total(const Definition& definition, const Expression& node)
        : definition_(definition), kind_(static_cast<Reduction>(node.id)) {
      if (kind_ == Reduction::sum) total_ = Number(0);
      if (kind_ == Reduction::max) total_ = Number(-std::numeric_limits<double>::infinity());
      if (kind_ == Reduction::min) total_ = Number(std::numeric_limits<double>::infinity());
    }

    void add(const Number& term, const Truth&) {
      total_ = kind_ == Reduction::sum ? Number(total_ + term)
                                       : definition_.extreme(kind_ == Reduction::max, total_, term);
    }

    Number value() const { return total_; }

   private:
    const Definition& definition_;
    Reduction kind_;
    Number total_;
  };

 private:
  static Number error_function(const Number& x) {
    if constexpr (kIsDouble) {
      return std::erf(x);
    } else {
      Number out;
      mpfr_erf(out.backend().data(), x.backend().data(), MPFR_RNDN);
      return out;
    }
  }

  static Number exponent(const Number& x) {
    if constexpr (kIsDouble) {
      return std::logb(x);
    } else {
      const double end = std::numeric_limits<double>::infinity();
      if (x != x || x == end || x == -end) return Number(abs(x));
      return x == 0 ? Number(-end) : Number(mpfr_get_exp(x.backend().data()) - 1);
    }
  }

  // An angle beyond has no sine here: to reduce exp(exp(100)) by pi takes all the memory there is.
  static bool within_double(const Number& x) {
    return x <= std::numeric_limits<double>::max() && x >= std::numeric_limits<double>::lowest();
  }

  static Number nan() { return Number(std::numeric_limits<double>::quiet_NaN()); }

  static Number nearest_even(const Number& x) {
    if constexpr (kIsDouble) {
      return std::nearbyint(x);
    } else {
      Number out;
      mpfr_rint_roundeven(out.backend().data(), x.backend().data(), MPFR_RNDN);
      return out;
    }
  }
};

}  // namespace plumbline::text
