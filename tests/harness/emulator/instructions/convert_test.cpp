// SPDX-License-Identifier: MIT
// cvt: vector handlers against the exact path and against oracles/formats, published vectors,
// saturation and NaN rules.
#include <cfenv>
#include <cmath>

#include "harness/emulator/decode/convert_exact.h"
#include "harness/emulator/instructions/half.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

u64 one(const std::string& code, const char* shape, u64 a, u64 b = 0) {
  return apply(code, shape, {{a, b, 0, 0}}, 90)[0];
}

u32 f32(float value) { return std::bit_cast<u32>(value); }

std::vector<u32> float_samples() {
  std::vector<u32> samples;
  for (u32 high = 0; high < 0x10000; high += 5) {
    for (const u32 low :
         {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      samples.push_back(high << 16 | low);
    }
  }
  // Around every tie of formats with two or three bits of mantissa.
  for (u32 tie = 0; tie < 0x1000; ++tie) {
    for (const u32 low : {0u, 1u, 0xfffffu}) samples.push_back(tie << 20 | low);
    samples.push_back(tie << 20 | 0x80000);
    samples.push_back(tie << 20 | 0x7ffff);
    samples.push_back(tie << 20 | 0x80001);
  }
  return samples;
}

TEST(Convert, HalfRoutinesAgreeWithTheFormats) {
  for (u32 code = 0; code < 0x10000; ++code) {
    const auto half = static_cast<u16>(code);
    const auto same = [](float got, double want) {
      return std::isnan(want)
                 ? f32(got) == 0x7fffffffu
                 : static_cast<double>(got) == want && std::signbit(got) == std::signbit(want);
    };
    ASSERT_TRUE(same(f16_to_f32(half), to_double(format(FormatId::f16), code))) << code;
    ASSERT_TRUE(same(bf16_to_f32(half), to_double(format(FormatId::bf16), code))) << code;
  }
  for (const u32 bits : float_samples()) {
    const double value = std::bit_cast<float>(bits);
    ASSERT_EQ(f32_to_f16(bits), encode(format(FormatId::f16), value)) << fmt::format("{:#x}", bits);
    ASSERT_EQ(f32_to_bf16(bits), encode(format(FormatId::bf16), value))
        << fmt::format("{:#x}", bits);
    const auto saturated = [value](FormatId id) {
      return std::isnan(value) ? 0x7f : encode(format(id), value, {.overflow = Overflow::saturate});
    };
    ASSERT_EQ(f32_to_e4m3(bits), saturated(FormatId::e4m3)) << fmt::format("{:#x}", bits);
    ASSERT_EQ(f32_to_e5m2(bits), saturated(FormatId::e5m2)) << fmt::format("{:#x}", bits);
  }
}

TEST(Convert, ResizesIntegers) {
  constexpr u64 kValue = 0x8182838485868788;
  EXPECT_EQ(one("cvt.u32.u8 d, a;", "w=h", kValue), 0x88u);
  EXPECT_EQ(one("cvt.s32.s8 d, a;", "w=h", kValue), 0xffffff88u);
  EXPECT_EQ(one("cvt.s16.s8 d, a;", "h=h", kValue) & 0xffff, 0xff88u);
  EXPECT_EQ(one("cvt.s64.s32 d, a;", "x=w", kValue), 0xffffffff85868788u);
  EXPECT_EQ(one("cvt.u64.u32 d, a;", "x=w", kValue), 0x85868788u);
  EXPECT_EQ(one("cvt.u32.u64 d, a;", "w=x", kValue), 0x85868788u);
  EXPECT_EQ(one("cvt.u16.u64 d, a;", "h=x", kValue) & 0xffff, 0x8788u);
  // Registers wider than the types: the low bits are taken, the result is extended.
  EXPECT_EQ(one("cvt.s64.s8 d, a;", "x=x", kValue), 0xffffffffffffff88u);
  EXPECT_EQ(one("cvt.u16.u8 d, a;", "w=w", kValue), 0x88u);
  EXPECT_EQ(one("cvt.s8.s32 d, a;", "w=w", 0x85868788), 0xffffff88u);
  EXPECT_EQ(one("cvt.sat.s8.s32 d, a;", "w=w", f32(-1)), 0xffffff80u);
  EXPECT_EQ(one("cvt.sat.u8.s32 d, a;", "w=w", 300), 255u);
  EXPECT_EQ(one("cvt.sat.u32.s32 d, a;", "w=w", 0xfffffff0), 0u);
  EXPECT_EQ(one("cvt.sat.s32.u32 d, a;", "w=w", 0xfffffff0), 0x7fffffffu);
  EXPECT_EQ(one("cvt.sat.s32.s64 d, a;", "w=x", 0x8000000000000000), 0x80000000u);
}

TEST(Convert, FloatsToIntegersRoundAndClamp) {
  EXPECT_EQ(one("cvt.rzi.s32.f32 d, a;", "w=w", f32(-2.9f)), 0xfffffffeu);
  EXPECT_EQ(one("cvt.rni.s32.f32 d, a;", "w=w", f32(2.5f)), 2u);
  EXPECT_EQ(one("cvt.rni.s32.f32 d, a;", "w=w", f32(3.5f)), 4u);
  EXPECT_EQ(one("cvt.rmi.s32.f32 d, a;", "w=w", f32(-2.1f)), 0xfffffffdu);
  EXPECT_EQ(one("cvt.rpi.s32.f32 d, a;", "w=w", f32(-2.9f)), 0xfffffffeu);
  EXPECT_EQ(one("cvt.rzi.s32.f32 d, a;", "w=w", f32(3e9f)), 0x7fffffffu);
  EXPECT_EQ(one("cvt.rzi.s32.f32 d, a;", "w=w", f32(-3e9f)), 0x80000000u);
  EXPECT_EQ(one("cvt.rzi.u32.f32 d, a;", "w=w", f32(-1.0f)), 0u);
  EXPECT_EQ(one("cvt.rzi.u32.f32 d, a;", "w=w", f32(5e9f)), 0xffffffffu);
  EXPECT_EQ(one("cvt.rzi.s32.f32 d, a;", "w=w", 0x7fc00000), 0u);
  EXPECT_EQ(one("cvt.rzi.s64.f32 d, a;", "x=w", 0x7fc00000), 0x8000000000000000u);
  EXPECT_EQ(one("cvt.rzi.s32.f64 d, a;", "w=x", 0x7ff8000000000000), 0x80000000u);
  EXPECT_EQ(one("cvt.rni.s8.f32 d, a;", "w=w", f32(200.0f)), 0x7fu);
  EXPECT_EQ(one("cvt.rni.sat.s8.f32 d, a;", "w=w", f32(-200.0f)), 0xffffff80u);
  EXPECT_EQ(one("cvt.rzi.s32.f16 d, a;", "w=h", 0xc500), 0xfffffffbu);
  EXPECT_EQ(one("cvt.rzi.u64.f32 d, a;", "x=w", f32(0x1p63f)), 0x8000000000000000u);
  EXPECT_EQ(one("cvt.rzi.ftz.s32.f32 d, a;", "w=w", f32(1e-40f)), 0u);
}

TEST(Convert, IntegersToFloatsRoundInEveryMode) {
  Random random(5);

  struct Mode {
    const char* name;
    int fe;
  };

  for (const Mode mode : {Mode{"rn", FE_TONEAREST}, Mode{"rz", FE_TOWARDZERO},
                          Mode{"rm", FE_DOWNWARD}, Mode{"rp", FE_UPWARD}}) {
    std::vector<Operands> rows;
    for (int i = 0; i < 400; ++i) rows.push_back({random.next() >> random.below(63), 0, 0, 0});
    rows.push_back({0xffffffff, 0, 0, 0});
    rows.push_back({0x80000000, 0, 0, 0});
    rows.push_back({0xffffffffffffffff, 0, 0, 0});
    const auto s = apply(fmt::format("cvt.{}.f32.s32 d, a;", mode.name), "w=w", rows);
    const auto u = apply(fmt::format("cvt.{}.f32.u32 d, a;", mode.name), "w=w", rows);
    const auto s64 = apply(fmt::format("cvt.{}.f32.s64 d, a;", mode.name), "w=x", rows);
    const auto u64_ = apply(fmt::format("cvt.{}.f32.u64 d, a;", mode.name), "w=x", rows);
    const auto d64 = apply(fmt::format("cvt.{}.f64.s64 d, a;", mode.name), "x=x", rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      volatile std::int32_t x = static_cast<std::int32_t>(rows[i][0]);
      volatile u32 y = static_cast<u32>(rows[i][0]);
      volatile std::int64_t z = static_cast<std::int64_t>(rows[i][0]);
      volatile u64 w = rows[i][0];
      std::fesetround(mode.fe);
      volatile float fx = static_cast<float>(x), fy = static_cast<float>(y),
                     fz = static_cast<float>(z), fw = static_cast<float>(w);
      volatile double dz = static_cast<double>(z);
      std::fesetround(FE_TONEAREST);
      ASSERT_EQ(s[i], f32(fx)) << mode.name << " " << x;
      ASSERT_EQ(u[i], f32(fy)) << mode.name << " " << y;
      ASSERT_EQ(s64[i], f32(fz)) << mode.name << " " << z;
      ASSERT_EQ(u64_[i], f32(fw)) << mode.name << " " << w;
      ASSERT_EQ(d64[i], std::bit_cast<u64>(static_cast<double>(dz))) << mode.name << " " << z;
    }
  }
}

TEST(Convert, IntegersToFloatsSaturate) {
  EXPECT_EQ(one("cvt.rn.sat.f32.s32 d, a;", "w=w", 7), f32(1.0f));
  EXPECT_EQ(one("cvt.rn.sat.f32.s32 d, a;", "w=w", 1), f32(1.0f));
  EXPECT_EQ(one("cvt.rn.sat.f32.s32 d, a;", "w=w", 0), 0u);
  EXPECT_EQ(one("cvt.rn.sat.f32.s32 d, a;", "w=w", 0xfffffffd), 0u);
  EXPECT_EQ(one("cvt.rn.sat.f32.u32 d, a;", "w=w", 0xfffffffd), f32(1.0f));
  EXPECT_EQ(one("cvt.rn.sat.f16.s64 d, a;", "h=x", 0x8000000000000000) & 0xffff, 0u);
  EXPECT_EQ(one("cvt.rn.sat.f64.u64 d, a;", "x=x", 0x8000000000000000), 0x3ff0000000000000u);
}

// Vectors of tensor-core-numerics.md 4.1.
TEST(Convert, PublishedVectors) {
  struct Row {
    u32 from, to;
  };

  constexpr Row kBf16[] = {{0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
                           {0x7f7f8000, 0x7f80}, {0x7f7f7fff, 0x7f7f}, {0x7f800001, 0x7fff},
                           {0xffc00000, 0x7fff}, {0x80000000, 0x8000}, {0x00008000, 0x0000},
                           {0x00018000, 0x0002}, {0x80008001, 0x8001}};
  for (const Row& row : kBf16)
    EXPECT_EQ(one("cvt.rn.bf16.f32 d, a;", "h=w", row.from) & 0xffff, row.to);
  constexpr Row kE4m3[] = {{0x3f880000, 0x38}, {0x3f980000, 0x3a}, {0x41880000, 0x58},
                           {0x41980000, 0x5a}, {0x43e00000, 0x7e}, {0x43e80000, 0x7e},
                           {0x4e6e6b28, 0x7e}, {0x7f800000, 0x7e}, {0xff800000, 0xfe},
                           {0x7fc00000, 0x7f}, {0x3c800000, 0x08}, {0x3b000000, 0x01},
                           {0x3a800000, 0x00}, {0x3a800001, 0x01}, {0x3b400000, 0x02},
                           {0x3ba00000, 0x02}, {0xb9800000, 0x80}, {0x3e99999a, 0x2a}};
  for (const Row& row : kE4m3) {
    // a becomes the upper byte.
    EXPECT_EQ(one("cvt.rn.satfinite.e4m3x2.f32 d, a, b;", "h=ww", row.from, 0x3f800000) & 0xffff,
              row.to << 8 | 0x38);
  }
  constexpr Row kE5m2[] = {{0x3f900000, 0x3c}, {0x3fb00000, 0x3e}, {0x47600000, 0x7b},
                           {0x47700000, 0x7b}, {0x7f800000, 0x7b}, {0x7fc00000, 0x7f},
                           {0x38800000, 0x04}, {0x37800000, 0x01}, {0x37000000, 0x00},
                           {0x37c00000, 0x02}, {0x38200000, 0x02}, {0xb5800000, 0x80},
                           {0x3e99999a, 0x35}};
  for (const Row& row : kE5m2) {
    EXPECT_EQ(one("cvt.rn.satfinite.e5m2x2.f32 d, a, b;", "h=ww", 0x3f800000, row.from) & 0xffff,
              0x3c00u | row.to);
  }
}

TEST(Convert, PairsKeepTheirOrder) {
  EXPECT_EQ(one("cvt.rn.bf16x2.f32 d, a, b;", "w=ww", f32(1.0f), f32(-2.0f)), 0x3f80c000u);
  EXPECT_EQ(one("cvt.rn.f16x2.f32 d, a, b;", "w=ww", f32(1.0f), f32(-2.0f)), 0x3c00c000u);
  EXPECT_EQ(one("cvt.rn.relu.bf16x2.f32 d, a, b;", "w=ww", f32(-1.0f), f32(2.0f)), 0x00004000u);
  EXPECT_EQ(one("cvt.rz.bf16x2.f32 d, a, b;", "w=ww", 0x3f80ffff, 0xbf80ffff), 0x3f80bf80u);
  EXPECT_EQ(one("cvt.rn.f16x2.e4m3x2 d, a;", "w=h", 0x38b8), 0x3c00bc00u);
  EXPECT_EQ(one("cvt.rn.f16x2.e5m2x2 d, a;", "w=h", 0x3cfc), 0x3c00fc00u);
  EXPECT_EQ(one("cvt.rn.satfinite.e4m3x2.f16x2 d, a;", "h=w", 0x7c00bc00) & 0xffff, 0x7eb8u);
}

TEST(Convert, FloatsWithinTheirFormat) {
  EXPECT_EQ(one("cvt.rni.f32.f32 d, a;", "w=w", f32(2.5f)), f32(2.0f));
  EXPECT_EQ(one("cvt.rzi.f32.f32 d, a;", "w=w", f32(-0.5f)), f32(-0.0f));
  EXPECT_EQ(one("cvt.rmi.f32.f32 d, a;", "w=w", f32(-0.5f)), f32(-1.0f));
  EXPECT_EQ(one("cvt.rpi.ftz.f32.f32 d, a;", "w=w", 1), 0u);
  EXPECT_EQ(one("cvt.sat.f32.f32 d, a;", "w=w", f32(1.5f)), f32(1.0f));
  EXPECT_EQ(one("cvt.sat.f32.f32 d, a;", "w=w", 0x7fc00000), 0u);
  EXPECT_EQ(one("cvt.sat.f32.f32 d, a;", "w=w", 0x80000000), 0u);
  EXPECT_EQ(one("cvt.ftz.f32.f32 d, a;", "w=w", 0x80000001), 0x80000000u);
  EXPECT_EQ(one("cvt.f64.f32 d, a;", "x=w", f32(1.5f)), 0x3ff8000000000000u);
  EXPECT_EQ(one("cvt.rn.f32.f64 d, a;", "w=x", 0x3ff0000010000000), 0x3f800000u);
  EXPECT_EQ(one("cvt.rp.f32.f64 d, a;", "w=x", 0x3ff0000010000000), 0x3f800001u);
  EXPECT_EQ(one("cvt.rna.tf32.f32 d, a;", "w=w", 0x3f801000), 0x3f802000u);
  EXPECT_EQ(one("cvt.rn.tf32.f32 d, a;", "w=w", 0x3f801000), 0x3f800000u);
  EXPECT_EQ(one("cvt.rz.bf16.f32 d, a;", "h=w", 0x3f80ffff) & 0xffff, 0x3f80u);
  EXPECT_EQ(one("cvt.f32.bf16 d, a;", "w=h", 0xbf80), f32(-1.0f));
}

// Bit by bit from the fields of OCP Microscaling Formats 1.0.
double narrow_value(int code, int exponent_bits, int mantissa_bits, int bias) {
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const int exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                    : std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  return (code >> (exponent_bits + mantissa_bits) & 1) != 0 ? -magnitude : magnitude;
}

TEST(Convert, NumbersOfFourAndSixBits) {
  struct Narrow {
    const char* name;
    int exponent_bits, mantissa_bits, bias, apart;  // bits from one of a pair to the next
  };

  for (const Narrow& one :
       {Narrow{"e2m1x2", 2, 1, 1, 4}, Narrow{"e2m3x2", 2, 3, 1, 8}, Narrow{"e3m2x2", 3, 2, 3, 8}}) {
    const int bits = 1 + one.exponent_bits + one.mantissa_bits;
    const bool four = one.apart == 4;
    const auto value = [&](int code) {
      return narrow_value(code, one.exponent_bits, one.mantissa_bits, one.bias);
    };
    // To f16, exactly; of both registers of a pair.
    std::vector<Operands> codes;
    for (int code = 0; code < 1 << bits; ++code)
      codes.push_back({static_cast<u64>(code | (code ^ 1) << one.apart), 0, 0, 0});
    const std::string unpack =
        four ? ".reg .b8 n; cvt.u8.u32 n, a; " : ".reg .b16 n; cvt.u16.u32 n, a; ";
    const auto wide =
        apply(fmt::format("{}cvt.rn.f16x2.{} d, n;", unpack, one.name), "w=w", codes, 100);
    for (int code = 0; code < 1 << bits; ++code) {
      EXPECT_EQ(wide[static_cast<std::size_t>(code)] & 0xffff,
                encode(format(FormatId::f16), value(code)))
          << one.name << code;
      EXPECT_EQ(wide[static_cast<std::size_t>(code)] >> 16,
                encode(format(FormatId::f16), value(code ^ 1)))
          << one.name << code;
    }
    // From f32: the nearest of all codes, of two equally near ones the even one; beyond them the
    // largest.
    std::vector<Operands> floats;
    Random random(3);
    for (int i = 0; i < 4000; ++i) {
      const auto draw = [&] {
        return std::bit_cast<u32>(static_cast<float>(std::ldexp(
            std::round((random.unit() - 0.5) * 512) / 8, -static_cast<int>(random.between(0, 5)))));
      };
      floats.push_back({draw(), draw(), 0, 0});
    }
    floats.push_back({0x7fc00000, 0x7f800000, 0, 0});
    floats.push_back({0xff800000, 0x80000000, 0, 0});
    const std::string pack = four ? "cvt.u32.u8 d, n;" : "cvt.u32.u16 d, n;";
    const auto narrow = apply(fmt::format(".reg .b{} n; cvt.rn.satfinite.{}.f32 n, a, b; {}",
                                          four ? 8 : 16, one.name, pack),
                              "w=ww", floats, 100);
    const auto nearest = [&](u64 source) {
      const float x = std::bit_cast<float>(static_cast<u32>(source));
      const int largest = (1 << (bits - 1)) - 1, sign = std::signbit(x) ? 1 << (bits - 1) : 0;
      if (std::isnan(x)) return largest;
      int best = 0;
      for (int code = 0; code <= largest; ++code) {
        const double to_code = std::fabs(value(code) - std::fabs(x)),
                     to_best = std::fabs(value(best) - std::fabs(x));
        if (to_code < to_best || (to_code == to_best && code % 2 == 0)) best = code;
      }
      return (std::isinf(x) ? largest : best) | sign;
    };
    for (std::size_t i = 0; i < floats.size(); ++i) {
      const auto want =
          static_cast<u64>(nearest(floats[i][0]) << one.apart | nearest(floats[i][1]));
      ASSERT_EQ(narrow[i], want) << fmt::format("{} {:#x} {:#x}", one.name, floats[i][0],
                                                floats[i][1]);
    }
  }
}

TEST(Convert, PowersOfTwoDropTheSign) {
  const auto scales = [](const std::string& form, u64 a, u64 b) {
    return apply("cvt." + form + " d, a, b;", "h=ww", {{a, b, 0, 0}}, 100)[0] & 0xffff;
  };
  const auto bits = [](float x) { return u64{std::bit_cast<u32>(x)}; };
  EXPECT_EQ(scales("rz.satfinite.ue8m0x2.f32", bits(1.0f), bits(3.0f)), 0x7f80u);
  EXPECT_EQ(scales("rp.satfinite.ue8m0x2.f32", bits(1.0f), bits(3.0f)), 0x7f81u);
  EXPECT_EQ(scales("rp.satfinite.ue8m0x2.f32", bits(-5.0f), bits(0.0f)), 0x8200u);
  EXPECT_EQ(scales("rz.satfinite.ue8m0x2.f32", 0x7f800000, 0x7fc00000), 0xfeffu);
  EXPECT_EQ(scales("rp.ue8m0x2.f32", 0x7f800000, 0x7f7fffff), 0xffffu);
  const auto back =
      apply("cvt.rn.bf16x2.ue8m0x2 d, a;", "w=h", {{0x7f82, 0, 0, 0}, {0xff00, 0, 0, 0}}, 100);
  EXPECT_EQ(back[0], 0x3f804100u);  // 1 and 8
  EXPECT_EQ(back[1], 0x7fff0040u);  // NaN and 2^-127
  EXPECT_EQ(apply("cvt.rp.satfinite.ue8m0x2.bf16x2 d, a;", "h=w", {{0x40403f80, 0, 0, 0}}, 100)[0] &
                0xffff,
            0x817fu);
}

TEST(Convert, NarrowFormatsNeedTheirTargetAndForm) {
  const auto error = [](const std::string& code, int sm) {
    const auto module =
        make_emulator({.sm = 100})->load(kernel_text(".reg .b8 n; " + code, sm), "k.ptx");
    return module.ok() ? "loaded" : module.error().text();
  };
  EXPECT_EQ(error("cvt.rn.satfinite.e2m1x2.f32 n, %f1, %f2;", 100), "loaded");
  EXPECT_NE(error("cvt.rn.satfinite.e2m1x2.f32 n, %f1, %f2;", 90).find("sm_100"),
            std::string::npos);
  for (const char* code : {"cvt.rn.e2m1x2.f32 n, %f1, %f2;", "cvt.rn.bf16x2.e2m1x2 %r1, n;",
                           "cvt.rn.ue8m0x2.f32 %h1, %f1, %f2;"})
    EXPECT_NE(error(code, 100).find("no such conversion"), std::string::npos) << code;
}

// ptxas takes none of the first.
TEST(Convert, RoundingsThatAreNoneAreRefused) {
  const auto loads = [](const std::string& code) {
    const auto device = make_emulator({.sm = 90, .threads = 1});
    return device->load(kernel_text(code, 90), "test.ptx").ok();
  };
  for (const char* code :
       {"cvt.rn.f32.f16 %f1, %h1;", "cvt.rn.f32.f32 %f1, %f2;", "cvt.rna.bf16.f32 %h1, %f1;",
        "cvt.rn.s32.f32 %r1, %f1;", "cvt.rni.f32.s32 %f1, %r1;", "cvt.rni.f16.f32 %h1, %f1;",
        "rcp.f32 %f1, %f2;", "sqrt.f32 %f1, %f2;", "div.f32 %f1, %f2, %f3;",
        "fma.f32 %f1, %f2, %f3, %f4;"})
    EXPECT_FALSE(loads(code)) << code;
  for (const char* code :
       {"cvt.f32.f16 %f1, %h1;", "cvt.rni.ftz.f32.f32 %f1, %f2;", "cvt.rna.tf32.f32 %r1, %f1;",
        "cvt.rn.f16x2.e4m3x2 %r1, %h1;", "add.f32 %f1, %f2, %f3;", "div.rz.f32 %f1, %f2, %f3;"})
    EXPECT_TRUE(loads(code)) << code;
}

}  // namespace
}  // namespace plumbline::emulator
