// SPDX-License-Identifier: MIT
// wgmma through PTX against dot(), element by element: where the ISA puts an element of a tile in
// shared memory and in registers is written here once more, per element instead of per 16 bytes.
// Then what happens between issue and wait.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "oracles/base/random.h"
#include "oracles/formats/format.h"
#include "oracles/models/generation.h"
#include "oracles/models/node.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using enum FormatId;
using ::testing::HasSubstr;

constexpr int kRows = 64;
constexpr u64 kDynamicShared = 1024;  // the address of the first byte

// A tile of `rows` x `depth` elements as the canonical layouts have it (PTX ISA 9.7.15.5.1.2.1):
// swizzled every `pattern` bytes (16: not), along k or along m and n.
struct Layout {
  int pattern = 16;
  bool along_k = true;
  u64 leading = 0, stride = 0;

  // Byte offset of an element from the start of the tile, before swizzling.
  u64 offset(u64 row, u64 k, u64 bytes) const {
    const auto span = static_cast<u64>(pattern);
    if (along_k && pattern == 16)
      return row % 8 * 16 + row / 8 * stride + k * bytes % 16 + k * bytes / 16 * leading;
    if (along_k) return row % 8 * span + row / 8 * stride + k * bytes;
    const u64 at = row * bytes;
    if (pattern == 16) return at % 16 + at / 16 * stride + k % 8 * 16 + k / 8 * leading;
    return at % span + at / span * leading + k % 8 * span + k / 8 * stride;
  }

  u64 address(u64 start, u64 row, u64 k, u64 bytes) const {
    const u64 plain = start + offset(row, k, bytes);
    const u64 bits = pattern == 128 ? 0x70 : pattern == 64 ? 0x30 : pattern == 32 ? 0x10 : 0;
    return plain ^ (plain >> 3 & bits);
  }

  u64 descriptor(u64 start) const {
    const u64 mode = pattern == 128 ? 1 : pattern == 64 ? 2 : pattern == 32 ? 3 : 0;
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
  }
};

// Tight layouts of `rows` x 32 bytes of k.
Layout layout(int pattern, bool along_k, int rows) {
  const auto span = static_cast<u64>(pattern);
  if (along_k && pattern == 16) return {16, true, static_cast<u64>(rows) * 16, 128};
  if (along_k) return {pattern, true, 0, 8 * span};
  if (pattern == 16) return {16, false, static_cast<u64>(rows) * 16, 128};
  // 16 values of k by as many of m or n as the pattern is wide.
  return {pattern, false, 16 * span, 8 * span};
}

struct Case {
  std::string_view form;  // without shape
  FormatId a, b, accumulator;
  int n = 8;
  int a_pattern = 16, b_pattern = 16;  // a: 0 is in registers
  bool a_along_k = true, b_along_k = true;
  int scale_a = 1, scale_b = 1;
  bool adds = true;
};

std::string text(const Case& c) {
  return fmt::format("n={} {} a {}{} b {}{}", c.n, c.form, c.a_pattern, c.a_along_k ? "" : "t",
                     c.b_pattern, c.b_along_k ? "" : "t");
}

// Codes that make sums round in many ways, away from NaN.
u32 code(const Format& f, Random& random) {
  if (f.id == s8 || f.id == u8) return static_cast<u32>(random.next()) & 0xff;
  if (f.id == s32) return static_cast<u32>(random.between(-1000, 1000));
  const u32 mantissa = static_cast<u32>(random.next()) & ((1u << f.mantissa_bits) - 1);
  const auto exponent = static_cast<u32>(f.bias + random.between(-3, 2));
  const u32 bits = (static_cast<u32>(random.next()) & 1) << (f.exponent_bits + f.mantissa_bits) |
                   exponent << f.mantissa_bits | mantissa;
  return f.id == tf32 ? bits << 13 : bits;
}

