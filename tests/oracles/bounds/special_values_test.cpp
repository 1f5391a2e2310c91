// SPDX-License-Identifier: MIT
// Classes of sums: every pair of special operands against IEEE arithmetic itself.
#include "oracles/bounds/special_values.h"

#include <gtest/gtest.h>

#include "oracles/base/numbers.h"

#include <cmath>

namespace plumbline {
namespace {

const float kNan = std::nanf("");

ClassSet class_of(float x) {
  if (std::isnan(x)) return ResultClass::nan;
  if (std::isinf(x)) return x > 0 ? ResultClass::plus_infinity : ResultClass::minus_infinity;
  return ResultClass::finite;
}

TEST(SpecialValues, AgreeWithIeeeOnEveryPairOfTwoProducts) {
  const float values[] = {0.0f, -0.0f, 1.5f, -2.0f, kFloatInfinity, -kFloatInfinity, kNan};
  for (const float a0 : values) {
    for (const float b0 : values) {
      for (const float a1 : values) {
        for (const float b1 : values) {
          const std::vector<float> rows{1, a0, a1}, columns{1, b0, b1};
          const std::vector<std::uint8_t> one{1};
          const SpecialElements row(one, 3, [&](std::int64_t, std::int64_t p) {
            return rows[static_cast<std::size_t>(p)];
          });
          const SpecialElements column(one, 3, [&](std::int64_t, std::int64_t p) {
            return columns[static_cast<std::size_t>(p)];
          });
          const float sum = 1.0f + a0 * b0 + a1 * b1;
          std::vector<float> finite_row = rows,
                             finite_column = columns;  // as decode_operands() leaves them
          for (std::vector<float>* vector : {&finite_row, &finite_column}) {
            for (float& x : *vector) x = std::isfinite(x) ? x : 0;
          }
          EXPECT_TRUE(special_class(finite_row.data(), finite_column.data(), row.of(0),
                                    column.of(0)) == class_of(sum))
              << a0 << " * " << b0 << " + " << a1 << " * " << b1;
        }
      }
    }
  }
}

TEST(SpecialValues, AreFoundOnlyInFlaggedVectors) {
  const std::vector<float> vectors{1, kNan, 2, 3, kFloatInfinity, -kFloatInfinity};
  const SpecialElements elements(std::vector<std::uint8_t>{1, 0, 1}, 2,
                                 [&](std::int64_t vector, std::int64_t p) {
                                   EXPECT_NE(vector, 1);
                                   return vectors[static_cast<std::size_t>(2 * vector + p)];
                                 });
  EXPECT_EQ(elements.of(0).size(), 1u);
  EXPECT_EQ(elements.of(0)[0].position, 1);
  EXPECT_TRUE(elements.of(1).empty());
  EXPECT_EQ(elements.of(2).size(), 2u);
}

TEST(ClassSet, SumsLikeIeee) {
  const float values[] = {1.0f, kFloatInfinity, -kFloatInfinity, kNan};
  for (unsigned x = 1; x < 16; ++x) {  // at least one class each
    for (unsigned y = 1; y < 16; ++y) {
      ClassSet left, right, want;
      for (unsigned i = 0; i < 4; ++i) {
        if ((x >> i & 1) != 0) left.add(static_cast<ResultClass>(1u << i));
        if ((y >> i & 1) != 0) right.add(static_cast<ResultClass>(1u << i));
        for (unsigned j = 0; j < 4; ++j) {
          if ((x >> i & 1) == 0 || (y >> j & 1) == 0) continue;
          for (unsigned k = 0; k < 4; ++k) {
            const auto cls = static_cast<ResultClass>(1u << k);
            if (class_of(values[i] + values[j]).has(cls)) want.add(cls);
          }
        }
      }
      EXPECT_TRUE(ClassSet::of_sum(left, right) == want) << x << " + " << y;
    }
  }
}

}  // namespace
}  // namespace plumbline
