// SPDX-License-Identifier: MIT
// ldmatrix, stmatrix, movmatrix layouts against the ISA's formulas; mma through PTX against dot()
// for every generation.
#include "oracles/base/random.h"
#include "oracles/formats/format.h"
#include "oracles/models/generation.h"
#include "oracles/models/node.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

// 64 lines of 16 bytes in `in`, copied to shared memory; lane l's row address is row (l * 5 + 3)
// % 64.
constexpr std::string_view kFill = R"(
  .shared .align 16 .b8 tile[1024];
  mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 32; add.s64 %d0, %in, %d0;
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d0]; ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%d0+16];
  mov.u32 %r9, tile; mad.lo.u32 %r10, %r0, 32, %r9; st.shared.v4.u32 [%r10], {%r1, %r2, %r3, %r4}; st.shared.v4.u32 [%r10+16], {%r5, %r6, %r7, %r8};
  bar.sync 0;
  mad.lo.u32 %r11, %r0, 5, 3; and.b32 %r11, %r11, 63; mad.lo.u32 %r11, %r11, 16, %r9;
  mul.wide.u32 %d1, %r0, 16; add.s64 %d1, %out, %d1; mov.u32 %r12, 0; mov.u32 %r13, 0; mov.u32 %r14, 0; mov.u32 %r15, 0;
)";

std::vector<u16> elements() {
  std::vector<u16> in(512);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<u16>(i * 7 + 1);
  return in;
}

TEST(LdMatrix, RegistersHoldRowsOrColumns) {
  const std::vector<u16> in = elements();
  for (const int count : {1, 2, 4}) {
    for (const bool transposed : {false, true}) {
      for (const bool generic : {false, true}) {
        const char* registers =
            count == 1 ? "{%r12}" : (count == 2 ? "{%r12, %r13}" : "{%r12, %r13, %r14, %r15}");
        const std::string address =
            generic ? "cvt.u64.u32 %d2, %r11; cvta.shared.u64 %d2, %d2;\n" : "";
        const std::string body =
            std::string(kFill) + address +
            fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}{}.b16 {}, [{}];\n", count,
                        transposed ? ".trans" : "", generic ? "" : ".shared", registers,
                        generic ? "%d2" : "%r11") +
            "st.global.v4.u32 [%d1], {%r12, %r13, %r14, %r15};";
        const KernelRun run = run_kernel(kernel_text(body), bytes_of(in), 512);
        ASSERT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
        const std::vector<u16> out = run.values<u16>();
        for (int lane = 0; lane < 32; ++lane) {
          for (int j = 0; j < count; ++j) {
            for (int half = 0; half < 2; ++half) {
              int row = lane / 4, column = 2 * (lane % 4) + half;
              if (transposed) std::swap(row, column);
              const int line = ((8 * j + row) * 5 + 3) % 64;
              ASSERT_EQ(out[8 * lane + 2 * j + half], in[8 * line + column])
                  << "x" << count << " lane " << lane << " register " << j;
            }
          }
        }
      }
    }
  }
}

TEST(StMatrix, IsTheInverseOfLdMatrix) {
  const std::vector<u16> in = elements();
  for (const bool transposed : {false, true}) {
    const char* trans = transposed ? ".trans" : "";
    const std::string body = std::string(kFill) +
                             fmt::format(
                                 "ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%r12, %r13, %r14, "
                                 "%r15}}, [%r11]; bar.sync 0;\n",
                                 trans) +
                             "mad.lo.u32 %r16, %r0, 16, %r9;\n" +
                             fmt::format(
                                 "stmatrix.sync.aligned.m8n8.x4{}.shared.b16 [%r16], {{%r12, %r13, "
                                 "%r14, %r15}}; bar.sync 0;\n",
                                 trans) +
                             "ld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r16]; st.global.v4.u32 "
                             "[%d1], {%r12, %r13, %r14, %r15};";
    const KernelRun run = run_kernel(kernel_text(body), bytes_of(in), 512);
    ASSERT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
    const std::vector<u16> out = run.values<u16>();
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 8; ++i)
        ASSERT_EQ(out[8 * lane + i], in[8 * ((lane * 5 + 3) % 64) + i])
            << transposed << " lane " << lane;
    }
  }
}