void check(const Case& one, u64 seed) {
  SCOPED_TRACE(text(one));
  Random random(seed);
  const Format &fa = format(one.a), &fb = format(one.b);
  const int bytes = fa.storage_bits / 8, k = 32 / bytes;
  const auto matrix = [&](int rows, const Format& f) {
    std::vector<u32> m(static_cast<std::size_t>(rows * k));
    for (u32& x : m) x = code(f, random);
    return m;
  };
  const std::vector<u32> a = matrix(kRows, fa), b = matrix(one.n, fb);
  std::vector<u32> c(static_cast<std::size_t>(kRows * one.n));
  for (u32& x : c) x = code(format(one.accumulator), random);

  // Shared memory: 64 KiB, A from its start, B from the middle. Then per thread its four registers
  // of A and its accumulators.
  const Layout a_layout = layout(std::max(one.a_pattern, 16), one.a_along_k, kRows);
  const Layout b_layout = layout(one.b_pattern, one.b_along_k, one.n);
  constexpr u64 kHalf = 1 << 15;
  std::vector<std::byte> in(2 * kHalf);
  const auto put = [&](const Layout& where, u64 start, const std::vector<u32>& m, int rows) {
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < k; ++i) {
        const u64 at = where.address(kDynamicShared + start, static_cast<u64>(r),
                                     static_cast<u64>(i), static_cast<u64>(bytes));
        std::memcpy(in.data() + (at - kDynamicShared), &m[static_cast<std::size_t>(r * k + i)],
                    static_cast<std::size_t>(bytes));
      }
    }
  };
  put(a_layout, 0, a, kRows);
  put(b_layout, kHalf, b, one.n);
  const bool half = one.accumulator == f16;
  const int sums = one.n / (half ? 4 : 2);
  std::vector<u32> registers(static_cast<std::size_t>(128 * (4 + sums)));
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < k; ++i) {
      // Row 16w + g + 8 (of register 1 and 3), bytes 4t of a half of 16.
      const int thread = r / 16 * 32 + r % 8 * 4 + i * bytes % 16 / 4;
      const int reg = r / 8 % 2 + i * bytes / 16 * 2;
      registers[static_cast<std::size_t>(thread * (4 + sums) + reg)] |=
          a[static_cast<std::size_t>(r * k + i)] << i * bytes % 4 * 8;
    }
  }
  // The register of an accumulator, and its place there.
  const auto place = [&](int r, int column) {
    const int thread = r / 16 * 32 + r % 8 * 4 + column % 8 / 2;
    const int i = column / 8 * 4 + r / 8 % 2 * 2 + column % 2;
    return std::array<int, 3>{thread, half ? i / 2 : i, half ? i % 2 * 16 : 0};
  };
  for (int r = 0; r < kRows; ++r) {
    for (int column = 0; column < one.n; ++column) {
      const auto [thread, reg, shift] = place(r, column);
      registers[static_cast<std::size_t>(thread * (4 + sums) + 4 + reg)] |=
          c[static_cast<std::size_t>(r * one.n + column)] << shift;
    }
  }
  const auto raw = bytes_of(registers);
  in.insert(in.end(), raw.begin(), raw.end());

  std::string list;
  for (int i = 0; i < sums; ++i) list += fmt::format("{}s{}", i == 0 ? "" : ", ", i);
  std::string body = fmt::format(".reg .b32 s<{}>;\n", sums) + R"(
    mov.u32 %r0, %tid.x; mov.u32 %r1, tiles; mov.u32 %r2, 0; mov.u64 %d0, %in;
    COPY: mad.lo.u32 %r3, %r0, 512, %r1; add.u32 %r3, %r3, %r2; mul.wide.u32 %d1, %r0, 512; cvt.u64.u32 %d2, %r2; add.s64 %d1, %d1, %d2; add.s64 %d1, %in, %d1;
    ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d1]; st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};
    add.u32 %r2, %r2, 16; setp.lt.u32 %p1, %r2, 512; @%p1 bra COPY;
    fence.proxy.async; bar.sync 0;
)";
  body += fmt::format(
      "mul.wide.u32 %d3, %r0, {}; add.s64 %d3, %in, %d3; mul.wide.u32 %d4, %r0, {}; "
      "add.s64 %d4, %out, %d4;\n",
      4 * (4 + sums), 4 * sums);
  for (int i = 0; i < 4; ++i)
    body += fmt::format("ld.global.u32 %r{}, [%d3+{}];\n", 10 + i,
                        2 * kHalf + 4u * static_cast<u32>(i));
  for (int i = 0; i < sums; ++i)
    body +=
        fmt::format("ld.global.u32 s{}, [%d3+{}];\n", i, 2 * kHalf + 16 + 4u * static_cast<u32>(i));
  body += fmt::format("mov.u64 %d5, {}; mov.u64 %d6, {};\n", a_layout.descriptor(kDynamicShared),
                      b_layout.descriptor(kDynamicShared + kHalf));
  std::string scales;
  if (one.accumulator != s32) {
    scales = fmt::format(", {}, {}", one.scale_a, one.scale_b);
    if (bytes == 2 && one.a_pattern != 0) scales += one.a_along_k ? ", 0" : ", 1";
    if (bytes == 2) scales += one.b_along_k ? ", 0" : ", 1";
  }
  body += fmt::format(
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n{}k{}.{} {{{}}}, {}, %d6, {}{};\n"
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n",
      one.n, k, one.form, list, one.a_pattern == 0 ? "{%r10, %r11, %r12, %r13}" : "%d5",
      one.adds ? 1 : 0, scales);
  for (int i = 0; i < sums; ++i) body += fmt::format("st.global.u32 [%d4+{}], s{};\n", 4 * i, i);
  KernelOptions options;
  options.block = {128, 1, 1};
  options.dynamic_shared_bytes = 2 * kHalf;
  const KernelRun run = run_kernel(kernel_text(body, 90, ".extern .shared .align 128 .b8 tiles[];"),
                                   in, static_cast<std::size_t>(128 * 4 * sums), options);
  ASSERT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);

  const std::vector<u32> out = run.values<u32>();
  const u32 sign = 1u << (fa.storage_bits - 1);
  std::vector<u32> left = a;
  if (one.scale_a * one.scale_b < 0) {
    for (u32& x : left) x ^= sign;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int column = 0; column < one.n; ++column) {
      const auto x = std::span<const u32>(left).subspan(static_cast<std::size_t>(r * k),
                                                        static_cast<std::size_t>(k));
      const auto y = std::span<const u32>(b).subspan(static_cast<std::size_t>(column * k),
                                                     static_cast<std::size_t>(k));
      const u32 start = one.adds ? c[static_cast<std::size_t>(r * one.n + column)] : 0;
      u32 want = start;
      if (one.accumulator == s32) {
        for (int i = 0; i < k; ++i) {
          const auto value = [](FormatId f, u32 v) {
            return f == s8 ? static_cast<int>(static_cast<std::int8_t>(v)) : static_cast<int>(v);
          };
          want += static_cast<u32>(value(one.a, x[static_cast<std::size_t>(i)]) *
                                   value(one.b, y[static_cast<std::size_t>(i)]));
        }
      } else {
        const auto model = dot_model(90, Instruction::wgmma, one.a, one.b, one.accumulator);
        ASSERT_TRUE(model.has_value());
        want = dot(*model, fa, fb, x, y, start);
      }
      const auto [thread, reg, shift] = place(r, column);
      const u32 got =
          out[static_cast<std::size_t>(thread * sums + reg)] >> shift & (half ? 0xffffu : ~0u);
      ASSERT_EQ(got, want) << "row " << r << " column " << column;
    }
  }
}

