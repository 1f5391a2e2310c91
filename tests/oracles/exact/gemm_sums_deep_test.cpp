// SPDX-License-Identifier: MIT
// Some 400 products of random shape over all kinds of data and pairs of formats: every enclosure
// against the superaccumulator, and one in 50 against MPFR as well. Prints how tight the bounds
// were.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "oracles/exact/gemm_sums.h"
#include "oracles/exact/real.h"
#include "tests/oracles/exact/test_data.h"

namespace plumbline {
namespace {

TEST(GemmSumsDeep, NoBoundIsViolatedAndBothExactWaysAgree) {
  constexpr FormatId kFormats[] = {FormatId::bf16, FormatId::f16, FormatId::e4m3, FormatId::e5m2,
                                   FormatId::f32};
  Random random(2026);
  std::int64_t elements = 0, exact_claims = 0, refereed = 0;
  double largest_share = 0;
  for (int round = 0; round < 400; ++round) {
    const Kind kind = kKinds[round % std::size(kKinds)];
    const FormatId id_a = kFormats[random.below(5)],
                   id_b = random.below(2) == 0 ? id_a : kFormats[random.below(5)];
    const std::int64_t batch = random.between(1, 2), m = random.between(1, 40),
                       n = random.between(1, 40), k = random.between(0, 1200);
    Operands data = make_operands(id_a, kind, batch, m, n, k, random.next());
    if (id_b != id_a) data.b = make_operands(id_b, kind, batch, m, n, k, random.next()).b;
    const GemmOperands operands = decode_operands(data.a, data.b, 2);
    const SumEnclosures sums = gemm_sums(operands, 2);
    for (std::int64_t at = 0; at < batch * m * n; ++at) {
      const float* row = operands.row(at / n / m, at / n % m);
      const float* column = operands.column(at / n / m, at % n);
      const Dyadic exact = exact_dot(row, column, k);
      const Dyadic error = (Dyadic(sums.hi[at]) + Dyadic(sums.lo[at]) - exact).abs();
      ASSERT_FALSE(Dyadic(sums.bound[at]) < error) << "round " << round << " element " << at;
      if (sums.bound[at] > 0)
        largest_share = std::max(largest_share, error.nearest_double() / sums.bound[at]);
      exact_claims += sums.bound[at] == 0;
      if (elements++ % 50 != 0) continue;
      Real sum = 0;
      for (std::int64_t p = 0; p < k; ++p) sum += Real(row[p]) * Real(column[p]);
      ASSERT_EQ(dyadic_value(sum), exact);
      ++refereed;
    }
  }
  std::printf(
      "%lld elements, %lld claimed exact, %lld refereed by MPFR, largest error / bound %.3g\n",
      static_cast<long long>(elements), static_cast<long long>(exact_claims),
      static_cast<long long>(refereed), largest_share);
}

}  // namespace
}  // namespace plumbline