TEST(MovMatrix, Transposes) {
  std::vector<u32> in(32);
  for (u32 i = 0; i < 32; ++i)
    in[i] = 2 * i | (2 * i + 1) << 16;  // element number in row-major order
  const KernelRun run = run_kernel(kernel_text("mov.u32 %r0, %laneid; mul.wide.u32 %d0, %r0, 4; "
                                               "add.s64 %d1, %in, %d0; ld.global.u32 %r1, [%d1];"
                                               "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1; "
                                               "add.s64 %d2, %out, %d0; st.global.u32 [%d2], %r2;"),
                                   bytes_of(in), 128);
  const std::vector<u16> out = run.values<u16>();
  for (int r = 0; r < 8; ++r) {
    for (int c = 0; c < 8; ++c) EXPECT_EQ(out[8 * r + c], 8 * c + r);
  }
}

// --- mma ---

struct MmaCase {
  const char* form;  // after "mma.sync.aligned."
  FormatId a, b, accumulator;
  int k;
  int sm;
};

int registers(const Format& format, int elements) {
  return elements * format.storage_bits / 32 / 32;
}

// Element (row, k) of A in lane registers, PTX ISA 9.0 section 9.7.14.5
// (tensor-core-numerics.md 2.1).
struct Place {
  int lane, reg, element;
};

Place place_a(int row, int k, int bits) {
  const int per = 32 / bits;
  if (bits == 32) return {row % 8 * 4 + k % 4, row / 8 + 2 * (k / 4), 0};
  const int chunk = 4 * per;  // k in one 8x16-byte block
  return {row % 8 * 4 + k % chunk / per, row / 8 + 2 * (k / chunk), k % per};
}

Place place_b(int k, int column, int bits) {
  const int per = 32 / bits;
  if (bits == 32) return {column * 4 + k % 4, k / 4, 0};
  const int chunk = 4 * per;
  return {column * 4 + k % chunk / per, k / chunk, k % per};
}