TEST(Wgmma, EveryTypeComesOutAsItsNodesAdd) {
  u64 seed = 1;
  for (const Case& one : std::vector<Case>{{"f32.bf16.bf16", bf16, bf16, f32, 8},
                                           {"f32.f16.f16", f16, f16, f32, 24},
                                           {"f16.f16.f16", f16, f16, f16, 16},
                                           {"f32.tf32.tf32", tf32, tf32, f32, 8},
                                           {"f32.e4m3.e4m3", e4m3, e4m3, f32, 64},
                                           {"f32.e4m3.e5m2", e4m3, e5m2, f32, 8},
                                           {"f32.e5m2.e4m3", e5m2, e4m3, f32, 8},
                                           {"f16.e5m2.e5m2", e5m2, e5m2, f16, 8},
                                           {"s32.s8.s8", s8, s8, s32, 32},
                                           {"s32.u8.s8", u8, s8, s32, 8}})
    check(one, seed++);
}

TEST(Wgmma, ReadsEveryLayoutOfSharedMemory) {
  u64 seed = 100;
  for (const int pattern : {16, 32, 64, 128}) {
    for (const bool along : {true, false}) {
      check({"f32.bf16.bf16", bf16, bf16, f32, 64, pattern, 16, along, true}, seed++);
      check({"f32.bf16.bf16", bf16, bf16, f32, 128, 0, pattern, true, along}, seed++);
      check({"f32.f16.f16", f16, f16, f32, 64, pattern, pattern, along, !along}, seed++);
    }
    check({"f32.e4m3.e4m3", e4m3, e4m3, f32, 16, pattern, pattern}, seed++);
    check({"f32.e4m3.e4m3", e4m3, e4m3, f32, 256, 0, pattern}, seed++);
    check({"f32.tf32.tf32", tf32, tf32, f32, 16, 0, pattern}, seed++);
    check({"s32.s8.u8", s8, u8, s32, 16, pattern, 16}, seed++);
  }
}

