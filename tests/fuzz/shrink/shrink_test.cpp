// SPDX-License-Identifier: MIT
// Shrinking on planted faults: predicates that know what the fault needs, so the smallest case is
// known too.
#include "fuzz/shrink/shrink.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fmt/format.h>

#include <cmath>

#include "fuzz/case/literal.h"
#include "fuzz/plan/case_gen.h"
#include "oracles/base/random.h"
#include "tests/fuzz/kernel_under_test.h"

namespace plumbline {
namespace {

std::int64_t size(const Case& test_case, std::string_view field) {
  return test_case.problem.integer(field);
}

std::string sizes(const Case& test_case) {
  return fmt::format("{}x{}x{}", size(test_case, "m"), size(test_case, "n"), size(test_case, "k"));
}

int nonzeros(const Case& test_case) {
  int count = 0;
  const CaseTensors tensors = tensors_of(test_case);
  for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
    if (tensors.specs[i].role != TensorRole::input) continue;
    for (std::int64_t e = 0; e < tensors.tensors[i].layout.count(); ++e)
      count += tensors.tensors[i].bits(e) != 0;
  }
  return count;
}

TEST(Shrink, SizesGoToTheLeastThatFails) {
  const auto fails = [](const Case& test_case) {
    return size(test_case, "m") > 17 && size(test_case, "k") >= 33;
  };
  const ShrinkResult result = shrink(case_of("m=65 n=96 k=1031 layout=nt lda=1039 bias=row beta=2 "
                                             "alpha=0.97 batch=3 value=wide seed=7"),
                                     fails);
  EXPECT_EQ(sizes(result.smallest), "18x1x33");
  EXPECT_EQ(size(result.smallest, "batch"), 1);
  EXPECT_EQ(result.smallest.problem.text(), "m=18 n=1 k=33");
  EXPECT_EQ(nonzeros(result.smallest), 0);
  EXPECT_LE(result.tried, 150);
  EXPECT_EQ(result.trail.size(), static_cast<std::size_t>(result.steps) + 1);
  EXPECT_EQ(result.trail.back(), result.smallest.text());
}

TEST(Shrink, OutputFormatStays) {
  const ShrinkResult result =
      shrink(case_of("m=5 n=5 k=5 out=f32"), [](const Case&) { return true; });
  EXPECT_EQ(result.smallest.problem.text(), "m=1 n=1 k=1 out=f32");
}

TEST(Shrink, EmptySizesStayEmpty) {
  const auto fails = [](const Case& test_case) { return size(test_case, "k") == 0; };
  const ShrinkResult result = shrink(case_of("m=50 n=70 k=0 bias=row"), fails);
  EXPECT_EQ(result.smallest.problem.text(), "m=1 n=1 k=0");
}

// A k loop one short: fails when the last k matters.
bool last_k_matters(const Case& test_case) {
  const CaseTensors tensors = tensors_of(test_case);
  const Tensor &a = *tensors.find("a"), &b = *tensors.find("b");
  const std::int64_t m = size(test_case, "m"), n = size(test_case, "n"), k = size(test_case, "k");
  for (std::int64_t batch = 0; batch < size(test_case, "batch"); ++batch) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        if (value_at(a, batch, i, k - 1) * value_at(b, batch, k - 1, j) != 0) return true;
      }
    }
  }
  return false;
}

TEST(Shrink, AFaultInTheLastKNeedsOneProductOfOnes) {
  for (const std::string_view value : {"normal", "one_hot", "cancelling", "specials"}) {
    const ShrinkResult result =
        shrink(case_of(fmt::format("m=33 n=29 k=97 batch=2 layout=tn value={} seed=3", value)),
               last_k_matters);
    EXPECT_EQ(result.smallest.problem.text(), "m=1 n=1 k=1") << value;
    EXPECT_LE(nonzeros(result.smallest), 2);  // 1 is NaN times 0
    EXPECT_LE(result.tried, 100);
  }
}

