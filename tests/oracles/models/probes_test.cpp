// SPDX-License-Identifier: MIT
// Small inputs whose results tell the generations apart, each aimed at one property of the node.
// Expected bits were worked out by hand from the published models and, where marked, printed by the
// authors from real GPUs:
//   P..    our own list; P02 is Table 8 of Xie et al., arXiv 2511.10909
//   Fasi   Fasi, Higham, Mikaitis, Pranesh, PeerJ CS 7:e330 (V100 and T4/A100 outputs)
#include <gtest/gtest.h>

#include <optional>

#include "tests/oracles/models/probe.h"

namespace plumbline {
namespace {

using enum FormatId;

constexpr ProbeTarget kVolta[] = {{70, Instruction::mma_sync}};
constexpr ProbeTarget kAmpere[] = {
    {80, Instruction::mma_sync}, {86, Instruction::mma_sync}, {89, Instruction::mma_sync}};
constexpr ProbeTarget kHopper[] = {
    {90, Instruction::mma_sync}, {100, Instruction::mma_sync}, {120, Instruction::mma_sync}};
constexpr ProbeTarget kTuring[] = {{75, Instruction::mma_sync}};
constexpr ProbeTarget kHopperAsync[] = {{90, Instruction::wgmma}, {100, Instruction::tcgen05}};

struct Probe {
  const char* id;
  const char* what;
  FormatId input, output;
  int k;
  std::uint32_t c;
  const char* inputs;
  std::optional<std::uint32_t> volta, ampere, hopper;
};

constexpr auto kNone = std::nullopt;

// clang-format off
constexpr Probe kProbes[] = {
    //id       what                                     in    out  k   c           inputs                                                    Volta       Ampere      Hopper
    {"P01",   "F: -2^24 + 2^24 + 1 + 1/2 + 1/4",         f16,  f32, 16, 0xcb800000, "k0:6c00*6c00 k1:3c00*3c00 k2:3800*3c00 k3:3400*3c00", 0x00000000u, 0x3f800000u, 0x3fc00000u},
    {"P02",   "F: 2^23 - 2^23 - 1/2 - 1/4 - 1/8",        f16,  f32, 16, 0x4b000000, "k0:f000*6400 k1:b800*3c00 k2:b400*3c00 k3:b000*3c00", 0x00000000u, 0xbf000000u, 0xbf400000u},
    {"P03",   "C is truncated too",                      f16,  f32, 16, 0x3fe00000, "k0:6c00*6c00 k1:ec00*6c00",                           0x00000000u, 0x3f800000u, 0x3fc00000u},
    {"P04",   "truncation, not floor",                   f16,  f32, 16, 0xcb800000, "k0:6c00*6c00 k1:b000*3c00",                           0x00000000u, 0x00000000u, 0x00000000u},
    {"P05",   "result toward zero",                      f16,  f32, 16, 0x3f800000, "k0:0c00*0c00 k1:0c00*0800",                           0x3f800000u, 0x3f800000u, 0x3f800000u},
    {"P06",   "result toward zero, negative",            f16,  f32, 16, 0xbf800000, "k0:8c00*0c00 k1:8c00*0800",                           0xbf800000u, 0xbf800000u, 0xbf800000u},
    {"P07",   "4 x 2^-25",                               f16,  f32, 16, 0x3f800000, "k0..3:3800*0001",                                     0x3f800000u, 0x3f800000u, 0x3f800001u},
    {"P08",   "4 x 2^-24",                               f16,  f32, 16, 0x3f800000, "k0..3:3c00*0001",                                     0x3f800000u, 0x3f800002u, 0x3f800002u},
    {"P09",   "16 x 2^-25",                              f16,  f32, 16, 0x3f800000, "k0..15:3800*0001",                                    0x3f800000u, 0x3f800000u, 0x3f800004u},
    {"P10",   "nodes split at 4",                        f16,  f32, 16, 0x00000000, "k0:6c00*6c00 k1:3c00*3c00 k4:ec00*6c00",              0x00000000u, 0x3f800000u, 0x3f800000u},
    {"P11",   "nodes split at 8",                        f16,  f32, 16, 0x00000000, "k0:6c00*6c00 k1:3c00*3c00 k8:ec00*6c00",              0x00000000u, 0x00000000u, 0x3f800000u},
    {"P12",   "products are not renormalized",           f16,  f32, 16, 0x00000000, "k0:6e00*6e00 k1:ee00*6e00 k2:4300*3c00",              0x40000000u, 0x40400000u, 0x40600000u},
    {"P13",   "widest carry",                            f16,  f32, 16, 0x3fffffff, "k0..15:3fff*3fff",                                    0x4283e000u, 0x4283e000u, 0x4283e001u},
    {"P14",   "subnormal f16 input",                     f16,  f32, 16, 0x00000000, "k0:0001*4400",                                        0x34800000u, 0x34800000u, 0x34800000u},
    {"P14b",  "... has the exponent of 2^-14: + 2^-39",  f16,  f32, 16, 0x00000000, "k0:0001*3c00 k1:0001*0200",                           0x33800000u, 0x33800000u, 0x33800100u},
    {"P14c",  "... and drops 2^-40",                     f16,  f32, 16, 0x00000000, "k0:0001*3c00 k1:0001*0100",                           0x33800000u, 0x33800000u, 0x33800000u},
    {"P14d",  "bf16 subnormal: 2^-6 aligns 2^-31",       bf16, f32, 16, 0x00000000, "k0:0001*7b80 k1:3000*3f80",                           kNone,       0x39000000u, 0x39000020u},
    {"P14e",  "... and drops 2^-32",                     bf16, f32, 16, 0x00000000, "k0:0001*7b80 k1:2f80*3f80",                           kNone,       0x39000000u, 0x39000000u},
    {"P15",   "subnormal f32 C",                         f16,  f32, 16, 0x00000001, "",                                                    0x00000001u, 0x00000001u, 0x00000001u},
    {"P16a",  "Inf * 0",                                 f16,  f32, 16, 0x00000000, "k0:7c00*0000",                                        0x7fffffffu, 0x7fffffffu, 0x7fffffffu},
    {"P16b",  "Inf - Inf",                               f16,  f32, 16, 0x00000000, "k0:7c00*3c00 k1:fc00*3c00",                           0x7fffffffu, 0x7fffffffu, 0x7fffffffu},
    {"P16c",  "NaN with a payload",                      f16,  f32, 16, 0x00000000, "k0:7e55*3c00",                                        0x7fffffffu, 0x7fffffffu, 0x7fffffffu},
    {"P16d",  "C is a NaN with a payload",               f16,  f32, 16, 0xffc12345, "",                                                    0x7fffffffu, 0x7fffffffu, 0x7fffffffu},
    {"P16e",  "Inf - C = Inf",                           f16,  f32, 16, 0xff800000, "k0:7c00*3c00",                                        0x7fffffffu, 0x7fffffffu, 0x7fffffffu},
    {"P16f",  "-Inf",                                    f16,  f32, 16, 0x7f7fffff, "k0:fc00*3c00",                                        0xff800000u, 0xff800000u, 0xff800000u},

    {"Fasi1", "1 - (1 - 2^-24)",                         f16,  f32, 16, 0xbf7fffff, "k0:3c00*3c00",                                        0x34000000u, 0x33800000u, 0x33800000u},
    {"Fasi2", "4 x 2^-24 + (1 - 2^-24)",                 f16,  f32, 16, 0x3f7fffff, "k0..3:3c00*0001",                                     0x3f800001u, 0x3f800001u, 0x3f800001u},
    {"Fasi3", "1 - 2^-24 + (-1 + 2^-24)",                f16,  f32, 16, 0xbf7fffff, "k0:3c00*3c00 k1:bc00*0001",                           0x34000000u, 0x00000000u, 0x00000000u},
    {"Fasi4", "4 x 1 + (1 + 2^-22 + 2^-23)",             f16,  f32, 16, 0x3f800003, "k0..3:3c00*3c00",                                     0x40a00000u, 0x40a00000u, 0x40a00000u},
    {"Fasi5", "1 + 1.5 + 1.75 + 1.875 + 1.875",          f16,  f32, 16, 0x3ff00000, "k0:3c00*3c00 k1:3e00*3c00 k2:3f00*3c00 k3:3f80*3c00", 0x41000000u, 0x41000000u, 0x41000000u},
    {"Fasi6", "not monotonic: the smaller C ...",        f16,  f32, 16, 0x3f7fffff, "k0..2:3800*0001 k3:3e00*0001",                        kNone,       0x3f800001u, 0x3f800001u},
    {"Fasi7", "... gives more than the larger one",      f16,  f32, 16, 0x3f800000, "k0..2:3800*0001 k3:3e00*0001",                        kNone,       0x3f800000u, 0x3f800001u},
    {"Fasi8", "(1 - 2^-11)^2 is exact",                  f16,  f32, 16, 0x00000000, "k0:3bff*3bff",                                        0x3f7fc004u, 0x3f7fc004u, 0x3f7fc004u},
    {"Fasi9", "2^-25 + 2^-26 rounds up to f16",          f16,  f16, 16, 0x0000,     "k0:3800*0001 k1:3400*0001",                           0x0001u,     0x0001u,     0x0001u},

    {"P17",   "toward zero, yet overflow gives Inf",     bf16, f32, 16, 0x7f7fffff, "k0:5980*5980",                                        kNone,       0x7f800000u, 0x7f800000u},
    {"P18",   "just below overflow",                     bf16, f32, 16, 0x7f7fffff, "k0:5980*5900",                                        kNone,       0x7f7fffffu, 0x7f7fffffu},
    {"P19",   "2^200 - 2^200 + 1: no overflow inside",   bf16, f32, 16, 0x3f800000, "k0:7180*7180 k1:f180*7180",                           kNone,       0x00000000u, 0x00000000u},
    {"P20a",  "zero exponent: 2^-149 - 2^-156",          bf16, f32, 16, 0x00000000, "k0:3400*0080 k1:b080*0080",                           kNone,       0x00000000u, 0x00000000u},
    {"P20b",  "zero exponent: 2^-149 - 2^-157",          bf16, f32, 16, 0x00000000, "k0:3400*0080 k1:b000*0080",                           kNone,       0x00000001u, 0x00000000u},
    {"P20c",  "zero exponent: 2^-149 - 2^-158",          bf16, f32, 16, 0x00000000, "k0:3400*0080 k1:af80*0080",                           kNone,       0x00000001u, 0x00000000u},
    {"P20d",  "zero exponent: 2^-149 - 2^-159",          bf16, f32, 16, 0x00000000, "k0:3400*0080 k1:af00*0080",                           kNone,       0x00000001u, 0x00000001u},
    // The zero exponents of f16 results are MMA-Sim 2.1.1's; no published output decides them.
    {"P21a",  "zero exponent: 2^-25 + 2^-47",            f16,  f16, 16, 0x0000,     "k0:1000*0400 k1:0002*0001",                           0x0000u,     0x0000u,     0x0000u},
    {"P21b",  "zero exponent: 2^-25 + 2^-46",            f16,  f16, 16, 0x0000,     "k0:1000*0400 k1:0004*0001",                           0x0000u,     0x0000u,     0x0001u},
    {"P21c",  "zero exponent: 2^-25 + 2^-45",            f16,  f16, 16, 0x0000,     "k0:1000*0400 k1:0008*0001",                           0x0000u,     0x0000u,     0x0001u},
    {"P21d",  "zero exponent: 2^-25 + 2^-44",            f16,  f16, 16, 0x0000,     "k0:1000*0400 k1:0010*0001",                           0x0000u,     0x0001u,     0x0001u},
    {"P21e",  "zero exponent: 2^-25 + 2^-43",            f16,  f16, 16, 0x0000,     "k0:1000*0400 k1:0020*0001",                           0x0000u,     0x0001u,     0x0001u},
    {"P21f",  "zero exponent: 2^-25 + 2^-42",            f16,  f16, 16, 0x0000,     "k0:1000*0400 k1:0040*0001",                           0x0001u,     0x0001u,     0x0001u},
    {"P22",   "a subnormal f16 C has exponent -14",      f16,  f16, 16, 0x0002,     "k0:1000*0400 k1:0010*0004",                           kNone,       0x0002u,     0x0002u},
    {"P23",   "two nodes round twice",                   f16,  f16, 16, 0x0000,     "k0:3c00*3c00 k1:1000*3c00 k8:0c00*3c00",              kNone,       0x3c00u,     0x3c01u},
    {"P24a",  "f16 overflow",                            f16,  f16, 16, 0x7bff,     "k0:4c00*3c00",                                        kNone,       0x7c00u,     0x7c00u},
    {"P24b",  "f16 just below overflow",                 f16,  f16, 16, 0x7bff,     "k0:4bff*3c00",                                        kNone,       0x7bffu,     0x7bffu},
    {"P25",   "tf32 ignores 13 bits",                    tf32, f32, 8,  0x00000000, "k0:3f801fff*3f800000",                                kNone,       0x3f800000u, 0x3f800000u},
    {"P26",   "tf32 node size",                          tf32, f32, 8,  0x00000000, "k0:45800000*45800000 k1:3f800000*3f800000 k4:c5800000*45800000", kNone, 0x00000000u, 0x3f800000u},
    // The sign of a negative sum that is cut to zero is open on hardware; the published models give
    // -0. The list this comes from expects +0 of Ampere, which no model's zero exponent explains
    // (-132 keeps 2^-150), so it is left out.
    {"P27",   "negative underflow -2^-150",              bf16, f32, 16, 0x00000000, "k0:9a00*1a00",                                        kNone,       kNone,       0x80000000u},
};

// clang-format on

class Probes : public testing::TestWithParam<Probe> {
 protected:
  void expect(std::span<const ProbeTarget> targets, std::optional<std::uint32_t> expected) {
    const Probe& probe = GetParam();
    if (!expected) return;
    for (const ProbeTarget& target : targets) {
      const ProbeInputs inputs = probe_inputs(probe.inputs, probe.k);
      const std::uint32_t got =
          run_probe(target, probe.input, probe.output, probe.k, probe.c, inputs);
      EXPECT_EQ(got, *expected) << probe.what << ", sm_" << target.sm;
    }
  }
};

TEST_P(Probes, GiveThePublishedBits) {
  const Probe& probe = GetParam();
  expect(kVolta, probe.volta);
  expect(kAmpere, probe.ampere);
  expect(kHopper, probe.hopper);
  if (probe.input == f16) expect(kTuring, probe.ampere);
  expect(kHopperAsync, probe.hopper);
}

INSTANTIATE_TEST_SUITE_P(List, Probes, testing::ValuesIn(kProbes),
                         [](const auto& row) { return std::string(row.param.id); });

}  // namespace
}  // namespace plumbline
