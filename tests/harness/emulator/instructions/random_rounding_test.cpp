// SPDX-License-Identifier: MIT
// Monte Carlo arithmetic in the emulator: every form that rounds is moved as
// oracles/formats/random_rounding.h says, exact results stay, and a seed means the same bits for
// any number of workers. Lanes draw independently, so one launch is thousands of draws.
#include <cmath>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;

constexpr std::int64_t kCtas = 64, kThreads = 64, kLanes = kCtas * kThreads;
// Five deviations of a mean of so many draws of two neighbors, in units.
const double kChance = 5 * 0.5 / std::sqrt(static_cast<double>(kLanes));

KernelOptions random_options(std::uint64_t seed = 1) {
  KernelOptions options;
  options.emulator.random_rounding = RandomRounding::on;
  options.grid = {kCtas, 1, 1};
  options.block = {kThreads, 1, 1};
  options.rounding_seed = seed;
  return options;
}

// What every lane gets when `code` leaves its result in %r0; %f1 to %f3 hold a, b and c.
std::vector<u32> results(std::string_view code, float a, float b, float c,
                         const KernelOptions& options = random_options()) {
  std::string body;
  for (const auto& [index, value] : {std::pair{1, a}, {2, b}, {3, c}})
    body += fmt::format("mov.b32 %f{}, 0f{:08x};\n", index, std::bit_cast<u32>(value));
  body += "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r1;\n";
  body += "mad.wide.u32 %out, %r1, 4, %out;\n";
  body += std::string(code) + "\nst.global.b32 [%out], %r0;\n";
  const KernelRun run =
      run_kernel(kernel_text(body), std::vector<std::byte>(16), kLanes * 4, options);
  EXPECT_TRUE(run.outcome.findings.empty()) << code << "\n" << findings_text(run.outcome);
  return run.values<u32>();
}

// An instruction with operands a, b, c, the format of its result, and the exact value of that.
struct Form {
  std::string_view code;
  FormatId result;
  float a, b, c;
  double exact;
  double bias = 0;  // of the mean, in units toward zero
};

constexpr float kThird = 1.0F / 3;  // an f32: products of it are not

const double kThirdExact = kThird;

TEST(RandomRounding, TheMeanOfEveryFormIsTheExactResult) {
  const double ulp = 0x1p-23;
  const Form forms[] = {
      {"add.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", FormatId::f32, 1, 0x1p-24F, 0, 1 + 0x1p-24},
      {"add.rz.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", FormatId::f32, 1.5F, 0x1p-24F, 0,
       1.5 + 0x1p-24, 0.5},
      {"sub.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", FormatId::f32, 1.5F, kThird * 0x1p-23F, 0,
       1.5 - kThirdExact * ulp},
      {"mul.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", FormatId::f32, kThird, 5, 0, kThirdExact * 5},
      {"fma.rn.f32 %f0, %f1, %f2, %f3; mov.b32 %r0, %f0;", FormatId::f32, kThird, kThird, 1,
       1 + kThirdExact * kThirdExact},
      {"div.rn.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", FormatId::f32, 1, 3, 0, 1.0 / 3},
      {"rcp.rn.f32 %f0, %f2; mov.b32 %r0, %f0;", FormatId::f32, 0, 7, 0, 1.0 / 7},
      {"sqrt.rn.f32 %f0, %f1; mov.b32 %r0, %f0;", FormatId::f32, 2, 0, 0, std::sqrt(2.0)},
      {"ex2.approx.f32 %f0, %f1; mov.b32 %r0, %f0;", FormatId::f32, 0.3F, 0, 0,
       std::exp2(static_cast<double>(0.3F))},
      {"lg2.approx.f32 %f0, %f1; mov.b32 %r0, %f0;", FormatId::f32, 5, 0, 0, std::log2(5.0)},
      {"div.approx.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", FormatId::f32, 1, 3, 0, 1.0 / 3},
      {"cvt.rn.bf16.f32 %h0, %f1; cvt.u32.u16 %r0, %h0;", FormatId::bf16, kThird, 0, 0,
       kThirdExact},
      {"cvt.rz.bf16.f32 %h0, %f1; cvt.u32.u16 %r0, %h0;", FormatId::bf16, kThird, 0, 0, kThirdExact,
       0.5},
      {"cvt.rn.f16.f32 %h0, %f1; cvt.u32.u16 %r0, %h0;", FormatId::f16, kThird, 0, 0, kThirdExact},
      {"cvt.rn.bf16x2.f32 %r0, %f1, %f2;", FormatId::bf16, 1, kThird, 0, kThirdExact},
      {"cvt.rn.satfinite.e4m3x2.f32 %h0, %f1, %f2; cvt.u32.u16 %r0, %h0;", FormatId::e4m3, 1,
       kThird, 0, kThirdExact},
      {"cvt.rna.tf32.f32 %r0, %f1;", FormatId::tf32, kThird, 0, 0, kThirdExact},
      {"mov.b32 %r3, 16777217; cvt.rn.f32.s32 %f0, %r3; mov.b32 %r0, %f0;", FormatId::f32, 0, 0, 0,
       16777217},
      {"mov.b32 %r3, 0x40403f80; mov.b32 %r4, 0x3f803b80; add.bf16x2 %r0, %r3, %r4;",
       FormatId::bf16, 0, 0, 0, 1 + 0x1p-8},
      {"mov.b32 %r3, 0x3c013c01; fma.rn.f16x2 %r0, %r3, %r3, %r3;", FormatId::f16, 0, 0, 0,
       2 + 0x1p-10 * 3 + 0x1p-20},
  };
  for (const Form& form : forms) {
    const Format& f = format(form.result);
    const double unit = std::ldexp(1.0, std::ilogb(form.exact) - f.mantissa_bits);
    double mean = 0;
    for (const u32 bits : results(form.code, form.a, form.b, form.c)) {
      const std::uint64_t code = f.storage_bits == 32 ? bits : bits & ((1u << f.storage_bits) - 1);
      mean += to_double(f, code) / static_cast<double>(kLanes);
    }
    EXPECT_NEAR((mean - form.exact) / unit, -form.bias, kChance) << form.code;
  }
}

