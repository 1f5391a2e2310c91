// SPDX-License-Identifier: MIT
#include "oracles/reference/swiglu/hidden.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/numbers.h"
#include "oracles/bounds/contract/silu_range.h"
#include "oracles/exact/real.h"
#include "oracles/reference/gemm/definition.h"
#include "oracles/reference/gemm/matrix_operand.h"
#include "oracles/reference/gemm/referee.h"
#include "oracles/reference/swiglu/silu.h"

namespace plumbline {
namespace {

// The numbers that stand in where double does not do.
using Number = RealOf<256>;

GemmProblem product_of(const SwigluProblem& mlp, const Tensor& x, const Tensor& weights) {
  GemmProblem gemm;
  gemm.m = mlp.tokens(), gemm.n = mlp.hidden(), gemm.k = mlp.d();
  gemm.a = &x;
  gemm.b = &weights;
  return gemm;
}

Certified value_of(const SumEnclosure& sum) {
  return Certified(sum.hi) + Certified{sum.lo, sum.bound};
}

bool holds_one_class(ClassSet classes) {
  using enum ResultClass;
  return classes.is_only(nan) || classes.is_only(plus_infinity) || classes.is_only(minus_infinity);
}

// A sum as a number: of the class it must have, or added up.
Number number_of(const PreparedGemm& gemm, const GemmPlace& at) {
  if (!gemm.special(at)) return Number(real_value(gemm.exact_sum(at)));
  const ClassSet classes = gemm.special_classes(at);
  if (holds_one_class(classes)) return Number(special_value(classes));
  return Number(gemm_sum(gemm.problem, at.batch, at.i, at.j));
}

}  // namespace

SwigluHidden::SwigluHidden(const SwigluProblem& mlp, const SwigluContract& contract, int sm)
    : mlp_(mlp),
      contract_(contract),
      x_(as_operand(*mlp.x, false)),
      w_gate_(as_operand(*mlp.gate, true)),
      w_up_(as_operand(*mlp.up, true)),
      gate_(product_of(mlp, x_, w_gate_), contract.product(), sm, 1),
      up_(product_of(mlp, x_, w_up_), contract.product(), sm, 1) {}

const SwigluHidden::Sums& SwigluHidden::sums(int threads) const {
  std::call_once(sums_once_, [&] {
    sums_ = {gemm_sums(gate_.operands, threads), gemm_sums(up_.operands, threads)};
  });
  return sums_;
}

SwigluHidden::Sums SwigluHidden::sums_by_definition(int bits, int threads) const {
  return {plumbline::sums_by_definition(gate_, bits, threads),
          plumbline::sums_by_definition(up_, bits, threads)};
}

bool SwigluHidden::cannot_overflow(const GemmPlace& at) const {
  return gate_.cannot_overflow(at, gate_.magnitude(at)) &&
         up_.cannot_overflow(at, up_.magnitude(at));
}

KnownSum SwigluHidden::known_exactly(const PreparedGemm& gemm, const GemmPlace& at) {
  KnownSum known;
  if (gemm.special(at)) {
    known.classes = gemm.special_classes(at);
    return known;
  }
  const RunningBound bound = gemm.bound(at);
  known.sum = enclosure_of(gemm.exact_sum(at));
  known.error = bound.error;
  known.classes = bound.classes;
  return known;
}

F32Range SwigluHidden::accumulators(const PreparedGemm& gemm, const KnownSum& known) {
  F32Range out = F32Range::only_nan();
  out.nan = known.classes.has(ResultClass::nan);
  if (known.classes.has(ResultClass::finite)) {
    const GridRange range = accumulator_range(gemm.grid, known.sum, known.error).outer;
    const std::int64_t first = std::max(range.first, gemm.grid.lowest()),
                       last = std::min(range.last, gemm.grid.highest());
    if (first <= last) out.low = gemm.grid.value(first), out.high = gemm.grid.value(last);
  }
  if (known.classes.has(ResultClass::minus_infinity)) {
    out.low = -kFloatInfinity;
    out.high = std::max(out.high, -kFloatInfinity);
  }
  if (known.classes.has(ResultClass::plus_infinity)) {
    out.low = std::min(out.low, kFloatInfinity);
    out.high = kFloatInfinity;
  }
  return out;
}

F32Range SwigluHidden::products(const F32Range& gate, const F32Range& up) const {
  return silu_range(contract_.silu, gate) * up;
}

Certified SwigluHidden::by_mpfr(const GemmPlace& at) const {
  const auto value = static_cast<double>(silu(number_of(gate_, at)) * number_of(up_, at));
  if (!std::isfinite(value)) return Certified(value);
  return {value, std::fabs(value) * 0x1p-52 + certified::kTiny};
}

Certified SwigluHidden::exact(const GemmPlace& at, const SumEnclosure& gate,
                              const SumEnclosure& up) const {
  const Certified value = silu(value_of(gate)) * value_of(up);
  return std::isfinite(value.value) && std::isfinite(value.error) ? value : by_mpfr(at);
}

Certified SwigluHidden::special_value(const GemmPlace& at) const { return by_mpfr(at); }

RangedElement SwigluHidden::element(const GemmPlace& at) const {
  const KnownSum gate = known_exactly(gate_, at), up = known_exactly(up_, at);
  return {products(accumulators(gate_, gate), accumulators(up_, up)),
          special(at) ? by_mpfr(at) : exact(at, gate.sum, up.sum)};
}

}  // namespace plumbline
