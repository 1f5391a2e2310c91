// SPDX-License-Identifier: MIT
// FP8 on four kinds of hardware that add four different ways: native mma.sync of Ada, wgmma of
// Hopper, the expansion of mma.sync into two f16 mma and an addition on Hopper and sm_100, and
// native 25-bit mma of later chips.
#include <gtest/gtest.h>

#include "tests/oracles/models/probe.h"

namespace plumbline {
namespace {

using enum FormatId;

constexpr ProbeTarget kAda[] = {{89, Instruction::mma_sync}};
constexpr ProbeTarget kWgmma[] = {{90, Instruction::wgmma}};
constexpr ProbeTarget kExpanded[] = {{90, Instruction::mma_sync}, {100, Instruction::mma_sync}};
constexpr ProbeTarget kLater[] = {{120, Instruction::mma_sync}, {100, Instruction::tcgen05}};

struct Fp8Probe {
  const char* id;
  const char* what;
  FormatId input, output;
  std::uint32_t c;
  const char* inputs;
  std::uint32_t ada, wgmma, expanded, later;
};

// clang-format off
constexpr Fp8Probe kProbes[] = {
    //id     what                                 in    out  c           inputs                           Ada mma     Hopper wgmma Hopper mma  sm_120 mma
    {"Q01",  "C cut to 13 bits",                  e4m3, f32, 0x3f800001, "",                              0x3f800000, 0x3f800000, 0x3f800001, 0x3f800001},
    {"Q02",  "1/2 dropped beside 2^13",           e4m3, f32, 0x00000000, "k0:68*70 k1:30*38",             0x46000000, 0x46000000, 0x46000200, 0x46000200},
    {"Q03",  "2^16 + 2^-9 - 2^16: interleaving",  e4m3, f32, 0x00000000, "k0:78*78 k1:01*38 k2:f8*78",    0x00000000, 0x00000000, 0x00000000, 0x3b000000},
    {"Q04",  "mirrored",                          e4m3, f32, 0x00000000, "k0:f8*78 k2:78*78 k3:01*38",    0x00000000, 0x00000000, 0x3b000000, 0x3b000000},
    {"Q05",  "last addition to nearest",          e4m3, f32, 0x42800001, "k0:01*01",                      0x42800000, 0x42800000, 0x42800002, 0x42800001},
    {"Q06",  "C aligned with the products",       e4m3, f32, 0x46000000, "k0..3:30*30",                   0x46000000, 0x46000000, 0x46000400, 0x46000400},
    {"Q07",  "truncation, not floor",             e4m3, f32, 0x46000000, "k0:b0*30",                      0x46000000, 0x46000000, 0x45fffe00, 0x45fffe00},
    {"Q08",  "2^-13 kept",                        e4m3, f32, 0x00000000, "k0:38*38 k1:04*08",             0x3f800400, 0x3f800400, 0x3f800400, 0x3f800400},
    {"Q09",  "2 x 2^-14",                         e4m3, f32, 0x00000000, "k0:38*38 k1:04*04 k2:04*04",    0x3f800000, 0x3f800000, 0x3f800400, 0x3f800400},
    {"Q10a", "288 as 12 * 24, with 2 x 2^-6",     e4m3, f32, 0x00000000, "k0:54*5c k1:08*38 k2:08*38",    0x43900400, 0x43900400, 0x43900400, 0x43900400},
    {"Q10b", "288 as 18 * 16",                    e4m3, f32, 0x00000000, "k0:59*58 k1:08*38 k2:08*38",    0x43900000, 0x43900000, 0x43900400, 0x43900400},
    {"Q11",  "f16: 2^-11 + 2^10 - 2^10",          e4m3, f16, 0x1000,     "k0:60*60 k2:e0*60",             0x0000,     0x0000,     0x1000,     0x1000},
    {"Q12",  "f16: 2^16 - 2^16",                  e4m3, f16, 0x0000,     "k0:78*78 k2:f8*78",             0x0000,     0x0000,     0x7c00,     0x0000},
    {"Q13",  "NaN",                               e4m3, f32, 0x00000000, "k0:7f*38",                      0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff},
    {"Q14",  "range of e5m2: 57344^2 + 2^-32",    e5m2, f32, 0x00000000, "k0:7b*7b k1:01*01",             0x4f440000, 0x4f440000, 0x4f440000, 0x4f440000},
    {"Q15",  "widest: 32 x 1.875^2",              e4m3, f32, 0x00000000, "k0..31:3f*3f",                  0x42e10000, 0x42e10000, 0x42e10000, 0x42e10000},
};

// clang-format on

class Fp8Probes : public testing::TestWithParam<Fp8Probe> {};

TEST_P(Fp8Probes, GiveThePublishedBits) {
  const Fp8Probe& probe = GetParam();
  const auto expect = [&probe](std::span<const ProbeTarget> targets, std::uint32_t expected) {
    for (const ProbeTarget& target : targets) {
      const ProbeInputs inputs = probe_inputs(probe.inputs, 32);
      EXPECT_EQ(run_probe(target, probe.input, probe.output, 32, probe.c, inputs), expected)
          << probe.what << ", sm_" << target.sm;
    }
  };
  expect(kAda, probe.ada);
  expect(kWgmma, probe.wgmma);
  expect(kExpanded, probe.expanded);
  expect(kLater, probe.later);
}

INSTANTIATE_TEST_SUITE_P(List, Fp8Probes, testing::ValuesIn(kProbes),
                         [](const auto& row) { return std::string(row.param.id); });

}  // namespace
}  // namespace plumbline