TEST(Wgmma, NegatesAndLeavesOutWhatWasThere) {
  for (const int a : {1, -1}) {
    for (const int b : {1, -1}) {
      for (const bool adds : {true, false}) {
        check({"f32.bf16.bf16", bf16, bf16, f32, 8, 16, 16, true, true, a, b, adds}, 7);
        check({"f32.e4m3.e5m2", e4m3, e5m2, f32, 8, 0, 16, true, true, a, b, adds}, 8);
        check({"f32.tf32.tf32", tf32, tf32, f32, 8, 0, 16, true, true, a, b, adds}, 9);
      }
    }
  }
}

// --- between issue and wait ---

// All of shared memory is 1 as bf16, so that each product adds 16. %f1 is one of the accumulators,
// and what the thread stores; `body` has PRODUCT for a product on it, and may overwrite shared
// memory with zeros: ERASE.
KernelRun products(std::string body, RandomRounding rounding = RandomRounding::off,
                   std::string_view fence = "wgmma.fence.sync.aligned;") {
  const auto replace = [&](std::string_view what, std::string_view by) {
    for (std::size_t at; (at = body.find(what)) != std::string::npos;)
      body.replace(at, what.size(), by);
  };
  replace("PRODUCT",
          "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %d5, %d6, 1, "
          "1, 1, 0, 0;");
  replace("OTHER",
          "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f11, %f12, %f13, %f14}, %d5, %d6, "
          "1, 1, 1, 0, 0;");
  replace("COMMIT", "wgmma.commit_group.sync.aligned;");
  replace("WAIT", "wgmma.wait_group.sync.aligned");
  replace(
      "ERASE",
      "bar.sync 0; st.shared.v4.u32 [%r3], {%r8, %r8, %r8, %r8}; fence.proxy.async; bar.sync 0;");
  const std::string start =
      fmt::format(R"(
    mov.u32 %r0, %tid.x; mov.u32 %r1, tiles; mad.lo.u32 %r3, %r0, 16, %r1; mov.u32 %r4, 0x3f803f80; mov.u32 %r8, 0;
    st.shared.v4.u32 [%r3], {{%r4, %r4, %r4, %r4}}; st.shared.v4.u32 [%r3+2048], {{%r4, %r4, %r4, %r4}};
    fence.proxy.async; bar.sync 0; mov.u64 %d5, {}; mov.u64 %d6, {};
    mov.f32 %f1, 0f40000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
    mov.f32 %f11, %f1; mov.f32 %f12, %f1; mov.f32 %f13, %f1; mov.f32 %f14, %f1;
    mul.wide.u32 %d4, %r0, 4; add.s64 %d4, %out, %d4; {}
)",
                  layout(16, true, kRows).descriptor(kDynamicShared),
                  layout(16, true, 8).descriptor(kDynamicShared + 2048), fence);
  KernelOptions options;
  options.block = {128, 1, 1};
  options.emulator.random_rounding = rounding;
  options.dynamic_shared_bytes = 4096;
  return run_kernel(kernel_text(start + body, 90, ".extern .shared .align 128 .b8 tiles[];"), {},
                    512, options);
}

