// SPDX-License-Identifier: MIT
// A GEMM whose unit takes block scales, in stages: all of them low are the kernel's bits, all of
// them exact the mathematics, with scales of blocks on both sides or beside one scale for each row.
#include "oracles/stages/staged_gemm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using enum FormatId;
using testing::Gemm;
using testing::GemmSetup;

// The operand as it was before it was quantized without loss: each element times its scale.
Tensor source_of(const Gemm& gemm, GemmSide side) {
  const bool of_a = side == GemmSide::a;
  const Tensor& stored = of_a ? gemm.a : gemm.b;
  Tensor source = testing::tensor_of(f32, stored.layout.shape);
  const std::int64_t columns = stored.layout.shape[2];
  for (std::int64_t i = 0; i < stored.layout.count(); ++i) {
    const std::int64_t row = i / columns, column = i % columns;
    const float scale = *scale_at(gemm.problem, side, of_a ? row : column, of_a ? column : row);
    source.set_bits(i, encode(format(f32), static_cast<double>(gemm.value(stored, i) * scale)));
  }
  return source;
}

TEST(StagedGemm, BlockScalesOfTheInstruction) {
  const testing::NamedContract promised = testing::block_scaled_contracts()[4];
  for (const bool of_rows : {false, true}) {
    GemmSetup setup;
    setup.a = setup.b = e2m1;
    setup.output = f32;
    setup.k = 300;
    setup.scale_format = e4m3;
    setup.scale_a = of_rows ? kVectorScale : ScaleBlock{1, 16};
    setup.scale_b = ScaleBlock{1, 16};
    Gemm gemm(setup);
    if (of_rows) {
      gemm.scale_a = testing::tensor_of(f32, {setup.m, 1});
      for (std::int64_t i = 0; i < setup.m; ++i)
        gemm.scale_a.set_bits(i, encode(format(f32), std::ldexp(1.0, static_cast<int>(i) - 4)));
    }
    for (Tensor* scales : {&gemm.scale_a, &gemm.scale_b}) {
      if (scales->layout.format == f32) continue;
      for (std::int64_t i = 0; i < scales->layout.count(); ++i)
        scales->set_bits(i, scales->bits(i) & 0x7f);
    }
    testing::kernel(promised).run(gemm);
    const Tensor a = source_of(gemm, GemmSide::a), b = source_of(gemm, GemmSide::b);
    const auto staged = staged_gemm(gemm.problem, promised.contract, promised.sm, a, b);
    const std::vector<double> due = GemmOracle(gemm.problem, promised.contract, promised.sm)
                                        .reference_values(0, Reference::mathematics, 1);
    const StagedValues low = staged->evaluate(staged->all_stages()), exact = staged->evaluate(0);
    double largest = 0;
    for (const double value : due) largest = std::max(largest, std::fabs(value));
    for (std::int64_t i = 0; i < gemm.d.layout.count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(low[0][at], static_cast<double>(gemm.value(gemm.d, i))) << of_rows << " " << i;
      EXPECT_NEAR(exact[0][at], due[at], 1e-11 * largest) << of_rows << " " << i;
    }
  }
}

}  // namespace
}  // namespace plumbline
