// SPDX-License-Identifier: MIT
// The text of a case names it completely, and its key does not move.
#include "fuzz/case/case.h"

#include <rapidcheck.h>

#include <cmath>
#include <set>

#include "fuzz/case/literal.h"
#include "fuzz/plan/case_gen.h"
#include "fuzz/plan/plan.h"
#include "oracles/base/hash.h"
#include "tests/fuzz/kernel_under_test.h"

namespace plumbline {
namespace {

TEST(Case, TextParsesBackToTheSameCase) {
  EXPECT_TRUE(rc::check("parse(text(case)) == case", [] {
    const Case original = *case_gen(gemm_kernel());
    const Result<Case> parsed = parse_case_line(original.text(), shipped_registry());
    RC_ASSERT(parsed.ok());
    RC_ASSERT(parsed->problem == original.problem);
    RC_ASSERT(parsed->recipe.value_class == original.recipe.value_class);
    RC_ASSERT(parsed->recipe.seed == original.recipe.seed);
    RC_ASSERT(parsed->text() == original.text());
  }));
}

TEST(Case, TextIsOneReadableLine) {
  EXPECT_EQ(case_of("m=65 n=8 k=33 layout=nt beta=0.5 value=cancelling seed=42").text(),
            "gemm_bf16 m=65 n=8 k=33 layout=nt beta=0.5 value=cancelling seed=0x2a");
}

TEST(Case, KeyLeavesTheSeedOutAndNothingElse) {
  const std::uint64_t key = case_of("m=2 n=3 k=4 value=normal seed=1").key();
  EXPECT_EQ(key, case_of("m=2 n=3 k=4 value=normal seed=2").key());
  EXPECT_NE(key, case_of("m=2 n=3 k=4 value=ones seed=1").key());
  EXPECT_NE(key, case_of("m=2 n=3 k=5 value=normal seed=1").key());
  // Shards are stable across releases: this number must never change.
  EXPECT_EQ(short_name(key), "8cbd01");
}

TEST(Case, LiteralBitsArePartOfTextAndKey) {
  const Result<Case> one = freeze(case_of("m=2 n=3 k=4 value=normal seed=1"));
  const Result<Case> two = freeze(case_of("m=2 n=3 k=4 value=normal seed=2"));
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE(one->text(), two->text());
  EXPECT_NE(one->key(), two->key());
  EXPECT_EQ(one->text().find("seed"), std::string::npos);
}

TEST(Case, LineErrorsNameThePlace) {
  const auto message = [](const std::string& line) {
    const Result<Case> parsed = parse_case_line(line, shipped_registry(), "input:3:1");
    return parsed.ok() ? "parsed" : parsed.error().text();
  };
  EXPECT_EQ(message(""), "input:3:1: no kernel is named (write <kernel> <field>=<value> ...)");
  EXPECT_EQ(message("gemm_bf61 m=1 n=1 k=1"),
            "input:3:1: there is no kernel \"gemm_bf61\" (did you mean \"gemm_bf16\"?)");
  EXPECT_EQ(message("elsewhere m=1 n=1 k=1"),
            "input:3:1: there is no kernel \"elsewhere\" (plumbline list kernels shows them; "
            "others need --kernel FILE)");
  EXPECT_EQ(message("gemm_bf16 m=1 n=1 k=1 value=zzz"),
            "input:3:29: gemm has no value class \"zzz\" (plumbline list classes)");
  EXPECT_EQ(message("gemm_bf16 m=1 n=1 k=1 value=ones value=ties"),
            "input:3:34: value is given twice (keep one of them)");
  EXPECT_EQ(message("gemm_bf16 m=1 n=1 k=1 seed=1 seed=2"),
            "input:3:30: seed is given twice (keep one of them)");
  EXPECT_EQ(message("gemm_bf16 m=1 n=1 k=1 value=canceling"),
            "input:3:29: gemm has no value class \"canceling\" (did you mean \"cancelling\"?)");
  EXPECT_EQ(message("gemm_bf16 m=1 n=1 k=1 seed=0xz"),
            "input:3:28: seed \"0xz\" is not a whole number of 64 bits (write it like 0x2a or 42)");
  EXPECT_EQ(message("gemm_bf16 m=1 seed=1 n=1 kk=1").substr(0, 10), "input:3:26");
  EXPECT_EQ(message("gemm_bf16 m=1 n=1 k=1 value=literal bits=0x1"),
            "input:3:29: the data of this case is in its case file (replay the .case file)");
}

// What no element reaches is NaN: between rows, and in front of the first one.
TEST(Materialize, PaddingIsNan) {
  const Result<CaseTensors> tensors =
      materialize(case_of("m=3 n=4 k=5 offset=4 lda=9 value=ones seed=1"));
  ASSERT_TRUE(tensors.ok());
  for (const std::string_view name : {"a", "b"}) {
    const Tensor& tensor = *tensors->find(name);
    std::set<std::int64_t> reached;
    for (std::int64_t i = 0; i < tensor.layout.count(); ++i)
      reached.insert(tensor.layout.storage_index(i));
    ASSERT_EQ(tensor.layout.offset, 4);
    std::int64_t nan = 0;
    for (std::int64_t at = 0; at < tensor.layout.storage_elements(); ++at) {
      const double value = to_double(format(FormatId::bf16), tensor.bits_at(at));
      EXPECT_EQ(std::isnan(value), !reached.contains(at)) << name << " " << at;
      nan += std::isnan(value);
    }
    EXPECT_GE(nan, 4) << name;
  }
}

TEST(Materialize, RefusesWhatNoMachineHolds) {
  const Result<CaseTensors> tensors = materialize(case_of("m=10000000 n=10000000 k=10000000"));
  ASSERT_FALSE(tensors.ok());
  EXPECT_EQ(tensors.error().kind, ErrorKind::out_of_memory);
  EXPECT_NE(tensors.error().message.find("GiB"), std::string::npos);
}

TEST(Materialize, AbsurdStridesOfSizeOneCostNoMemory) {
  const CaseTensors tensors =
      tensors_of(case_of("m=1 n=8 k=8 lda=100000000000 stride_a=100000000000"));
  EXPECT_EQ(tensors.find("a")->layout.storage_elements(), 8);
}

TEST(Materialize, LiteralsMustFitTheProblem) {
  Result<Case> frozen = freeze(case_of("m=2 n=3 k=4"));
  ASSERT_TRUE(frozen.ok());
  frozen->problem.set_integer("k", 5);
  const Result<CaseTensors> tensors = materialize(*frozen);
  ASSERT_FALSE(tensors.ok());
  EXPECT_EQ(tensors.error().message, "tensor a is bf16[1,2,4], this problem needs bf16[1,2,5]");
}

TEST(Materialize, FrozenBitsAreTheRecipesBitsInAnyLayout) {
  EXPECT_TRUE(rc::check("freeze keeps every logical bit", [] {
    const Case original = *case_gen(gemm_kernel());
    RC_PRE(gemm_kernel().operation->work(original.problem) < 1e6);
    const Result<Case> frozen = freeze(original);
    RC_ASSERT(frozen.ok());
    const CaseTensors from_recipe = tensors_of(original), from_bits = tensors_of(*frozen);
    for (std::size_t i = 0; i < from_recipe.tensors.size(); ++i) {
      RC_ASSERT(from_recipe.tensors[i].storage == from_bits.tensors[i].storage);
    }
  }));
}

}  // namespace
}  // namespace plumbline
