// SPDX-License-Identifier: MIT
// The verdicts on a SwiGLU MLP: no conforming kernel fails, with any ex2; faults fail, and
// the simple ones are named; y is judged by the h that was stored.
#include "oracles/reference/swiglu/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/bounds/contract/attention.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/swiglu/definition.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

enum class Data { normal, levels, large, specials, integers };

constexpr Data kData[] = {Data::normal, Data::levels, Data::large, Data::specials, Data::integers};

float value(const Tensor& tensor, std::int64_t index) {
  return static_cast<float>(to_double(format(tensor.layout.format), tensor.bits(index)));
}

// From the sums of gate and up to what is rounded to h.
using Activation = std::function<float(float gate, float up)>;

// The contract's steps with an ex2 that is off by `part` of what is allowed.
float conforming(SiluForm form, float gate, float up, double part) {
  const double power = std::exp2(static_cast<double>(gate * kMinusLog2E));
  float e = static_cast<float>(power * (1 + part * 0.99 * kEx2Error));
  if (gate == 0) e = 1;
  if (e < 0x1p-126f) e = 0;
  const float divisor = 1 + e;
  return (form == SiluForm::quotient ? gate / divisor : gate * (1 / divisor)) * up;
}

// An MLP whose kernel adds products by FMA, k increasing: its bits are easily foretold.
class Mlp {
 public:
  std::int64_t tokens = 5, d = 33, hidden = 40, d_out = 9;
  SwigluContract contract{Unit::fma_f32, Instruction::mma_sync, SiluForm::quotient};
  Tensor x, gate, up, down, h, y;

  explicit Mlp(Data data, std::uint64_t seed = 1)
      : x(matrix(tokens, d)),
        gate(matrix(hidden, d)),
        up(matrix(hidden, d)),
        down(matrix(d_out, hidden)),
        h(matrix(tokens, hidden)),
        y(matrix(tokens, d_out)) {
    const Random random(seed);
    fill(x, data, random.fork(1));
    fill(gate, data, random.fork(2));
    fill(up, data, random.fork(3));
    fill(down, data, random.fork(4));
    if (data == Data::levels) set_levels(random.fork(5));
  }

  void run(const Activation& activation) {
    for (std::int64_t i = 0; i < tokens; ++i) {
      for (std::int64_t j = 0; j < hidden; ++j) {
        const float result = activation(sum(x, i, gate, j, d), sum(x, i, up, j, d));
        h.set_bits(i * hidden + j, bf16(result));
      }
    }
    run_output();
  }

  void run_output() {
    for (std::int64_t i = 0; i < tokens; ++i) {
      for (std::int64_t o = 0; o < d_out; ++o)
        y.set_bits(i * d_out + o, bf16(sum(h, i, down, o, hidden)));
    }
  }

  void run_conforming(std::uint64_t seed = 9) {
    Random random(seed);
    run([&](float g, float u) { return conforming(contract.silu, g, u, 2 * random.unit() - 1); });
  }

  SwigluProblem problem() const { return {&x, &gate, &up, &down, &h, FormatId::bf16}; }

  std::unique_ptr<SwigluOracle> oracle() const {
    return std::make_unique<SwigluOracle>(problem(), contract, 90);
  }

  static float sum(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j,
                   std::int64_t k) {
    float sum = 0;
    for (std::int64_t p = 0; p < k; ++p)
      sum = std::fmaf(value(a, i * k + p), value(b, j * k + p), sum);
    return sum;
  }

  static std::uint64_t bf16(float x) {
    return encode(format(FormatId::bf16), static_cast<double>(x));
  }

 private:
  static Tensor matrix(std::int64_t rows, std::int64_t columns) {
    return Tensor(dense_layout(FormatId::bf16, {rows, columns}));
  }

