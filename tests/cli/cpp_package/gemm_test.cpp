#include <plumbline/gtest.h>

#include <csignal>
#include <stdexcept>
#include <vector>

// A user's 8-bit integer GEMM, with B stored as it is and transposed.
struct Gemm {
  static constexpr std::int64_t kM = 5, kN = 7, kK = 33;
  std::vector<std::int8_t> a, b;
  std::vector<std::int32_t> d;

  explicit Gemm(bool transposed) : a(kM * kK), b(kK * kN), d(kM * kN) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::int8_t>(37 * i % 251);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::int8_t>(91 * i % 241);
    for (std::int64_t i = 0; i < kM; ++i)
      for (std::int64_t j = 0; j < kN; ++j)
        for (std::int64_t p = 0; p < kK; ++p)
          d[i * kN + j] += a[i * kK + p] * b[transposed ? j * kK + p : p * kN + j];
  }

  std::vector<plumbline::TensorView> inputs(bool transposed) const {
    plumbline::TensorView view{"b", plumbline::Type::s8, {kK, kN}, b.data()};
    if (transposed) view.strides = {1, kK};
    return {{"a", plumbline::Type::s8, {kM, kK}, a.data()}, view};
  }

  plumbline::TensorView output() const { return {"d", plumbline::Type::s32, {kM, kN}, d.data()}; }
};

const char* const kCall = "gemm_s8 m=5 n=7 k=33";

TEST(Gemm, Conforms) {
  const Gemm gemm(false);
  EXPECT_THAT(gemm.output(), plumbline::ConformsTo(kCall, 80, gemm.inputs(false)));
}

TEST(Gemm, ConformsTransposed) {
  const Gemm gemm(true);
  EXPECT_THAT(gemm.output(), plumbline::ConformsTo(kCall, 80, gemm.inputs(true)));
  EXPECT_THAT(gemm.output(), testing::Not(plumbline::ConformsTo(kCall, 80, gemm.inputs(false))));
}

TEST(Gemm, AWrongElementIsNamed) {
  Gemm gemm(false);
  gemm.d[2 * Gemm::kN + 3] += 1;
  std::vector<plumbline::TensorView> all = gemm.inputs(false);
  all.push_back(gemm.output());
  const plumbline::Verdict verdict = plumbline::check(kCall, 80, all);
  EXPECT_EQ(verdict.outcome, plumbline::Outcome::broken);
  EXPECT_THAT(verdict.text, testing::HasSubstr("d[2,3]"));
}

TEST(Gemm, WrongInputIsNoVerdict) {
  const Gemm gemm(false);
  EXPECT_EQ(plumbline::check("gemm_s8 m=5 n=7", 80, {gemm.output()}).outcome,
            plumbline::Outcome::wrong_input);
  EXPECT_EQ(plumbline::check(kCall, 80, {gemm.output()}, {"", {}, "/nowhere/plumbline"}).outcome,
            plumbline::Outcome::could_not_run);
  EXPECT_THROW(plumbline::check(kCall, 80, {{"a", plumbline::Type::s8, {5, 33}, nullptr}}),
               std::invalid_argument);
}

// No verdict is none under Not, either.
TEST(Gemm, WhatCannotBeJudgedIsNoMatchAndNoMismatch) {
  const Gemm gemm(false);
  const auto misspelt = plumbline::ConformsTo("gemm_s9 m=5 n=7 k=33", 80, gemm.inputs(false));
  EXPECT_THROW((void)misspelt.MatchAndExplain(gemm.output(), nullptr), std::runtime_error);
  EXPECT_THROW(plumbline::check(kCall, 80, {{"a", plumbline::Type::s8, {-1, 3}}}),
               std::invalid_argument);
  EXPECT_THROW(plumbline::check(kCall, 80, {{"a", plumbline::Type::s8, {1ll << 40, 1ll << 40}}}),
               std::invalid_argument);
}

TEST(Gemm, AnExitStatusThatIsLostIsNoPass) {
  Gemm gemm(false);
  gemm.d[3] += 1;
  std::vector<plumbline::TensorView> all = gemm.inputs(false);
  all.push_back(gemm.output());
  signal(SIGCHLD, SIG_IGN);
  const plumbline::Verdict verdict = plumbline::check(kCall, 80, all);
  signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(verdict.outcome, plumbline::Outcome::could_not_run) << verdict.text;
}

TEST(Kernel, Verifies) {
  EXPECT_TRUE(
      plumbline::verify("softmax_sm_80.toml", "quick",
                        {"", {"--on", "emulator", "--no-corpus", "--only", "class=ones m<=8"}}));
}
