// SPDX-License-Identifier: MIT
#include "oracles/reference/swiglu/oracle.h"

#include <cmath>

#include "oracles/exact/parallel.h"
#include "oracles/reference/gemm/matrix_operand.h"
#include "oracles/reference/swiglu/explain.h"
#include "oracles/reference/swiglu/hidden_judge.h"

namespace plumbline {

SwigluOracle::SwigluOracle(const SwigluProblem& mlp, const SwigluContract& contract, int sm)
    : mlp_(mlp), hidden_(mlp, contract, sm) {
  GemmProblem product;
  product.m = mlp.tokens(), product.n = mlp.d_out(), product.k = mlp.hidden();
  product.a = output_.keep(as_operand(*mlp.h, false));
  product.b = output_.keep(as_operand(*mlp.down, true));
  product.output = mlp.output;
  output_.add(0, "", product, contract.product(), sm);
}

OutputVerdict SwigluOracle::judge(int output, const Tensor& got,
                                  const JudgeOptions& options) const {
  if (output == kOutput) return output_.judge(0, got, options);
  if (options.mpfr_bits == 0)
    return HiddenJudge(hidden_, hidden_.sums(options.threads), got, options).run();
  const SwigluHidden::Sums defined = hidden_.sums_by_definition(options.mpfr_bits, options.threads);
  return HiddenJudge(hidden_, defined, got, options).run();
}

ElementVerdict SwigluOracle::element(int output, std::int64_t index, std::uint64_t got) const {
  if (output == kOutput) return output_.element(0, index, got);
  return range_verdict(format(mlp_.h->layout.format), index,
                       hidden_.element(hidden_.gate().place(index)), got);
}

Explanation SwigluOracle::explain(int output, std::int64_t index, const Tensor& got) const {
  return output == kOutput ? output_.explain(0, index, got) : explain_hidden(hidden_, index, got);
}

std::vector<double> SwigluOracle::hidden_values(int threads) const {
  const SwigluHidden::Sums& sums = hidden_.sums(threads);
  const SumEnclosures &gate = sums.gate, &up = sums.up;
  std::vector<double> values(static_cast<std::size_t>(hidden_.elements()));
  for_each_block(hidden_.elements(), 4096, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      const GemmPlace at = hidden_.gate().place(index);
      const auto i = static_cast<std::size_t>(index);
      values[i] = hidden_.special(at) ? hidden_.special_value(at).value
                                      : hidden_
                                            .exact(at, {gate.hi[i], gate.lo[i], gate.bound[i]},
                                                   {up.hi[i], up.lo[i], up.bound[i]})
                                            .value;
    }
  });
  return values;
}

std::vector<double> SwigluOracle::reference_values(int output, Reference reference,
                                                   int threads) const {
  if (output == kHidden) return hidden_values(threads);
  if (reference == Reference::contract) return output_.reference_values(0, reference, threads);
  const std::vector<double> h = hidden_values(threads);
  const std::int64_t width = mlp_.hidden(), columns = mlp_.d_out();
  const Format& weight = format(mlp_.down->layout.format);
  std::vector<double> down(static_cast<std::size_t>(columns * width));
  for (std::size_t i = 0; i < down.size(); ++i)
    down[i] = to_double(weight, mlp_.down->bits(static_cast<std::int64_t>(i)));
  std::vector<double> y(static_cast<std::size_t>(mlp_.tokens() * columns));
  for_each_piece(mlp_.tokens(), threads, [&](std::int64_t token) {
    for (std::int64_t o = 0; o < columns; ++o) {
      // Products and additions with what they lost, so that the length of the sum does not matter.
      double sum = 0, lost = 0;
      for (std::int64_t j = 0; j < width; ++j) {
        const double a = h[static_cast<std::size_t>(token * width + j)],
                     b = down[static_cast<std::size_t>(o * width + j)];
        const double product = a * b, next = sum + product, part = next - sum;
        lost += std::fma(a, b, -product) + ((sum - (next - part)) + (product - part));
        sum = next;
      }
      y[static_cast<std::size_t>(token * columns + o)] = std::isfinite(sum) ? sum + lost : sum;
    }
  });
  return y;
}

}  // namespace plumbline