// The example: any element of a in the last column, and only from the 40th k on.
TEST(Shrink, AFaultTiedToOneElementKeepsThatElementAlone) {
  const auto fails = [](const Case& test_case) {
    if (size(test_case, "k") < 40) return false;
    const CaseTensors tensors = tensors_of(test_case);
    const Tensor& a = *tensors.find("a");
    for (std::int64_t i = 0; i < size(test_case, "m"); ++i) {
      if (value_at(a, 0, i, size(test_case, "k") - 1) != 0) return true;
    }
    return false;
  };
  const ShrinkResult result = shrink(case_of("m=70 n=30 k=129 value=normal seed=5"), fails);
  EXPECT_EQ(sizes(result.smallest), "1x1x40");
  EXPECT_EQ(nonzeros(result.smallest), 1);
  EXPECT_EQ(value_at(*find_literal(result.smallest.literals, "a"), 0, 0, 39), 1);
  EXPECT_LE(result.tried, 300);
}

bool has_nan(const Case& test_case) {
  const CaseTensors tensors = tensors_of(test_case);
  const Tensor& a = *tensors.find("a");
  for (std::int64_t i = 0; i < a.layout.count(); ++i) {
    if (std::isnan(to_double(format(FormatId::bf16), a.bits(i)))) return true;
  }
  return false;
}

// A fault tied to data that sits in one place: cropping must follow it, at either end of every
// size.
TEST(Shrink, DataInTheMiddleSurvivesCropping) {
  Result<Case> start = freeze(case_of("m=37 n=20 k=53 value=normal"));
  ASSERT_TRUE(start.ok());
  Tensor& a = start->literals[0].second;
  a.set_bits(20 * 53 + 31, format(FormatId::bf16).canonical_nan);
  const ShrinkResult result = shrink(*start, has_nan);
  EXPECT_EQ(sizes(result.smallest), "1x1x1");
  EXPECT_EQ(nonzeros(result.smallest), 1);
  EXPECT_LE(result.tried, 60);
}

// Row bias used for columns: shows when m != n, or rather wherever the two readings differ.
TEST(Shrink, ABiasSwapNeedsTwoUnequalSizes) {
  const auto fails = [](const Case& test_case) {
    return test_case.problem.word("bias") == "row" && size(test_case, "m") != size(test_case, "n");
  };
  const ShrinkResult result = shrink(case_of("m=65 n=8 k=33 bias=row act=relu layout=tt"), fails);
  EXPECT_EQ(size(result.smallest, "k"), 1);
  EXPECT_EQ(size(result.smallest, "m") + size(result.smallest, "n"), 3);
  EXPECT_EQ(result.smallest.problem.word("act"), "none");
}

// With the values looked at: bias[i] and bias[j] must differ for the swap to show.
TEST(Shrink, ABiasSwapOnValuesKeepsOneBiasElement) {
  const auto fails = [](const Case& test_case) {
    const CaseTensors tensors = tensors_of(test_case);
    const Tensor* bias = tensors.find("bias");
    if (!bias || test_case.problem.word("bias") != "row") return false;
    for (std::int64_t i = 0; i < size(test_case, "m"); ++i) {
      for (std::int64_t j = 0; j < size(test_case, "n"); ++j) {
        const std::uint64_t swapped = j < bias->layout.count() ? bias->bits(j) : 0;
        if (bias->bits(i) != swapped) return true;
      }
    }
    return false;
  };
  const ShrinkResult result = shrink(case_of("m=24 n=40 k=8 bias=row value=index_code"), fails);
  EXPECT_LE(size(result.smallest, "m") * size(result.smallest, "n"), 2);
  EXPECT_EQ(size(result.smallest, "k"), 1);
  EXPECT_EQ(nonzeros(result.smallest), 1);
}

TEST(Shrink, ASquareFaultStaysSquare) {
  const auto fails = [](const Case& test_case) {
    const std::int64_t m = size(test_case, "m");
    return m >= 3 && m == size(test_case, "n") && m == size(test_case, "k");
  };
  EXPECT_EQ(sizes(shrink(case_of("m=48 n=48 k=48"), fails).smallest), "3x3x3");
}

