// SPDX-License-Identifier: MIT
// The instructions that the structured fuzzer (tests/fuzzers/kernel_fuzzer.cpp) puts together, one
// by one, and some programs of them. What it has found is kept as bytes in
// tests/fuzzers/corpus/kernel.
#include "tests/harness/emulator/ptx_program.h"
#include "tests/folders.h"

#include <gtest/gtest.h>

#include <hwy/targets.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/emulator/decode/isa.h"
#include "oracles/base/random.h"
#include "tests/harness/emulator/ptx_program_run.h"

namespace plumbline::emulator::test {
namespace {

TEST(PtxProgram, EveryFormIsAnInstructionThatTheEmulatorHas) {
  for (const std::string_view form : kForms) {
    Choices choices({});
    PtxProgram program;
    program.text = kernel_around("L0:\n" + instruction(form, choices));
    bool decoded = false;
    const std::string said = run_program(program, decoded);
    EXPECT_TRUE(decoded) << said;
  }
}

PtxProgram random_program(Random& random) {
  std::vector<std::uint8_t> bytes(40 + random.below(200));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
  return ptx_program(bytes);
}

TEST(PtxProgram, RunsTheSameTwice) {
  Random random(1);
  int completed = 0;
  for (int i = 0; i < 300; ++i) {
    const PtxProgram program = random_program(random);
    bool decoded = false;
    const std::string first = run_program(program, decoded);
    EXPECT_TRUE(decoded) << first << "\n" << program.text;
    EXPECT_EQ(first, run_program(program, decoded)) << program.text;
    completed += first.size() == kBufferBytes;
  }
  EXPECT_GT(completed, 0) << "no program came to its end without a finding";
}

// As on a machine that has nothing better than one instruction set.
std::string run_on(std::int64_t target, const PtxProgram& program) {
  pretend_to_have(target);
  bool decoded = false;
  std::string said = run_program(program, decoded);
  pretend_to_have(0);
  return said;
}

TEST(PtxProgram, RunsTheSameWithEveryInstructionSetOfThisMachine) {
  std::vector<PtxProgram> programs;
  for (const std::string_view form : kForms) {
    Choices choices({});
    programs.emplace_back().text = kernel_around("L0:\n" + instruction(form, choices));
  }
  Random random(2);
  for (int i = 0; i < 300; ++i) programs.push_back(random_program(random));
  for (const PtxProgram& program : programs) {
    const std::string due = run_on(HWY_SCALAR, program);
    for (const std::int64_t target : {HWY_AVX2, HWY_AVX3}) {
      if ((hwy::SupportedTargets() & target) == 0) continue;
      EXPECT_EQ(run_on(target, program), due) << hwy::TargetName(target) << program.text;
    }
  }
}

TEST(PtxProgram, WhatTheFuzzerHasFoundRunsTheSameAgain) {
  const std::filesystem::path folder = PLUMBLINE_SOURCE_DIR "/tests/fuzzers/corpus/kernel";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
    bool decoded = false;
    const std::string first = run_program(ptx_program(bytes), decoded);
    EXPECT_TRUE(decoded) << entry.path();
    for (int again = 0; again < 4; ++again)
      EXPECT_EQ(run_program(ptx_program(bytes), decoded), first) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace plumbline::emulator::test