  static void fill(Tensor& tensor, Data data, const Random& random) {
    for (std::int64_t n = 0; n < tensor.layout.count(); ++n) {
      Random of_element = random.fork(static_cast<std::uint64_t>(n));
      double value = 2 * of_element.unit() - 1;
      if (data == Data::large)
        value = std::ldexp(value, static_cast<int>(of_element.between(50, 65)));
      if (data == Data::integers) value = static_cast<double>(of_element.between(-2, 2));
      tensor.set_bits(n, encode(format(FormatId::bf16), value));
      if (data != Data::specials || of_element.below(60) != 0) continue;
      constexpr std::uint64_t kSpecials[] = {0x7fc0, 0x7f80, 0xff80, 0x8000};
      tensor.set_bits(n, kSpecials[of_element.below(4)]);
    }
  }

  // Gates from -100 to 100, at the minimum and at 0.
  void set_levels(Random random) {
    for (std::int64_t i = 0; i < tokens; ++i) x.set_bits(i * d, bf16(1));
    for (std::int64_t j = 0; j < hidden; ++j) {
      const auto level = static_cast<float>(j % 4 == 0   ? -1.28
                                            : j % 4 == 1 ? 200 * random.unit() - 100
                                            : j % 4 == 2 ? -89 + 3 * random.unit()
                                                         : 0);
      gate.set_bits(j * d, bf16(level));
    }
  }
};

TEST(SwigluOracle, ConformingKernelsPass) {
  std::int64_t judged = 0;
  double worst = 0;
  for (const Data data : kData) {
    for (const SiluForm form : {SiluForm::quotient, SiluForm::reciprocal}) {
      for (std::uint64_t seed = 1; seed < 6; ++seed) {
        Mlp mlp(data, seed);
        mlp.contract.silu = form;
        mlp.run_conforming(seed);
        const auto oracle = mlp.oracle();
        for (const auto& [output, got] : {std::pair{0, &mlp.h}, {1, &mlp.y}}) {
          const OutputVerdict verdict = oracle->judge(output, *got, {});
          EXPECT_EQ(verdict.failed, 0)
              << static_cast<int>(data) << " " << seed << " " << oracle->output_name(output)
              << " at " << verdict.worst.index << std::hex << ": got " << verdict.worst.got
              << ", admissible " << verdict.worst.low << " to " << verdict.worst.high;
          EXPECT_EQ(verdict.disagreements, 0) << static_cast<int>(data);
          EXPECT_EQ(verdict.compared, verdict.elements);
          judged += verdict.compared;
          worst = std::max(worst, verdict.worst_share);
        }
      }
    }
  }
  EXPECT_GT(judged, 10000);
  EXPECT_GT(worst, 0.2) << "the bound is attained to within a factor";
}

TEST(SwigluOracle, MpfrAgreesEverywhere) {
  for (const Data data : kData) {
    Mlp mlp(data);
    mlp.run_conforming();
    const OutputVerdict verdict = mlp.oracle()->judge(0, mlp.h, {.mpfr_bits = 256});
    EXPECT_EQ(verdict.refereed, verdict.elements);
    EXPECT_EQ(verdict.disagreements, 0) << static_cast<int>(data);
    EXPECT_EQ(verdict.failed, 0) << static_cast<int>(data);
  }
}

// Every element one by one says what the pass over all of them says.
TEST(SwigluOracle, ElementsAndThePassAgree) {
  for (const Data data : kData) {
    Mlp mlp(data);
    mlp.run([](float g, float u) { return g * u; });
    const auto oracle = mlp.oracle();
    std::int64_t failed = 0;
    for (std::int64_t n = 0; n < mlp.h.layout.count(); ++n)
      failed += !oracle->element(0, n, mlp.h.bits(n)).pass;
    EXPECT_EQ(oracle->judge(0, mlp.h, {.threads = 2}).failed, failed);
    EXPECT_GT(failed, 0);
  }
}

struct NamedFault {
  const char* words;
  Activation activation;
};

float rounded(float x) {
  return static_cast<float>(to_double(format(FormatId::bf16), Mlp::bf16(x)));
}

float silu_of(float x) { return nearest_silu(SiluForm::quotient, x); }

float truncated(float x) {
  return static_cast<float>(to_double(
      format(FormatId::bf16),
      encode(format(FormatId::bf16), static_cast<double>(x), {.rounding = Rounding::toward_zero})));
}

