// SPDX-License-Identifier: MIT
// Probes of the arithmetic, run through the accumulators of contracts whose numbers are known: what
// they find is what the table of generations says.
#include "oracles/bounds/arithmetic_probes.h"

#include <gtest/gtest.h>

#include "oracles/bounds/accumulator/model.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"

namespace plumbline {
namespace {

using namespace plumbline::testing;
using enum FormatId;

// Of kernels whose outputs have that format.
Arithmetic probed(const Contract& contract, int sm, FormatId a, FormatId b, FormatId out = f32) {
  const ProbeResults kind = out == f32 ? ProbeResults::f32 : ProbeResults::narrow;
  std::vector<float> results;
  for (const ArithmeticProbe& probe : arithmetic_probes(kind)) {
    const float sum =
        run_accumulator(contract, sm, a, b, probe.a.data(), probe.b.data(), kProbeDepth).value;
    results.push_back(
        static_cast<float>(to_double(format(out), encode(format(out), static_cast<double>(sum)))));
  }
  return arithmetic_of(results, kind);
}

const Contract kMma = tensor_core_contract(), kWgmma = tensor_core_contract(Instruction::wgmma);

// Fraction bits, result bits, rounding, products per step, fresh accumulators.
const Arithmetic kVolta{23, 24, false, 4, {}}, kAmpere{24, 24, false, 8, {}},
    kHopper{25, 24, false, 16, {}}, kAdaFp8{13, 14, false, 16, {}},
    kHopperFp8Wgmma{13, 14, false, 32, {}}, kFma{23, 24, true, 1, {}};

// Every mma.sync of 32 products sums from zero; the accumulator is added to nearest.
const Arithmetic kHopperFp8Mma{25, 24, true, 16, {32}};

Arithmetic with_fresh(Arithmetic arithmetic, std::vector<std::int64_t> every) {
  arithmetic.fresh_every = std::move(every);
  return arithmetic;
}

struct Row {
  const char* name;
  Contract contract;
  int sm;
  FormatId a, b;
  Arithmetic expected;
};

void expect_numbers(const Row& row) {
  const Arithmetic found = probed(row.contract, row.sm, row.a, row.b);
  EXPECT_EQ(found, row.expected) << row.name << ": found " << found.words() << ", not "
                                 << row.expected.words();
  for (const FormatId out : {bf16, f16}) {
    const Arithmetic narrow = probed(row.contract, row.sm, row.a, row.b, out);
    EXPECT_EQ(narrow, row.expected) << row.name << ", outputs of 16 bits: found " << narrow.words();
  }
}

TEST(ArithmeticProbes, FindTheNumbersOfEveryUnit) {
  const Row rows[] = {
      {"volta f16", kMma, 70, f16, f16, kVolta},
      {"turing f16", kMma, 75, f16, f16, kAmpere},
      {"ampere bf16", kMma, 80, bf16, bf16, kAmpere},
      {"ampere f16", kMma, 80, f16, f16, kAmpere},
      {"ada bf16", kMma, 89, bf16, bf16, kAmpere},
      {"ada e4m3", kMma, 89, e4m3, e4m3, kAdaFp8},
      {"ada e5m2 x e4m3", kMma, 89, e5m2, e4m3, kAdaFp8},
      {"hopper bf16", kMma, 90, bf16, bf16, kHopper},
      {"hopper f16", kMma, 90, f16, f16, kHopper},
      {"hopper tf32", kMma, 90, tf32, tf32, {25, 24, false, 8, {}}},
      {"hopper e4m3 mma.sync", kMma, 90, e4m3, e4m3, kHopperFp8Mma},
      {"hopper e5m2 mma.sync", kMma, 90, e5m2, e5m2, kHopperFp8Mma},
      {"hopper bf16 wgmma", kWgmma, 90, bf16, bf16, kHopper},
      {"hopper e4m3 wgmma", kWgmma, 90, e4m3, e4m3, kHopperFp8Wgmma},
      {"hopper e4m3 x e5m2 wgmma", kWgmma, 90, e4m3, e5m2, kHopperFp8Wgmma},
      {"blackwell bf16", kMma, 100, bf16, bf16, kHopper},
      {"blackwell e4m3 tcgen05",
       tensor_core_contract(Instruction::tcgen05),
       100,
       e4m3,
       e4m3,
       {25, 24, false, 32, {}}},
      {"sm_120 e4m3", kMma, 120, e4m3, e4m3, {25, 24, false, 32, {}}},
      {"bf16 fma", fma_contract(), 80, bf16, bf16, kFma},
      {"f32 fma", fma_contract(), 80, f32, f32, kFma},
  };
  for (const Row& row : rows) expect_numbers(row);
}

TEST(ArithmeticProbes, FindFreshAccumulators) {
  const Row rows[] = {
      {"wgmma every 128", promoted(kWgmma, 128), 90, e4m3, e4m3,
       with_fresh(kHopperFp8Wgmma, {128})},
      {"mma.sync fp8 every 128", promoted(kMma, 128), 90, e4m3, e4m3,
       with_fresh(kHopperFp8Mma, {32, 128})},
      {"ada every 128", promoted(kMma, 128), 89, e4m3, e4m3, with_fresh(kAdaFp8, {128})},
      {"ada every 64, scaled", scaled(kMma, 64), 89, e4m3, e4m3, with_fresh(kAdaFp8, {64})},
      {"fma every 16", promoted(fma_contract(), 16), 80, f32, f32, with_fresh(kFma, {16})},
      {"in 4 parts", split(kMma, 4, Join::f32_ordered, 32), 80, bf16, bf16,
       with_fresh(kAmpere, {128})},
      {"in 4 parts, atomic", split(kMma, 4, Join::f32_atomic, 32), 90, bf16, bf16,
       with_fresh(kHopper, {128})},
      {"fma in 4 parts", split(fma_contract(), 4, Join::f32_ordered), 80, bf16, bf16,
       with_fresh(kFma, {128})},
      {"in 1 part", split(kMma, 1, Join::f32_ordered, 32), 80, bf16, bf16, kAmpere},
  };
  for (const Row& row : rows) expect_numbers(row);
}

// Units that take 4 products at a time do not meet the three terms of an alignment probe in one
// step. Volta aligns to no more bits than its results have, so nothing is lost; tf32 on Ampere and
// Ada has one bit more than is found.
TEST(ArithmeticProbes, SeeOneBitTooFewOfTf32OnAmpere) {
  EXPECT_EQ(probed(kMma, 80, tf32, tf32), (Arithmetic{23, 24, false, 4, {}}));
}

TEST(ArithmeticProbes, ValuesAreExactInEveryInputFormat) {
  const std::vector<ArithmeticProbe> probes = arithmetic_probes();
  for (const FormatId id : {bf16, f16, tf32, f32, e4m3, e5m2}) {
    const Format& input = format(id);
    const auto exact = [&](float value) {
      return to_double(input, encode(input, static_cast<double>(value))) ==
             static_cast<double>(value);
    };
    for (const ArithmeticProbe& probe : probes) {
      ASSERT_EQ(std::ssize(probe.a), kProbeDepth);
      ASSERT_EQ(std::ssize(probe.b), kProbeDepth);
      for (std::size_t i = 0; i < probe.a.size(); ++i) {
        ASSERT_TRUE(exact(probe.a[i]) && exact(probe.b[i]))
            << input.name << " " << probe.a[i] << " * " << probe.b[i];
      }
    }
  }
}

TEST(ArithmeticProbes, ExactSumsHaveNoLimits) {
  std::vector<float> results;
  for (const ArithmeticProbe& probe : arithmetic_probes()) {
    double sum = 0;
    for (std::size_t i = 0; i < probe.a.size(); ++i) {
      sum += static_cast<double>(probe.a[i]) * static_cast<double>(probe.b[i]);
    }
    results.push_back(static_cast<float>(sum));
  }
  const Arithmetic found = arithmetic_of(results);
  EXPECT_EQ(found.fraction_bits, 0) << "more than the probes can see";
  EXPECT_TRUE(found.fresh_every.empty());
}

TEST(Arithmetic, Words) {
  EXPECT_EQ(with_fresh(kHopperFp8Wgmma, {128}).words(),
            "13 fraction bits, 14-bit results cut toward zero, 32 products per step, a fresh "
            "accumulator every 128 of k");
  EXPECT_EQ(with_fresh(kHopper, {32, 128}).words(),
            "25 fraction bits, 24-bit results cut toward zero, 16 products per step, a fresh "
            "accumulator every 32 and every "
            "128 of k");
  EXPECT_EQ(kFma.words(),
            "23 fraction bits, 24-bit results rounded to nearest, 1 product per step");
  EXPECT_EQ(
      (Arithmetic{0, 0, false, 8, {}}.words()),
      "more than 30 fraction bits, more than 30-bit results cut toward zero, 8 products per step");
}

TEST(ArithmeticProbes, ResultsOfNoDotProductAreSaidToBeThat) {
  const std::vector<float> wild(arithmetic_probes().size(), 1e30f);
  EXPECT_EQ(arithmetic_of(wild).words(), "no dot product: no order of additions gives its results");
  EXPECT_EQ(arithmetic_of(wild).products_per_step, 0);
}

}  // namespace
}  // namespace plumbline
