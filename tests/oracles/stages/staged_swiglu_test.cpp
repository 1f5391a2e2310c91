// SPDX-License-Identifier: MIT
// The MLP in stages: its condition numbers bound what small changes of the inputs do. That its
// stages are the contract's is held against every shipped kernel (tests/harness).
#include "oracles/stages/staged_swiglu.h"

#include <gtest/gtest.h>

#include "tests/oracles/reference/condition_samples.h"

namespace plumbline {
namespace {

Tensor random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Tensor out(dense_layout(FormatId::bf16, {rows, columns}));
  Random random(seed);
  for (std::int64_t n = 0; n < out.layout.count(); ++n)
    out.set_bits(n, encode(format(FormatId::bf16), 2 * random.unit() - 1));
  return out;
}

TEST(StagedSwiglu, ConditionNumbersBoundWhatSmallChangesDo) {
  constexpr double kChange = 0x1p-16;
  const Tensor x = random_matrix(6, 32, 1), gate = random_matrix(24, 32, 2),
               up = random_matrix(24, 32, 3), down = random_matrix(10, 24, 4),
               h(dense_layout(FormatId::bf16, {6, 24}));
  const SwigluProblem mlp{&x, &gate, &up, &down, &h};
  const auto staged_by = [&](const SwigluSources& sources) {
    return staged_swiglu(mlp, {}, 90, sources);
  };
  const auto computation = staged_by({&x, &gate, &up, &down});
  const Tensor moved_x = testing::perturbed(x, kChange, 1),
               moved_gate = testing::perturbed(gate, kChange, 2),
               moved_up = testing::perturbed(up, kChange, 3),
               moved_down = testing::perturbed(down, kChange, 4);
  const StagedValues exact = computation->evaluate(0),
                     moved =
                         staged_by({&moved_x, &moved_gate, &moved_up, &moved_down})->evaluate(0);
  for (const int output : {0, 1}) {
    const auto o = static_cast<std::size_t>(output);
    const double largest =
        testing::share_of_condition(exact[o], moved[o], computation->condition(output), kChange);
    EXPECT_LE(largest, 1.01) << computation->outputs()[o];
    EXPECT_GT(largest, 0.05) << computation->outputs()[o];  // not far from what happens
  }
}

}  // namespace
}  // namespace plumbline
