// SPDX-License-Identifier: MIT
// The comparison of mma_fast_test.cpp, long.
#include "tests/oracles/models/mma_compare.h"

namespace plumbline {
namespace {

class MmaFastDeep : public testing::TestWithParam<FragmentKind> {};

TEST_P(MmaFastDeep, GivesTheBitsOfTheSpecificationOrDeclines) {
  compare_fast_with_spec(GetParam().mma, 240000, 5);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MmaFastDeep, testing::ValuesIn(fast_kinds()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace plumbline