TEST(Mma, EveryFormMatchesDotOnItsGeneration) {
  using enum FormatId;
  const MmaCase kCases[] = {
      {"m16n8k8.row.col.f32.bf16.bf16.f32", bf16, bf16, f32, 8, 80},
      {"m16n8k16.row.col.f32.bf16.bf16.f32", bf16, bf16, f32, 16, 80},
      {"m16n8k16.row.col.f32.bf16.bf16.f32", bf16, bf16, f32, 16, 90},
      {"m16n8k8.row.col.f32.f16.f16.f32", f16, f16, f32, 8, 80},
      {"m16n8k16.row.col.f32.f16.f16.f32", f16, f16, f32, 16, 90},
      {"m16n8k16.row.col.f16.f16.f16.f16", f16, f16, f16, 16, 80},
      {"m16n8k8.row.col.f16.f16.f16.f16", f16, f16, f16, 8, 90},
      {"m16n8k4.row.col.f32.tf32.tf32.f32", tf32, tf32, f32, 4, 80},
      {"m16n8k8.row.col.f32.tf32.tf32.f32", tf32, tf32, f32, 8, 90},
      {"m16n8k32.row.col.f32.e4m3.e4m3.f32", e4m3, e4m3, f32, 32, 89},
      {"m16n8k32.row.col.f32.e4m3.e5m2.f32", e4m3, e5m2, f32, 32, 90},
      {"m16n8k16.row.col.f32.e5m2.e4m3.f32", e5m2, e4m3, f32, 16, 120},
      {"m16n8k32.row.col.f16.e4m3.e4m3.f16", e4m3, e4m3, f16, 32, 89},
  };
  Random random(9);
  for (const MmaCase& one : kCases) {
    const Format &fa = format(one.a), &fb = format(one.b);
    const auto model = dot_model(one.sm, Instruction::mma_sync, one.a, one.b, one.accumulator);
    ASSERT_TRUE(model.has_value()) << one.form;
    const int a_count = registers(fa, 16 * one.k), b_count = registers(fb, 8 * one.k),
              c_count = one.accumulator == f16 ? 2 : 4;
    std::vector<u32> a(static_cast<std::size_t>(16 * one.k)),
        b(static_cast<std::size_t>(8 * one.k)), c(128);
    // Small exponents, so that sums round in many ways; f16 and fp8 codes away from NaN.
    const auto code = [&](const Format& f) {
      const u32 mantissa = static_cast<u32>(random.next()) & ((1u << f.mantissa_bits) - 1);
      const auto exponent = static_cast<u32>(f.bias + random.between(-3, 2));
      u32 bits = (static_cast<u32>(random.next()) & 1) << (f.exponent_bits + f.mantissa_bits) |
                 exponent << f.mantissa_bits | mantissa;
      return f.id == tf32 ? bits << 13 : bits;
    };
    for (u32& v : a) v = code(fa);
    for (u32& v : b) v = code(fb);
    for (u32& v : c) v = code(format(one.accumulator));
    // The 32 lanes' registers: a, then b, then c.
    const int total = a_count + b_count + c_count;
    std::vector<u32> in(static_cast<std::size_t>(32 * total));
    const auto put = [&](const Place& place, int first, int bits, u32 value) {
      in[static_cast<std::size_t>(place.lane * total + first + place.reg)] |=
          value << (place.element * bits % 32);
    };
    for (int row = 0; row < 16; ++row) {
      for (int k = 0; k < one.k; ++k)
        put(place_a(row, k, fa.storage_bits), 0, fa.storage_bits,
            a[static_cast<std::size_t>(row * one.k + k)]);
    }
    for (int k = 0; k < one.k; ++k) {
      for (int n = 0; n < 8; ++n)
        put(place_b(k, n, fb.storage_bits), a_count, fb.storage_bits,
            b[static_cast<std::size_t>(n * one.k + k)]);
    }
    const auto place_c = [&](int row, int column) {
      const int lane = row % 8 * 4 + column / 2;
      return one.accumulator == f16 ? Place{lane, row / 8, column % 2}
                                    : Place{lane, row / 8 * 2 + column % 2, 0};
    };
    const int c_bits = one.accumulator == f16 ? 16 : 32;
    for (int row = 0; row < 16; ++row) {
      for (int n = 0; n < 8; ++n)
        put(place_c(row, n), a_count + b_count, c_bits, c[static_cast<std::size_t>(row * 8 + n)]);
    }
    std::string body = fmt::format(
        "mov.u32 %r0, %laneid; mul.wide.u32 %d0, %r0, {}; add.s64 %d0, %in, %d0; mul.wide.u32 %d1, "
        "%r0, {}; add.s64 %d1, %out, %d1;\n",
        4 * total, 4 * c_count);
    std::string lists[3];
    const int counts[3] = {a_count, b_count, c_count};
    for (int list = 0, r = 0; list < 3; ++list) {
      for (int i = 0; i < counts[list]; ++i, ++r) {
        body += fmt::format("ld.global.u32 %r{}, [%d0+{}];", r + 1, 4 * r);
        lists[list] += fmt::format("{}%r{}", i == 0 ? "" : ", ", r + 1);
      }
    }
    std::string d_list;
    for (int i = 0; i < c_count; ++i) d_list += fmt::format("{}%r{}", i == 0 ? "" : ", ", 20 + i);
    body += fmt::format("mma.sync.aligned.{} {{{}}}, {{{}}}, {{{}}}, {{{}}};\n", one.form, d_list,
                        lists[0], lists[1], lists[2]);
    for (int i = 0; i < c_count; ++i)
      body += fmt::format("st.global.u32 [%d1+{}], %r{};", 4 * i, 20 + i);
    KernelOptions options;
    options.emulator.sm = one.sm;
    const KernelRun run = run_kernel(kernel_text(body, one.sm), bytes_of(in),
                                     static_cast<std::size_t>(32 * 4 * c_count), options);
    ASSERT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
    const std::vector<u32> out = run.values<u32>();
    for (int row = 0; row < 16; ++row) {
      for (int n = 0; n < 8; ++n) {
        const auto first = [&](std::vector<u32>& m, int r) {
          return std::span<const u32>(m).subspan(static_cast<std::size_t>(r * one.k),
                                                 static_cast<std::size_t>(one.k));
        };
        const u32 want = dot(*model, fa, fb, first(a, row), first(b, n),
                             c[static_cast<std::size_t>(row * 8 + n)]);
        const Place place = place_c(row, n);
        const u32 got = out[static_cast<std::size_t>(place.lane * c_count + place.reg)] >>
                            (place.element * c_bits % 32) &
                        (c_bits == 16 ? 0xffff : ~0u);
        ASSERT_EQ(got, want) << one.form << " sm_" << one.sm << " row " << row << " column " << n;
      }
    }
  }
}

