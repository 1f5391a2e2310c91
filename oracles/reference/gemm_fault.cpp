// SPDX-License-Identifier: MIT
// What a GEMM with a given fault may store in an element: the exact sum of the products it would
// take, the running bound of the contract on those, its epilogue, and the interval rule.
#include <cmath>

#include "oracles/bounds/bound_arithmetic.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/formats/decode.h"
#include "oracles/reference/gemm_hypotheses.h"

namespace plumbline {
namespace {

// The operand vectors as the faulty kernel takes them.
struct Vectors {
  std::vector<float> row, column;

  std::int64_t k() const { return static_cast<std::int64_t>(row.size()); }
};

Vectors vectors_of(const GemmCase& gemm, const GemmFault& fault, const GemmPlace& at) {
  const float *row = gemm.row(at), *column = gemm.column(at);
  Vectors out;
  const auto take = [&](std::int64_t p) {
    out.row.push_back(row[p]);
    out.column.push_back(column[p]);
  };
  for (std::int64_t p = 0; p < gemm.problem.k; ++p) {
    if (fault.skipped.empty() || p < fault.skipped.begin || p >= fault.skipped.end) take(p);
    if (!fault.repeated.empty() && p + 1 == fault.repeated.end) {
      for (std::int64_t again = fault.repeated.begin; again < fault.repeated.end; ++again)
        take(again);
    }
  }
  return out;
}

struct Sum {
  Dyadic exact;
  double error = 0;
};

double bf16_value(const Dyadic& exact) {
  const Format& bf16 = format(FormatId::bf16);
  return to_double(bf16, encode(bf16, exact.unrounded()));
}

// Partial sums as bf16, exactly but where the accumulator's error makes the rounding ambiguous;
// then f32 additions.
Sum bf16_partial_sums(const GemmCase& gemm, const GemmFault& fault, const Vectors& vectors) {
  BoundModel ranges = *gemm.model;
  ranges.schedule = Schedule::split_k;
  ranges.parts = fault.bf16_parts;
  ranges.interval = fault.bf16_block;
  BoundModel chain = *gemm.model;
  chain.schedule = Schedule::sequential;
  const std::int64_t k = vectors.k(), length = ranges.part_length(k);
  Sum total;
  double magnitude = 0;
  for (std::int64_t begin = 0; begin < k; begin += length) {
    const std::int64_t count = std::min(length, k - begin);
    const float *row = vectors.row.data() + begin, *column = vectors.column.data() + begin;
    const Dyadic part = exact_dot(row, column, count);
    const double error = running_bound(chain, row, column, count).error;
    const double rounded = bf16_value(part);
    if (!std::isfinite(rounded)) return {Dyadic(), std::numeric_limits<double>::infinity()};
    const double low = bf16_value(part - Dyadic(error)), high = bf16_value(part + Dyadic(error));
    total.exact = total.exact + Dyadic(rounded);
    total.error += std::max(high - rounded, rounded - low);
    magnitude += std::fabs(rounded);
    if (begin > 0) total.error += magnitude * 0x1p-23;
  }
  return total;
}

bool inside_place(const GemmProblem& problem, const GemmPlace& at) {
  return at.batch >= 0 && at.batch < problem.batch && at.i >= 0 && at.i < problem.m && at.j >= 0 &&
         at.j < problem.n;
}

EpilogueOperands operands_of(const GemmCase& gemm, const GemmFault& fault, const GemmPlace& at) {
  EpilogueOperands operands = gemm.epilogue_operands(at);
  if (fault.swapped_bias) {
    operands.bias = gemm.bias_at(gemm.problem.bias_kind == BiasKind::per_column ? at.i : at.j);
  }
  return operands;
}

}  // namespace

bool can_tell(const GemmCase& gemm, const GemmFault& fault, const GemmPlace& at) {
  if (!fault.swapped_bias) return true;
  return gemm.problem.bias_kind == BiasKind::per_column ? at.i < gemm.problem.n
                                                        : at.j < gemm.problem.m;
}

bool fits(const GemmCase& gemm, const GemmFault& fault, const GemmPlace& at, std::uint64_t got) {
  if (!can_tell(gemm, fault, at)) return true;
  const Epilogue& right = gemm.epilogue;
  if (fault.zero) return right.order_of(got) == 0;
  if (fault.reads_c) {
    const GemmTensorReader c(*gemm.problem.c);
    return right.is_nan(got) &&
           !std::isfinite(to_double(format(gemm.problem.c->layout.format), c.bits(at)));
  }
  const GemmPlace source = fault.source ? fault.source(at) : at;
  if (!inside_place(gemm.problem, source) || gemm.special(source) || !gemm.model) return false;

  const Vectors vectors = vectors_of(gemm, fault, source);
  Sum sum;
  if (fault.bf16_parts > 0) {
    sum = bf16_partial_sums(gemm, fault, vectors);
  } else {
    sum.exact = exact_dot(vectors.row.data(), vectors.column.data(), vectors.k());
    const RunningBound bound =
        running_bound(*gemm.model, vectors.row.data(), vectors.column.data(), vectors.k());
    if (!bound.classes.is_only(ResultClass::finite)) return false;
    sum.error = bound.error;
  }
  if (!std::isfinite(sum.error)) return false;
  Contract contract = gemm.contract;
  contract.output = fault.output;
  const Epilogue epilogue(contract, fault.scalars, gemm.problem.output);
  const GridRange range = accumulator_range(gemm.grid, sum.exact, sum.error).outer;
  const auto stored_with = [&](const EpilogueOperands& operands) {
    return ElementRule(epilogue, gemm.grid, operands).judge(range, ResultClass::finite, got).inside;
  };
  // A product from elsewhere may have met the epilogue there or here.
  return stored_with(operands_of(gemm, fault, at)) ||
         (fault.source && stored_with(operands_of(gemm, fault, source)));
}

}  // namespace plumbline
