// SPDX-License-Identifier: MIT
#include "oracles/reference/gemm/referee.h"

#include <cmath>

#include "oracles/base/assert.h"
#include "oracles/exact/parallel.h"
#include "oracles/exact/real.h"
#include "oracles/reference/gemm/definition.h"

namespace plumbline {
namespace {

ClassSet class_of(const Real& x) {
  if (isnan(x)) return ResultClass::nan;
  if (isinf(x)) return x < 0 ? ResultClass::minus_infinity : ResultClass::plus_infinity;
  return ResultClass::finite;
}

bool lies_in(const Dyadic& exact, const SumEnclosure& sum) {
  const Dyadic distance = (exact - Dyadic(sum.hi) - Dyadic(sum.lo)).abs();
  return !(Dyadic(sum.bound) < distance);
}

}  // namespace

bool definition_agrees(const PreparedGemm& gemm, const GemmPlace& at, const SumEnclosure& sum,
                       std::uint64_t got, bool passes) {
  const Real defined = gemm_sum(gemm.problem, at.batch, at.i, at.j);
  ElementKnowledge known;
  if (class_of(defined) != ResultClass::finite) {
    if (!gemm.special(at)) return false;
    // A finite partial sum that overflows may turn a defined Inf into NaN, nothing else.
    known.classes = gemm.special_classes(at);
    return passes == decide(gemm, at, known, got).judgement.inside;
  }
  if (gemm.special(at)) return false;
  const Dyadic exact = dyadic_value(defined);
  if (!lies_in(exact, sum)) return false;
  known.sum = enclosure_of(exact);
  if (!gemm.model) return passes == decide_int32(gemm, at, known.sum, got).judgement.inside;
  const RunningBound bound = gemm.bound(at);
  known.error = bound.error;
  known.classes = bound.classes;
  return passes == decide_exactly(gemm, at, exact, known, got).judgement.inside;
}

SumEnclosures sums_by_definition(const PreparedGemm& gemm, int bits, int threads) {
  const std::int64_t outputs = gemm.problem.outputs();
  SumEnclosures sums;
  for (ZeroedVector<double>* part : {&sums.hi, &sums.lo, &sums.bound})
    part->resize(static_cast<std::size_t>(outputs));
  PLUMB_ASSERT(mpfr_buildopt_tls_p() != 0);
  const int precision =
      at_precision(bits, []<typename Number>() { return precision_bits<Number>(); });
  for_each_block(outputs, 64, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      const GemmPlace at = gemm.place(index);
      if (gemm.special(at)) continue;
      mpfr_clear_inexflag();  // of this thread
      const SumEnclosure sum =
          enclosure_of(dyadic_value(gemm_sum(gemm.problem, at.batch, at.i, at.j, bits)));
      const bool exact = mpfr_inexflag_p() == 0;
      const auto s = static_cast<std::size_t>(index);
      sums.hi[s] = sum.hi;
      sums.lo[s] = sum.lo;
      // A product and an addition per element of k, and a product and an addition per block, each
      // within 2^-precision of at most the sum of magnitudes.
      const double lost = exact ? 0
                                : 4.0 * static_cast<double>(gemm.problem.k) *
                                      std::ldexp(gemm.magnitude(at), -precision) * (1 + 0x1p-20);
      sums.bound[s] = sum.bound + lost;
    }
  });
  return sums;
}

}  // namespace plumbline
