// SPDX-License-Identifier: MIT
// The vector path of mma with block scales against the specification: the same bits wherever it
// does not decline, and it seldom declines.
#include "oracles/models/mma_plan.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "oracles/base/random.h"
#include "oracles/formats/encode.h"
#include "oracles/models/generation.h"
#include "tests/oracles/models/mma_cases.h"

namespace plumbline {
namespace {

using enum FormatId;

struct Kind {
  std::string_view name;
  FormatId a, b;
  int k, block;
  FormatId scale;

  MmaKind mma() const {
    MmaKind kind{{16, 8, k}, a, b, f32, false, {}, {scale, block}};
    kind.model.node = *scaled_node_model(120, Instruction::mma_sync, k);
    return kind;
  }
};

constexpr Kind kKinds[] = {
    {"mxfp8", e4m3, e4m3, 32, 32, ue8m0}, {"mxfp8 mixed", e5m2, e4m3, 32, 32, ue8m0},
    {"mxfp6", e3m2, e2m3, 32, 32, ue8m0}, {"mxfp8 by fp4", e4m3, e2m1, 32, 32, ue8m0},
    {"mxfp4", e2m1, e2m1, 64, 32, ue8m0}, {"nvfp4", e2m1, e2m1, 64, 16, e4m3}};

enum class Mix { ordinary, sparse, wide, raw };

// Registers, with the words that scales come in.
struct Inputs {
  LaneRegister a[4] = {}, b[2] = {}, c[4] = {}, scale_a = {}, scale_b = {};