TEST(Mma, IntegersAddExactlyAndSaturateWhenAsked) {
  // Every A element 127, every B element 127, K = 32: 516128 per dot product on top of c.
  const char* kBody = R"(
    mov.u32 %r0, %laneid; mul.wide.u32 %d0, %r0, 4; add.s64 %d0, %out, %d0; mov.u32 %r1, 0x7f7f7f7f; mov.u32 %r2, {};
    mma.sync.aligned.m16n8k32.row.col{}.s32.s8.s8.s32 {{%r3, %r4, %r5, %r6}}, {{%r1, %r1, %r1, %r1}}, {{%r1, %r1}}, {{%r2, %r2, %r2, %r2}};
    st.global.u32 [%d0], %r3;)";
  const auto run = [&](u32 c, const char* saturate) {
    return run_kernel(kernel_text(fmt::format(fmt::runtime(kBody), c, saturate)), {}, 128)
        .values<u32>()[0];
  };
  EXPECT_EQ(run(5, ""), 5u + 32 * 127 * 127);
  EXPECT_EQ(run(0x7fffffff, ""), 0x7fffffffu + 32 * 127 * 127);
  EXPECT_EQ(run(0x7fffffff, ".satfinite"), 0x7fffffffu);
}

// Mmas that follow each other share what they unpack of A. With instructions between them they do
// not: same results.
TEST(Mma, SharesAOnlyWithTheSameA) {
  const auto results = [](std::string_view between) {
    const std::string mma = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 ";
    const std::string a = "{%r10, %r11, %r12, %r13}", b = "{%r14, %r15}",
                      c = "{%r16, %r17, %r18, %r19}";
    const auto into = [&](const std::string& d) {
      return mma + d + ", " + a + ", " + b + ", " + c + ";\n";
    };
    const std::string pause(between);
    const std::string body =
        "mov.u32 %r1, %tid.x; mul.lo.u32 %r10, %r1, 0x01030507; xor.b32 %r11, %r10, 0x5a5a5a5a; "
        "add.u32 %r12, %r10, 77; not.b32 %r13, %r10;\n"
        "mul.lo.u32 %r14, %r1, 0x0b0d1113; not.b32 %r15, %r14; mov.u32 %r16, 1; mov.u32 %r17, 2; "
        "mov.u32 %r18, 3; mov.u32 %r19, 4;\n"
        "mov.u32 %r2, 0; setp.ne.u32 %p1, %r2, 0;\n" +
        into("{%r20, %r21, %r22, %r23}") + pause + into("{%r24, %r25, %r26, %r27}") + pause +
        into("{%r10, %r11, %r12, %r13}") + pause +  // A itself
        into(c) + pause + "AGAIN: @%p1 " +
        into("{%r28, %r29, %r30, %r31}") +  // not the first time; then with another A
        "add.u32 %r10, %r10, 0x01010101; add.u32 %r2, %r2, 1; setp.eq.u32 %p1, %r2, 1; @%p1 bra "
        "AGAIN;\n"
        "mul.wide.u32 %d1, %r1, 64; add.s64 %d1, %out, %d1;\n"
        "st.global.v4.u32 [%d1], {%r20, %r21, %r22, %r23}; st.global.v4.u32 [%d1+16], {%r24, %r25, "
        "%r26, %r27};\n"
        "st.global.v4.u32 [%d1+32], {%r16, %r17, %r18, %r19}; st.global.v4.u32 [%d1+48], {%r28, "
        "%r29, %r30, %r31};";
    const KernelRun run = run_kernel(kernel_text(body), {}, 32 * 64);
    EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
    return run.values<u32>();
  };
  EXPECT_EQ(results(""), results("mov.u32 %r3, 0;\n"));
}