float first(const KernelRun& run) {
  EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
  return run.values<float>()[0];
}

TEST(Wgmma, NeedsAFenceAheadOfTheFirstProduct) {
  const std::string body = "PRODUCT COMMIT WAIT 0; st.global.f32 [%d4], %f1;";
  const KernelRun run = products(body, RandomRounding::off, "");
  ASSERT_FALSE(run.outcome.findings.empty());
  EXPECT_EQ(run.outcome.findings[0].kind, FindingKind::missing_fence);
  EXPECT_THAT(run.outcome.findings[0].message, HasSubstr("no wgmma.fence"));
  EXPECT_FALSE(run.outcome.completed);
}

TEST(Wgmma, GivesItsSumsToTheWaitAndNotBefore) {
  EXPECT_EQ(first(products("PRODUCT PRODUCT COMMIT WAIT 0; st.global.f32 [%d4], %f1;")), 34);
  EXPECT_TRUE(std::isnan(first(products("PRODUCT COMMIT st.global.f32 [%d4], %f1; WAIT 0;"))));
  EXPECT_TRUE(
      std::isnan(first(products("PRODUCT COMMIT WAIT 1; st.global.f32 [%d4], %f1; WAIT 0;"))));
  EXPECT_TRUE(std::isnan(first(products("PRODUCT WAIT 0; st.global.f32 [%d4], %f1; COMMIT"))));
}

TEST(Wgmma, LeavesTheYoungestGroupsInFlight) {
  EXPECT_EQ(
      first(products("PRODUCT COMMIT OTHER COMMIT WAIT 1; st.global.f32 [%d4], %f1; WAIT 0;")), 18);
  EXPECT_TRUE(std::isnan(
      first(products("PRODUCT COMMIT OTHER COMMIT WAIT 1; st.global.f32 [%d4], %f11; WAIT 0;"))));
  // The same accumulators in both groups are complete with the second.
  EXPECT_TRUE(std::isnan(
      first(products("PRODUCT COMMIT PRODUCT COMMIT WAIT 1; st.global.f32 [%d4], %f1; WAIT 0;"))));
  EXPECT_EQ(first(products("PRODUCT COMMIT PRODUCT COMMIT WAIT 1; PRODUCT COMMIT WAIT 0; "
                           "st.global.f32 [%d4], %f1;")),
            50);
}

TEST(Wgmma, ReadsSharedMemoryUntilTheWait) {
  EXPECT_EQ(first(products("PRODUCT COMMIT WAIT 0; ERASE st.global.f32 [%d4], %f1;")), 18);
  EXPECT_LT(first(products("PRODUCT COMMIT ERASE WAIT 0; st.global.f32 [%d4], %f1;")), 18);
}

TEST(Wgmma, ReadsOnlyWhatWasFenced) {
  const std::string write = "bar.sync 0; st.shared.v4.u32 [%r3], {%r4, %r4, %r4, %r4}; ";
  const std::string product = "bar.sync 0; PRODUCT COMMIT WAIT 0; st.global.f32 [%d4], %f1;";
  EXPECT_EQ(first(products(write + "fence.proxy.async; " + product)), 18);
  EXPECT_THAT(findings_text(products(write + product).outcome),
              HasSubstr("missing fence: reads shared memory at 0x500, which warp 0 lane 16 wrote"));
}

TEST(Wgmma, LeavesRegistersAloneThatHoldSomethingElse) {
  EXPECT_EQ(
      first(products("PRODUCT COMMIT mov.f32 %f1, 0f40A00000; WAIT 0; st.global.f32 [%d4], %f1;")),
      5);
}