TEST(RandomRounding, ExactResultsStay) {
  constexpr Form forms[] = {
      {"add.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", FormatId::f32, 1, 0x1p-23F, 0, 1 + 0x1p-23},
      {"add.rz.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", FormatId::f32, 3, -3, 0, 0},
      {"fma.rn.f32 %f0, %f1, %f2, %f3; mov.b32 %r0, %f0;", FormatId::f32, 3, 5, -15, 0},
      {"div.rn.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", FormatId::f32, 21, 7, 0, 3},
      {"sqrt.rn.f32 %f0, %f1; mov.b32 %r0, %f0;", FormatId::f32, 49, 0, 0, 7},
      {"ex2.approx.ftz.f32 %f0, %f1; mov.b32 %r0, %f0;", FormatId::f32, -5, 0, 0, 0x1p-5},
      {"cvt.rn.bf16.f32 %h0, %f1; cvt.u32.u16 %r0, %h0;", FormatId::bf16, 1.5F, 0, 0, 1.5},
      {"cvt.f32.f16 %f0, 0x3555; mov.b32 %r0, %f0;", FormatId::f32, 0, 0, 0, 0x1.554p-2},
      {"max.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", FormatId::f32, kThird, 0.1F, 0, kThird},
  };
  for (const Form& form : forms) {
    const std::uint64_t due = encode(format(form.result), form.exact);
    for (const u32 bits : results(form.code, form.a, form.b, form.c))
      ASSERT_EQ(bits, due) << form.code;
  }
}

// Integers and integral values are addresses and branches as often as data.
TEST(RandomRounding, WhatBecomesAnIntegerIsNotMoved) {
  for (const u32 bits : results("cvt.rni.s32.f32 %r0, %f1;", 2.5F, 0, 0)) ASSERT_EQ(bits, 2u);
  for (const u32 bits : results("cvt.rmi.f32.f32 %f0, %f1; mov.b32 %r0, %f0;", 2.7F, 0, 0))
    ASSERT_EQ(bits, std::bit_cast<u32>(2.0F));
}

// The first thread adds 1 and all others a quarter of its unit: to nearest the sum stays at 1,
// however many there are. At random one addition in four goes up, with a deviation of sqrt(3) / 4.
TEST(RandomRounding, AtomicSumsDoNotStagnate) {
  const auto units = [](const KernelOptions& how) {
    const KernelRun run = run_kernel(kernel_text("mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
                                                 "or.b32 %r1, %r1, %r2; setp.eq.u32 %p0, %r1, 0;\n"
                                                 "selp.f32 %f1, 0f3f800000, 0f33000000, %p0;\n"
                                                 "red.global.add.f32 [%out], %f1;"),
                                     std::vector<std::byte>(16), 4, how);
    return (run.values<float>()[0] - 1) / 0x1p-23F;
  };
  KernelOptions options = random_options();
  options.out_is_written = true;
  const double terms = kLanes - 1;
  EXPECT_NEAR(units(options), terms / 4, 5 * std::sqrt(terms * 3) / 4);
  options.emulator.random_rounding = RandomRounding::off;
  EXPECT_EQ(units(options), 0);
}

TEST(RandomRounding, OneSeedIsOneResultForAnyNumberOfWorkers) {
  const char* code =
      "mul.f32 %f0, %f1, %f2; fma.rn.f32 %f0, %f0, %f1, %f3; ex2.approx.f32 %f0, %f0;\n"
      "mov.b32 %r0, %f0;";
  KernelOptions one = random_options(7), two = random_options(7);
  two.emulator.threads = 2;
  const std::vector<u32> first = results(code, kThird, 0.7F, 0.1F, one);
  EXPECT_EQ(first, results(code, kThird, 0.7F, 0.1F, two));
  EXPECT_NE(first, results(code, kThird, 0.7F, 0.1F, random_options(8)));
  // Lanes, warps and blocks differ.
  for (const std::size_t other : {1u, 32u, 64u})
    EXPECT_FALSE(std::equal(first.begin(), first.begin() + 32, first.begin() + other)) << other;
}

TEST(RandomRounding, ADeviceThatWasNotAskedIgnoresTheSeed) {
  KernelOptions options = random_options(5);
  options.emulator.random_rounding = RandomRounding::off;
  for (const u32 bits : results("div.rn.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", 1, 3, 0, options))
    ASSERT_EQ(bits, std::bit_cast<u32>(1.0F / 3));
}

}  // namespace
}  // namespace plumbline::emulator
