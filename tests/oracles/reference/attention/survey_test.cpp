// SPDX-License-Identifier: MIT
// The survey's numbers lie within their claimed errors of the MPFR definition for all values.
#include "oracles/reference/attention/survey.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/reference/attention/definition.h"
#include "tests/oracles/reference/attention/fixture.h"

namespace plumbline {
namespace {

using testing::Attention;
using testing::AttentionSetup;
using testing::Scores;
using testing::Values;

using Number = RealOf<256>;

void compare(const AttentionSetup& setup, const AttentionContract& contract) {
  const Attention attention(setup);
  const HeadPlace place = head_places(attention.problem).front();
  const AttentionOperands operands(attention_head(attention.problem, place), contract);
  RowSurveyor surveyor(operands);
  // FP64 itself knows enormous scores to 2^-8 only.
  const double tight = setup.scores == Scores::enormous ? 1 : 0x1p-20;
  surveyor.run(0, setup.queries, [&](const SurveyedRow& row, const double* o) {
    const auto defined = defined_row<Number>(operands.head(), row.query, &contract);
    // Of enormous scores a row may be given up.
    if (row.kind == AttentionRowKind::may_overflow && setup.scores == Scores::enormous) return;
    ASSERT_EQ(row.kind == AttentionRowKind::regular, defined.visible);
    if (!defined.visible) return;
    const DetailedRow detail = survey_row(operands, row.query);
    for (std::int64_t x = 0; x < setup.dv; ++x) {
      const auto at = static_cast<std::size_t>(x);
      const double error = output_error(row, operands, x);
      EXPECT_LE(abs(Number(defined.o[at] - o[x])), error) << "column " << x;
      EXPECT_LE(abs(Number(defined.o[at] - detail.o[at])), output_error(detail.row, operands, x));
      EXPECT_LE(error, tight * operands.v_largest(x));
    }
    EXPECT_LE(abs(Number(defined.lse - row.lse)), row.lse_error);
    EXPECT_LE(row.lse_error, tight * (1 + std::fabs(row.lse)));
  });
}

TEST(AttentionSurvey, LiesWithinItsErrorOfTheDefinition) {
  int turn = 0;
  for (const Scores scores : testing::kAllScores) {
    for (const Values values : testing::kAllValues) {
      AttentionSetup setup;
      setup.scores = scores;
      setup.values = values;
      setup.seed = static_cast<std::uint64_t>(++turn);
      setup.queries = 3;
      setup.keys = turn % 2 == 0 ? 70 : 33;
      setup.bias = turn % 3 == 1;
      setup.sink = turn % 4 == 1;
      setup.scales = turn % 3 == 2;
      setup.softcap = turn % 5 == 2 ? 20.0f : 0.0f;
      if (turn % 2 == 1) setup.mask.causal = Causal::bottom_right;
      AttentionContract contract = testing::attention_contract_of();
      contract.tile = turn % 2 == 0 ? 16 : 24;
      if (turn % 3 == 0) contract.parts = 3;
      if (turn % 4 == 3) contract.row_sum = RowSum::rounded;
      if (turn % 5 == 4) contract.p = FormatId::e4m3, contract.p_shift = 8;
      SCOPED_TRACE(turn);
      compare(setup, contract);
      if (!setup.sink) continue;
      contract.parts = 1;
      contract.sink_step = SinkStep::first;
      for (const double size : {2, 40}) {
        setup.sink_size = size;
        compare(setup, contract);
      }
    }
  }
}

TEST(AttentionSurvey, AgreesWithATinyExampleByHand) {
  // Two keys with logits 0 and ln 2 (q . k = 1, scale = ln 2): weights 1/3 and 2/3.
  AttentionHead head;
  head.queries = 1;
  head.keys = 2;
  head.d = 1;
  head.dv = 1;
  head.q = {1};
  head.k = {0, 1};
  head.v = {3, 6};
  head.scale = static_cast<float>(std::log(2.0));
  AttentionContract contract;
  contract.p = FormatId::f16;
  const DetailedRow row = survey_row(AttentionOperands(head, contract), 0);
  EXPECT_NEAR(row.o[0], 5, 1e-6);
  EXPECT_NEAR(row.row.lse, std::log(3.0), 1e-6);
}

}  // namespace
}  // namespace plumbline