constexpr std::string_view kMma =
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f2, %f3, %f4, %f5}, {%r4, %r5, %r4, "
    "%r5}, {%r4, %r5}, {%f1, %f1, %f1, %f1};";

TEST(Matrix, LanesThatAreOnlyLateAreWaitedFor) {
  // Some lanes do something that the compiler placed behind the code they join.
  constexpr const char* kBody = R"(
    .shared .align 16 .b8 tile[512];
    mov.u32 %r0, %laneid; mov.u32 %r2, tile; mad.lo.u32 %r2, %r0, 16, %r2; st.shared.v4.u32 [%r2], {{%r0, %r0, %r2, %r0}};
    mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.b32 %r8, 0; add.u32 %r4, %r0, 0x3f803f80; bar.warp.sync -1;
    setp.ge.u32 %p1, %r0, {}; @%p1 bra ASIDE;
    mov.b32 %r5, 0x40003f80;
    JOIN: {}
    bar.warp.sync -1; ld.shared.u32 %r9, [%r2]; add.u32 %r8, %r8, %r9; mul.wide.u32 %d0, %r0, 16; add.s64 %d1, %out, %d0;
    st.global.v4.b32 [%d1], {{%r8, %r5, %f2, %f3}}; ret;
    ASIDE: mov.b32 %r5, 0x40003f80; bra JOIN;)";
  for (const char* code :
       {kMma.data(), "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r2];",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r8, %r10, %r11, %r12}, [%r2];",
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r4, %r5};",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r8, %r4;", "barrier.cluster.arrive.aligned;"}) {
    const auto results = [&](int lanes) {
      const KernelRun run = run_kernel(kernel_text(fmt::format(kBody, lanes, code)), {}, 512);
      EXPECT_TRUE(run.outcome.findings.empty()) << code << findings_text(run.outcome);
      return run.values<u32>();
    };
    EXPECT_EQ(results(20), results(32)) << code;
  }
}

TEST(Matrix, LanesThatCannotComeAreAFinding) {
  // They wait where the others come only later; or do not take part; or are done.
  for (const char* body : {"@%p1 bra END; {}\nEND: bar.sync 0;", "@!%p1 {}\n bar.sync 0;",
                           "@%p1 bra END; {}\nEND: ret;"}) {
    const std::string code = fmt::format(fmt::runtime(body), kMma);
    const KernelRun run =
        run_kernel(kernel_text("mov.u32 %r0, %laneid; setp.lt.u32 %p1, %r0, 3; mov.u32 %r4, 0; "
                               "mov.u32 %r5, 0; mov.f32 %f1, 0f00000000;\n" +
                               code),
                   {}, 4);
    ASSERT_EQ(run.outcome.findings.size(), 1u) << code << findings_text(run.outcome);
    EXPECT_EQ(run.outcome.findings[0].kind, FindingKind::divergent_barrier);
    EXPECT_EQ(run.outcome.findings[0].ptx_line, 11);
    EXPECT_NE(run.outcome.findings[0].message.find("only lanes 0xfffffff8 of 0xffffffff"),
              std::string::npos);
    EXPECT_TRUE(run.outcome.completed);
  }
}

TEST(Mma, PartOfAWarpIsAFinding) {
  const KernelRun run =
      run_kernel(kernel_text("mov.u32 %r0, %laneid; setp.eq.u32 %p1, %r0, 3; @%p1 bra END; mov.u32 "
                             "%r1, 0; mov.f32 %f1, 0f00000000;\n"
                             "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f2, %f3, %f4, "
                             "%f5}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f1, %f1, %f1, %f1};\n"
                             "END: mov.u32 %r1, 0;"),
                 {}, 4);
  ASSERT_EQ(run.outcome.findings.size(), 1u) << findings_text(run.outcome);
  EXPECT_EQ(run.outcome.findings[0].kind, FindingKind::divergent_barrier);
  EXPECT_EQ(run.outcome.findings[0].lane, 3);
  EXPECT_EQ(run.outcome.findings[0].ptx_line, 11);
}

}  // namespace
}  // namespace plumbline::emulator