TEST(SwigluOracle, SimpleFaultsFailAndAreNamed) {
  const NamedFault faults[] = {
      {"gate and up are swapped", [](float g, float u) { return silu_of(u) * g; }},
      {"silu is missing", [](float g, float u) { return g * u; }},
      {"not multiplied by gate", [](float g, float u) { return u / (1 + std::exp(-g)); }},
      {"wrong sign", [](float g, float u) { return g / (1 + std::exp(g)) * u; }},
      {"multiplied where it should divide",
       [](float g, float u) { return g * (1 + std::exp(-g)) * u; }},
      {"base 2", [](float g, float u) { return g / (1 + std::exp2(-g)) * u; }},
      {"gate is rounded to bf16", [](float g, float u) { return silu_of(rounded(g)) * u; }},
      {"silu(gate) is rounded", [](float g, float u) { return rounded(silu_of(g)) * u; }},
      {"truncated", [](float g, float u) { return truncated(silu_of(g) * u); }},
      {"gelu", [](float g, float u) { return g / 2 * std::erfc(-g / std::sqrt(2.0f)) * u; }},
  };
  for (const NamedFault& fault : faults) {
    Mlp mlp(Data::normal, 3);
    mlp.run(fault.activation);
    const auto oracle = mlp.oracle();
    const OutputVerdict verdict = oracle->judge(0, mlp.h, {});
    ASSERT_GT(verdict.failed, mlp.h.layout.count() / 20) << fault.words;
    const Explanation explanation = oracle->explain(0, verdict.failures.front().index, mlp.h);
    EXPECT_THAT(explanation.faults.names, Contains(HasSubstr(fault.words)));
    EXPECT_EQ(oracle->judge(1, mlp.y, {}).failed, 0) << "y follows from the h that was stored";
  }
}

TEST(SwigluOracle, AMissingLastProductIsNamed) {
  Mlp mlp(Data::normal, 4);
  Mlp shorter = mlp;
  for (std::int64_t i = 0; i < mlp.tokens; ++i) shorter.x.set_bits(i * mlp.d + mlp.d - 1, 0);
  shorter.run_conforming();
  mlp.h = shorter.h;
  const auto oracle = mlp.oracle();
  const OutputVerdict verdict = oracle->judge(0, mlp.h, {});
  ASSERT_GT(verdict.failed, 0);
  EXPECT_THAT(oracle->explain(0, verdict.failures.front().index, mlp.h).faults.names,
              Contains(HasSubstr("the last product is missing")));
}

TEST(SwigluOracle, YIsJudgedByTheStoredH) {
  Mlp mlp(Data::normal, 6);
  mlp.run_conforming();
  const Tensor right = mlp.y;
  mlp.h.set_bits(7, mlp.h.bits(7) ^ 0x0040);  // another number, in row 0
  EXPECT_EQ(mlp.oracle()->judge(0, mlp.h, {}).failed, 1);
  const OutputVerdict stale = mlp.oracle()->judge(1, right, {});
  EXPECT_GT(stale.failed, 0) << "y of another h";
  EXPECT_LE(stale.failed, mlp.d_out) << "in that row";
  mlp.run_output();
  EXPECT_EQ(mlp.oracle()->judge(1, mlp.y, {}).failed, 0);
}

// silu(-inf) is NaN, silu(inf) inf, silu of what e^-g overflows for is 0.
TEST(SwigluOracle, EndsOfF32AreWhatTheContractSays) {
  Mlp mlp(Data::integers);
  for (std::int64_t p = 0; p < mlp.d; ++p) {
    mlp.x.set_bits(p, Mlp::bf16(p == 0 ? 1 : 0));
    for (std::int64_t j = 0; j < 5; ++j) mlp.up.set_bits(j * mlp.d + p, Mlp::bf16(2));
  }
  const float gates[] = {-kFloatInfinity, kFloatInfinity, -1000, -0x1p100f, 1000};
  for (std::int64_t j = 0; j < 5; ++j) mlp.gate.set_bits(j * mlp.d, Mlp::bf16(gates[j]));
  mlp.run_conforming();
  EXPECT_TRUE(std::isnan(value(mlp.h, 0)));
  EXPECT_EQ(value(mlp.h, 1), kFloatInfinity);
  EXPECT_EQ(value(mlp.h, 2), 0);
  EXPECT_EQ(value(mlp.h, 3), 0);
  EXPECT_EQ(value(mlp.h, 4), 2000);
  const auto oracle = mlp.oracle();
  EXPECT_EQ(oracle->judge(0, mlp.h, {}).failed, 0);
  for (std::int64_t j = 0; j < 5; ++j) EXPECT_FALSE(oracle->element(0, j, Mlp::bf16(1)).pass) << j;
  EXPECT_TRUE(oracle->element(0, 0, Mlp::bf16(0)).class_mismatch);
}