TEST(Shrink, PaddingThatMattersShrinksToOneElement) {
  const auto fails = [](const Case& test_case) {
    return size(test_case, "lda") > size(test_case, "k");
  };
  const ShrinkResult result = shrink(case_of("m=20 n=12 k=40 lda=99 ldb=50 ldd=77"), fails);
  EXPECT_EQ(result.smallest.problem.text(), "m=1 n=1 k=1 lda=2");
}

TEST(Shrink, ABatchStrideThatMattersBecomesTightPlusOne) {
  const auto fails = [](const Case& test_case) {
    return size(test_case, "batch") > 1 &&
           size(test_case, "stride_b") > size(test_case, "n") * size(test_case, "k");
  };
  const ShrinkResult result =
      shrink(case_of("m=20 n=12 k=40 batch=3 stride_a=900 stride_b=700 stride_d=400"), fails);
  EXPECT_EQ(result.smallest.problem.text(), "m=1 n=1 k=1 batch=2 stride_b=2");
}

TEST(Shrink, BroadcastThatMattersStaysWhileDataShrinks) {
  const auto fails = [](const Case& test_case) {
    return size(test_case, "batch") > 1 && size(test_case, "stride_a") == 0 &&
           last_k_matters(test_case);
  };
  const ShrinkResult result =
      shrink(case_of("m=20 n=12 k=40 batch=3 stride_a=0 value=normal"), fails);
  EXPECT_EQ(result.smallest.problem.text(), "m=1 n=1 k=1 batch=2 stride_a=0");
  EXPECT_TRUE(materialize(result.smallest).ok());
}

TEST(Shrink, FeaturesFallToTheSimplestThatFails) {
  const auto fails = [](const Case& test_case) {
    return test_case.problem.real("beta") != 0 && test_case.problem.real("alpha") != 1;
  };
  const ShrinkResult result =
      shrink(case_of("m=20 n=12 k=40 alpha=0.97 beta=-0.5 bias=column act=relu"), fails);
  EXPECT_EQ(result.smallest.problem.text(), "m=1 n=1 k=1 alpha=2 beta=1");
}

TEST(Shrink, ValuesLoseTheirBits) {
  // Fails while some element of b needs more than 4 significant bits.
  const auto fails = [](const Case& test_case) {
    const CaseTensors tensors = tensors_of(test_case);
    const Tensor& b = *tensors.find("b");
    for (std::int64_t i = 0; i < b.layout.count(); ++i) {
      const Decoded value = decode(format(FormatId::bf16), b.bits(i));
      if (value.cls == ValueClass::finite && (value.significand & 0xf) != 0) return true;
    }
    return false;
  };
  const ShrinkResult result = shrink(case_of("m=9 n=9 k=9 value=normal"), fails);
  EXPECT_EQ(sizes(result.smallest), "1x1x1");
  EXPECT_EQ(nonzeros(result.smallest), 1);
}

TEST(Shrink, KeepsToItsBudgetAndItsStop) {
  const Case start = case_of("m=65 n=96 k=1031");
  int calls = 0;
  const auto fails = [&](const Case&) { return ++calls % 2 == 0; };
  EXPECT_EQ(shrink(start, fails, 10).tried, 10);
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(shrink(start, fails, 1000, [] { return true; }).tried, 0);
}

TEST(Shrink, NothingSimplerLeavesTheCase) {
  const Case start = case_of("m=65 n=96 k=31 value=wide seed=9");
  const ShrinkResult result = shrink(start, [](const Case&) { return false; });
  EXPECT_EQ(result.smallest.text(), start.text());
  EXPECT_EQ(result.steps, 0);
}

TEST(Shrink, EveryCandidateIsACaseTheKernelAccepts) {
  EXPECT_TRUE(rc::check("candidates materialize", [] {
    const Case start = *rc::gen::noShrink(case_gen(gemm_kernel()));
    RC_PRE(gemm_kernel().operation->work(start.problem) < 2e5);
    auto coin = Random(start.recipe.seed);
    shrink(
        start,
        [&](const Case& candidate) {
          RC_ASSERT(!gemm_kernel().excluded(candidate.problem));
          RC_ASSERT(materialize(candidate).ok());
          return coin.below(3) == 0;
        },
        40);
  }));
}

}  // namespace
}  // namespace plumbline
