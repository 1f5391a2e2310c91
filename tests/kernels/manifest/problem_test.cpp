// SPDX-License-Identifier: MIT
#include "kernels/manifest/problem.h"

#include "tests/kernels/ops/gemm_problems.h"

#include <rapidcheck.h>

#include <algorithm>
#include <bit>

namespace plumbline {
namespace {

std::span<const Field> schema() { return find_operation("gemm")->schema(); }

std::string error_text(std::string_view text, std::string_view where = {}) {
  const Result<Problem> problem = parse_problem(schema(), text, where);
  return problem.ok() ? "parsed: " + problem->full_text() : problem.error().text();
}

// Any value of a field, its default among them.
void set_arbitrary(Problem& problem, const Field& field) {
  switch (field.kind) {
    case FieldKind::integer: {
      const auto small =
          rc::gen::inRange<std::int64_t>(field.minimum, std::min<std::int64_t>(field.maximum, 200));
      const auto any = rc::gen::inRange<std::int64_t>(field.minimum, field.maximum);
      const auto edge = rc::gen::element(field.minimum, field.maximum);
      problem.set_integer(field.name, *rc::gen::oneOf(small, any, edge));
      return;
    }
    case FieldKind::real:
      problem.set_real(field.name, std::bit_cast<float>(*rc::gen::arbitrary<std::uint32_t>()));
      return;
    case FieldKind::word:
      problem.set_word(field.name,
                       field.choices[*rc::gen::inRange<std::size_t>(0, field.choices.size())]);
      return;
  }
}

TEST(Problem, TextParsesBackForEveryOperation) {
  for (const Operation* operation : all_operations()) {
    EXPECT_TRUE(rc::check([&] {
      Problem problem(operation->schema());
      for (const Field& field : operation->schema()) set_arbitrary(problem, field);
      for (const std::string& text : {problem.text(), problem.full_text()}) {
        const Result<Problem> again = parse_problem(operation->schema(), text);
        RC_ASSERT(again.ok());
        RC_ASSERT(*again == problem);
        RC_ASSERT(again->text() == problem.text());
      }
    })) << operation->name();
  }
}

TEST(Problem, TextIsInSchemaOrderWithoutDefaults) {
  EXPECT_EQ(gemm("out=f32 k=33 layout=nn m=65  n=8 alpha=1 ldb=12").text(),
            "m=65 n=8 k=33 out=f32 ldb=12");
}

TEST(Problem, FullTextHasEveryField) {
  EXPECT_EQ(gemm("m=1 n=2 k=3").full_text(),
            "m=1 n=2 k=3 batch=1 layout=nn out=bf16 bias=none act=none alpha=1 beta=0 c=auto lda=0 "
            "ldb=0 ldc=0 ldd=0 "
            "stride_a=-1 stride_b=-1 stride_c=-1 stride_d=-1 a=bf16 b=bf16 scale_a=none "
            "scale_b=none scale_d=none zero_a=0 zero_b=0 zero_d=0 splits=1 scale_layout=row_major");
}

TEST(Problem, EqualMeansEqualBits) {
  EXPECT_FALSE(gemm("m=1 n=1 k=1 beta=-0") == gemm("m=1 n=1 k=1"));
  EXPECT_TRUE(gemm("m=1 n=1 k=1 beta=0x7fc00001") == gemm("n=1 m=1 k=1 beta=0x7FC00001"));
}

TEST(Problem, AccessorsGiveWhatTheTextSays) {
  const Problem problem = gemm("m=65 n=0 k=33 layout=tn alpha=0.1 beta=-1.5");
  EXPECT_EQ(problem.integer("m"), 65);
  EXPECT_EQ(problem.integer("n"), 0);
  EXPECT_EQ(problem.word("layout"), "tn");
  EXPECT_EQ(problem.real("alpha"), 0.1f);
  EXPECT_EQ(problem.real("beta"), -1.5f);
  EXPECT_TRUE(problem.is_default("out"));
  EXPECT_FALSE(problem.is_default("n"));
  EXPECT_TRUE(problem.has("ldd"));
  EXPECT_FALSE(problem.has("heads"));
}

TEST(Problem, MistakesAreNamedWithWhatWasMeant) {
  EXPECT_EQ(error_text("m=1 n=1 k=1 lyout=nt"),
            "there is no field \"lyout\" (did you mean \"layout\"?)");
  EXPECT_EQ(error_text("m=1 n=1 k=1 layout=nq"),
            "layout=nq is none of nn, nt, tn, tt (did you mean \"nn\"?)");
  EXPECT_EQ(error_text("m=1 n=1"), "k is missing (give k=...)");
  EXPECT_EQ(error_text("m=1 n=1 k=-1"), "k=-1 is out of range (k is from 0 to 1099511627776)");
  EXPECT_EQ(error_text("m=1 n=1 k"), "\"k\" is not of the form field=value (write k=...)");
  EXPECT_EQ(error_text("m=1 n=1 k=1 m=2"), "m is given twice (keep one of them)");
  EXPECT_EQ(error_text("m=1 n=1 k=1x"),
            "k=1x is not a whole number of 64 bits (write it like k=0)");
  EXPECT_EQ(error_text("m=1 n=1 k=99999999999999999999"),
            "k=99999999999999999999 is not a whole number of 64 bits (write it like k=0)");
  EXPECT_EQ(error_text("m=1 n=1 k=1 alpha=1e99"),
            "alpha=1e99 is not a number that fits f32 (write a decimal (0.5, 1e-3, inf) or the "
            "bits of an f32 "
            "(0x7fc00000))");
}

TEST(Problem, ErrorsPointIntoTheText) {
  EXPECT_EQ(error_text("m=1 n=1 k=1 lyout=nt", "a.case:3:20"),
            "a.case:3:32: there is no field \"lyout\" (did you mean \"layout\"?)");
  EXPECT_EQ(error_text("m=1 n=oops k=1", "a.case:3:20"),
            "a.case:3:26: n=oops is not a whole number of 64 bits (write it like n=0)");
  EXPECT_EQ(error_text("m=1 heads=2", "--problem"),
            "--problem:5: there is no field \"heads\" (the fields are m, n, k, batch, layout, out, "
            "bias, act, alpha, beta, "
            "c, lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d, a, b, scale_a, "
            "scale_b, scale_d, zero_a, zero_b, zero_d, splits, scale_layout)");
}

}  // namespace
}  // namespace plumbline