  MmaScales scales() const { return {{&scale_a, 0, 0}, {&scale_b, 0, 0}}; }
};

std::uint32_t word(Random& random, Mix mix, const Kind& kind, FormatId id) {
  auto bits = static_cast<std::uint32_t>(random.next());
  if (mix == Mix::sparse) bits &= static_cast<std::uint32_t>(random.next() & random.next());
  if (mix == Mix::raw || kind.k == 64) return bits;
  // No NaN and no infinity.
  std::uint32_t word = 0;
  for (int at = 0; at < 32; at += 8) {
    const std::uint32_t code = bits >> at & 0xff;
    word |= (decode(format(id), code).cls == ValueClass::finite ? code : 0) << at;
  }
  return word;
}

std::uint32_t scale_word(Random& random, Mix mix, FormatId id) {
  std::uint32_t word = 0;
  for (int at = 0; at < 32; at += 8) {
    std::uint64_t code = random.below(256);
    if (id == ue8m0 && mix != Mix::raw)
      code = static_cast<std::uint64_t>(
          random.between(mix == Mix::wide ? 100 : 120, mix == Mix::wide ? 154 : 134));
    if (id == e4m3 && mix != Mix::raw) code &= 0x77;
    word |= static_cast<std::uint32_t>(code) << at;
  }
  return word;
}

std::uint32_t accumulator(Random& random, Mix mix) {
  if (mix == Mix::raw) return static_cast<std::uint32_t>(random.next());
  if (random.below(3) == 0) return 0;
  const int span = mix == Mix::wide ? 40 : 8;
  const double size =
      std::ldexp(random.unit() - 0.5, static_cast<int>(random.between(-span, span)));
  return std::bit_cast<std::uint32_t>(static_cast<float>(size));
}

Inputs draw(const Kind& kind, Mix mix, Random& random) {
  Inputs in;
  for (int lane = 0; lane < 32; ++lane) {
    for (LaneRegister& reg : in.a) reg[lane] = word(random, mix, kind, kind.a);
    for (LaneRegister& reg : in.b) reg[lane] = word(random, mix, kind, kind.b);
    for (LaneRegister& reg : in.c) reg[lane] = accumulator(random, mix);
    in.scale_a[lane] = scale_word(random, mix, kind.scale);
    in.scale_b[lane] = scale_word(random, mix, kind.scale);
  }
  return in;
}

void compare_with_specification(const Kind& kind, int count) {
  const MmaKind mma = kind.mma();
  const MmaPlan plan(mma);
  MmaWorkspace workspace;
  Random random(5);
  for (const Mix mix : {Mix::ordinary, Mix::sparse, Mix::wide, Mix::raw}) {
    int done = 0;
    for (int i = 0; i < count; ++i) {
      SCOPED_TRACE(testing::Message()
                   << kind.name << " mix " << static_cast<int>(mix) << " number " << i);
      const Inputs in = draw(kind, mix, random);
      const MmaScales scales = in.scales();
      LaneRegister fast[4] = {}, spec[4] = {};
      mma_spec(mma, in.a, in.b, in.c, spec, &scales);
      if (plan.run_fast(in.a, in.b, in.c, fast, workspace, false, &scales)) {
        ++done;
        ASSERT_EQ(std::memcmp(fast, spec, sizeof spec), 0);
      }
      plan.run(in.a, in.b, in.c, fast, workspace, false, &scales);
      ASSERT_EQ(std::memcmp(fast, spec, sizeof spec), 0);
    }
    if (mix != Mix::raw) {
      EXPECT_EQ(done, count) << kind.name;
    }
  }
}

TEST(MmaScaled, GivesTheBitsOfTheSpecificationAndSeldomDeclines) {
  for (const Kind& kind : kKinds) compare_with_specification(kind, 400);
}

TEST(MmaScaled, AllInstructionSetsAgreeWithTheSpecification) {
  on_every_target([] {
    for (const Kind& kind : kKinds) compare_with_specification(kind, 50);
  });
}

TEST(MmaScaled, AcceptsTheAccumulatorAsDestination) {
  for (const Kind& kind : kKinds) {
    Random random(6);
    const MmaPlan plan(kind.mma());
    MmaWorkspace workspace;
    Inputs in = draw(kind, Mix::ordinary, random);
    LaneRegister apart[4];
    const MmaScales scales = in.scales();
    plan.run(in.a, in.b, in.c, apart, workspace, false, &scales);
    plan.run(in.a, in.b, in.c, in.c, workspace, false, &scales);
    EXPECT_EQ(std::memcmp(apart, in.c, sizeof apart), 0) << kind.name;
  }
}

// Also where the run before left outputs to the specification, as those of a scale that is NaN.
TEST(MmaScaled, SharesAnUnpackedAWithTheRunBefore) {
  for (const Kind& kind : kKinds) {
    const MmaKind mma = kind.mma();
    const MmaPlan plan(mma);
    MmaWorkspace workspace;
    Random random(9);
    for (int i = 0; i < 60; ++i) {
      Inputs in = draw(kind, Mix::ordinary, random);
      for (int run = 0; run < 3; ++run) {
        const Inputs other = draw(kind, run == 0 ? Mix::raw : Mix::ordinary, random);
        std::memcpy(in.b, other.b, sizeof in.b);
        std::memcpy(in.scale_a, other.scale_a, sizeof in.scale_a);
        std::memcpy(in.scale_b, other.scale_b, sizeof in.scale_b);
        const MmaScales scales = in.scales();
        LaneRegister got[4], spec[4];
        plan.run(in.a, in.b, in.c, got, workspace, run > 0, &scales);
        mma_spec(mma, in.a, in.b, in.c, spec, &scales);
        ASSERT_EQ(std::memcmp(got, spec, sizeof spec), 0) << kind.name << " " << i << " " << run;
      }
    }
  }
}

// Rows and columns outside of a matrix are zeros, and so are the codes of their scales: 2^-127.
TEST(MmaScaled, TakesTheEdgesOfAMatrix) {
  for (const Kind& kind : {kKinds[0], kKinds[4], kKinds[5]}) {
    const MmaKind mma = kind.mma();
    const MmaPlan plan(mma);
    MmaWorkspace workspace;
    Random random(8);
    Inputs in = draw(kind, Mix::ordinary, random);
    for (int lane = 20; lane < 32; ++lane) {
      for (const int reg : {1, 3}) in.a[reg][lane] = lane % 2 == 0 ? 0 : 0x80808080u;
      for (LaneRegister& reg : in.b) reg[lane] = 0;
      in.scale_b[lane] = 0;
      if (lane % 4 % 2 == 1) in.scale_a[lane] = 0;
    }
    const MmaScales scales = in.scales();
    LaneRegister fast[4], spec[4];
    ASSERT_TRUE(plan.run_fast(in.a, in.b, in.c, fast, workspace, false, &scales)) << kind.name;
    mma_spec(mma, in.a, in.b, in.c, spec, &scales);
    EXPECT_EQ(std::memcmp(fast, spec, sizeof spec), 0) << kind.name;
  }
}

// C that is infinite or NaN is D; a scale of NaN makes all of its row NaN, even so.
TEST(MmaScaled, TakesSpecialSums) {
  for (const Kind& kind : kKinds) {
    const MmaKind mma = kind.mma();
    const MmaPlan plan(mma);
    MmaWorkspace workspace;
    Random random(10);
    for (const bool nan_scale : {false, true}) {
      Inputs in = draw(kind, Mix::ordinary, random);
      in.c[0][5] = 0x7f800000;
      in.c[1][6] = 0xff800000;
      in.c[3][31] = 0xffc00001;
      if (nan_scale) in.scale_a[4] = kind.scale == ue8m0 ? 0xff : 0x7f;  // of row 1
      const MmaScales scales = in.scales();
      LaneRegister got[4], spec[4];
      mma_spec(mma, in.a, in.b, in.c, spec, &scales);
      EXPECT_TRUE(plan.run_fast(in.a, in.b, in.c, got, workspace, false, &scales));
      EXPECT_EQ(std::memcmp(got, spec, sizeof spec), 0) << kind.name;
      EXPECT_EQ(got[0][5], nan_scale ? 0x7fffffff : 0x7f800000) << kind.name;
      EXPECT_EQ(got[3][31], 0x7fffffff) << kind.name;
    }
  }
}

// Sums beyond the range, at its bottom, and cut at the last bit.
TEST(MmaScaled, TheEndsOfTheRange) {
  for (const Kind& kind : {kKinds[4], kKinds[0]}) {
    const MmaKind mma = kind.mma();
    const MmaPlan plan(mma);
    MmaWorkspace workspace;
    Random random(7);
    for (const std::uint32_t scale : {0x00000000u, 0x03030303u, 0x40404040u, 0xbebebebeu,
                                      0xc0c0c0c0u, 0xfefefefeu, 0xffffffffu}) {
      for (const std::uint32_t c :
           {0u, 0x80000000u, 1u, 0x00800000u, 0x7f7fffffu, 0xff7fffffu, 0x7f800000u, 0x7fc00000u}) {
        Inputs in = draw(kind, Mix::ordinary, random);
        for (int lane = 0; lane < 32; ++lane) {
          in.scale_a[lane] = in.scale_b[lane] = scale;
          for (LaneRegister& reg : in.c) reg[lane] = c;
        }
        const MmaScales scales = in.scales();
        LaneRegister got[4], spec[4];
        plan.run(in.a, in.b, in.c, got, workspace, false, &scales);
        mma_spec(mma, in.a, in.b, in.c, spec, &scales);
        EXPECT_EQ(std::memcmp(got, spec, sizeof spec), 0) << kind.name << " " << scale << " " << c;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
