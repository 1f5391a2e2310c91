// SPDX-License-Identifier: MIT
#include "harness/scan/scan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "harness/launch/interrupt.h"
#include "harness/perf/compiled.h"

namespace plumbline {
namespace {

std::vector<std::string> known() {
  const auto all = known_scan_instructions();
  return {all.begin(), all.end()};
}

ScanOptions options_of(int sm, std::uint64_t sample) {
  ScanOptions options;
  options.target.sm = sm;
  options.threads = 2;
  options.sample = sample;
  options.give_up = &interrupt_flag();
  return options;
}

class KnownInstructions : public testing::TestWithParam<std::string> {
 protected:
  ScanInstruction instruction_ = *parse_scan_instruction(GetParam());

  bool only_blackwell() const {
    for (const std::string_view narrow : {"e2m1", "e2m3", "e3m2", "ue8m0"})
      if (GetParam().find(narrow) != std::string::npos) return true;
    return false;
  }
};

TEST_P(KnownInstructions, HoldOnTheEmulator) {
  // All of 16 bits and less; of others the whole takes minutes (docs/scan.md).
  const bool all = instruction_.from.element_bits() <= 16;
  const Result<ScanResult> result =
      scan(instruction_, options_of(only_blackwell() ? 100 : 90, all ? 0 : 20000));
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->exhaustive, all);
  EXPECT_EQ(result->tally.wrong(), 0u);
  EXPECT_TRUE(result->tally.holds());
  EXPECT_GE(result->tally.elements(), result->inputs);
  // The emulator errs as far as is allowed; a limit of this page that is too wide shows.
  for (const LargestError& error : result->tally.errors()) {
    if (error.inputs < 1000) continue;
    EXPECT_GE(error.error, 0.9 * error.limit->limit) << error.limit->words;
  }
}

// What the emulator takes a compiler for GPUs may not.
TEST_P(KnownInstructions, AreCompiledByPtxas) {
  const std::string text = scan_kernel(instruction_, only_blackwell() ? 100 : 90);
  const std::string path = testing::TempDir() + GetParam() + ".ptx";
  std::ofstream(path) << text;
  std::string why;
  const auto compiled = compile_entry(path, text, "scan", why);
  EXPECT_TRUE(compiled) << why << "\n" << text;
}

INSTANTIATE_TEST_SUITE_P(Scan, KnownInstructions, testing::ValuesIn(known()), [](const auto& one) {
  std::string name = one.param;
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
});

TEST(Scan, IsTheSameForAnyNumberOfThreads) {
  ScanOptions options = options_of(90, 600000);
  const ScanInstruction instruction = *parse_scan_instruction("ex2.approx.f32");
  const Result<ScanResult> two = scan(instruction, options);
  options.threads = 1;
  const Result<ScanResult> one = scan(instruction, options);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->tally.elements(), two->tally.elements());
  EXPECT_EQ(one->tally.errors()[0].at.a, two->tally.errors()[0].at.a);
  EXPECT_EQ(one->tally.errors()[0].error, two->tally.errors()[0].error);
}

TEST(Scan, AllInputsAreTried) {
  const Result<ScanResult> all =
      scan(*parse_scan_instruction("tanh.approx.bf16"), options_of(90, 0));
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->exhaustive);
  EXPECT_EQ(all->inputs, 65536u);
  EXPECT_EQ(all->tally.elements(), 2 * 65536u);  // to either side
  const Result<ScanResult> some =
      scan(*parse_scan_instruction("tanh.approx.bf16"), options_of(90, 100));
  ASSERT_TRUE(some);
  EXPECT_FALSE(some->exhaustive);
}

TEST(Scan, SaysWhatTheChipLacks) {
  const Result<ScanResult> old =
      scan(*parse_scan_instruction("cvt.rn.satfinite.e2m1x2.f32"), options_of(90, 100));
  ASSERT_FALSE(old);
  EXPECT_NE(old.error().text().find("sm_100"), std::string::npos) << old.error().text();
}

TEST(Scan, IsGivenUp) {
  const std::atomic<bool> stop{true};
  ScanOptions options = options_of(90, 0);
  options.give_up = &stop;
  EXPECT_FALSE(scan(*parse_scan_instruction("ex2.approx.f32"), options));
}

}  // namespace
}  // namespace plumbline