// A tensor core that adds 2^55 - 2^55 + 2^30 - 2^29 at once may lose 2^29, or more: all gates from
// 0 to 2^30 conform, and their silu. What is beyond does not.
TEST(SwigluOracle, GatesThatCancelMayBeAnythingBetween) {
  Mlp mlp(Data::integers);
  mlp.contract.unit = Unit::tensor_core;
  const float gates[] = {0x1p55f, -0x1p55f, 0x1p30f, -0x1p29f};
  for (std::int64_t p = 0; p < mlp.d; ++p) {
    mlp.x.set_bits(p, Mlp::bf16(p < 4 ? 1 : 0));
    mlp.gate.set_bits(p, Mlp::bf16(p < 4 ? gates[p] : 0));
    mlp.up.set_bits(p, Mlp::bf16(p == 0 ? 1 : 0));
  }
  const auto oracle = mlp.oracle();
  for (const float g : {0.0f, 0x1p29f, 0x1p30f})
    EXPECT_TRUE(oracle->element(0, 0, Mlp::bf16(g)).pass) << g;
  EXPECT_FALSE(oracle->element(0, 0, Mlp::bf16(0x1p32f)).pass);
  EXPECT_FALSE(oracle->element(0, 0, Mlp::bf16(-1)).pass);
}

// With an open gate, silu(g) = g, what is exact in the sum of up is exact in h.
TEST(SwigluOracle, SumsBehindOpenGatesAreExact) {
  Mlp mlp(Data::integers);
  for (std::int64_t i = 0; i < mlp.tokens; ++i) mlp.x.set_bits(i * mlp.d, Mlp::bf16(1));
  for (std::int64_t n = 0; n < mlp.gate.layout.count(); ++n)
    mlp.gate.set_bits(n, Mlp::bf16(n % mlp.d == 0 ? 32 : 0));
  mlp.run_conforming();
  EXPECT_EQ(mlp.oracle()->judge(0, mlp.h, {}).exact_required, mlp.h.layout.count());
}

TEST(SwigluOracle, ReferenceValuesAreTheDefinitions) {
  Mlp mlp(Data::levels, 8);
  mlp.run_conforming();
  const auto oracle = mlp.oracle();
  const std::vector<double> h = oracle->reference_values(0, Reference::contract, 2);
  const std::vector<double> y = oracle->reference_values(1, Reference::mathematics, 2);
  const std::vector<double> faithful = oracle->reference_values(1, Reference::contract, 1);
  double rounding = 0;
  for (std::int64_t n = 0; n < mlp.h.layout.count(); n += 7) {
    const auto defined = static_cast<double>(
        defined_hidden<RealOf<256>>(mlp.problem(), n / mlp.hidden, n % mlp.hidden));
    EXPECT_NEAR(h[static_cast<std::size_t>(n)], defined, 0x1p-50 * (1e-300 + std::fabs(defined)));
  }
  for (std::int64_t n = 0; n < mlp.y.layout.count(); ++n) {
    const auto at = static_cast<std::size_t>(n);
    const auto defined = static_cast<double>(
        defined_output<RealOf<256>>(mlp.problem(), n / mlp.d_out, n % mlp.d_out));
    EXPECT_NEAR(y[at], defined, 0x1p-48 * 1e3);
    rounding = std::max(rounding, std::fabs(y[at] - faithful[at]));
  }
  EXPECT_GT(rounding, 1e-3) << "that of h";
}

}  // namespace
}  // namespace plumbline