// 18 is exact and stays; a quarter of its last place on top is cut, and moved by a whole one at
// most.
TEST(Wgmma, RoundsAtRandomWhereAsked) {
  const std::string store = "PRODUCT COMMIT WAIT 0; st.global.f32 [%d4], %f1;";
  const auto values = [&](const std::string& start, RandomRounding rounding) {
    const std::vector<float> all = products(start + store, rounding).values<float>();
    return std::set<float>(all.begin(), all.end());
  };
  const std::string inexact = "mov.f32 %f1, 0f40000002;";
  for (const RandomRounding rounding : {RandomRounding::on, RandomRounding::unbiased_nodes}) {
    EXPECT_EQ(values("", rounding), std::set<float>{18});
    const std::set<float> moved = values(inexact, rounding);
    EXPECT_GT(moved.size(), 1u);
    for (const float x : moved) EXPECT_LE(std::fabs(x - 18), 0x1p-19f);
  }
  EXPECT_EQ(values(inexact, RandomRounding::off), std::set<float>{18});
}

FindingKind only_finding(const KernelRun& run) {
  EXPECT_EQ(run.outcome.findings.size(), 1u) << findings_text(run.outcome);
  return run.outcome.findings.empty() ? FindingKind::trap : run.outcome.findings[0].kind;
}

TEST(Wgmma, FindsWhatIsWrongWithIt) {
  EXPECT_EQ(
      only_finding(products("setp.lt.u32 %p1, %r0, 3; @%p1 bra END; PRODUCT END: mov.u32 %r1, 0;")),
      FindingKind::divergent_barrier);
  EXPECT_EQ(only_finding(products("mov.u64 %d5, 0x3ff0; PRODUCT COMMIT WAIT 0;")),
            FindingKind::out_of_bounds);
  EXPECT_EQ(only_finding(products("cvt.u64.u32 %d5, %r0; PRODUCT COMMIT WAIT 0;")),
            FindingKind::bad_operand);
  EXPECT_EQ(only_finding(products("or.b64 %d5, %d5, 0x2000000000000; PRODUCT COMMIT WAIT 0;")),
            FindingKind::bad_operand);
  EXPECT_EQ(only_finding(products("setp.lt.u32 %p1, %r0, 3; mov.f32 %f5, 0f00000000;\n"
                                  "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, "
                                  "%f3, %f4}, %d5, %d6, %p1, 1, 1, 0, 0;")),
            FindingKind::bad_operand);
}

std::string load_error(const std::string& instruction, int sm = 90) {
  const auto device = make_emulator({.sm = 90, .threads = 1});
  const auto module = device->load(kernel_text(instruction, sm), "test.ptx");
  return module ? "" : module.error().text();
}

TEST(Wgmma, IsRefusedWhereItDoesNotExist) {
  const std::string sums = "{%f1, %f2, %f3, %f4}";
  const auto form = [&](std::string_view shape, const std::string& rest) {
    return fmt::format("wgmma.mma_async.sync.aligned.{} {};", shape, rest);
  };
  EXPECT_EQ(load_error(form("m64n8k16.f32.bf16.bf16", sums + ", %d1, %d2, 1, 1, 1, 0, 0")), "");
  EXPECT_THAT(load_error(form("m64n8k16.f32.bf16.bf16", sums + ", %d1, %d2, 1, 1, 1, 0, 0"), 80),
              HasSubstr("sm_90"));
  EXPECT_THAT(load_error(form("m64n8k32.f32.bf16.bf16", sums + ", %d1, %d2, 1, 1, 1, 0, 0")),
              HasSubstr("no such shape"));
  EXPECT_THAT(load_error(form("m64n16k16.f32.bf16.bf16", sums + ", %d1, %d2, 1, 1, 1, 0, 0")),
              HasSubstr("4 registers, not 8"));
  EXPECT_THAT(load_error(form("m64n8k16.f32.bf16.bf16", sums + ", {%r1, %r2}, %d2, 1, 1, 1, 0")),
              HasSubstr("A has 2 registers, not 4"));
  EXPECT_THAT(load_error(form("m64n8k16.f32.bf16.bf16", sums + ", %d1, %d2, 1, 2, 1, 0, 0")),
              HasSubstr("imm-scale is 1 or -1"));
  EXPECT_THAT(load_error(form("m64n8k32.f32.e4m3.e4m3", sums + ", %d1, %d2, 1, 1, 1, 0, 0")),
              HasSubstr("8 operands, not 6"));
}

}  // namespace
}  // namespace plumbline::emulator
