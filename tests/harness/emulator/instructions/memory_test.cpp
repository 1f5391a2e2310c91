// SPDX-License-Identifier: MIT
// Loads and stores: widths, vectors, sign extension, every space, generic addresses, module
// variables, atomics.
#include <cmath>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::string_view kThread =
    "mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 8; add.s64 %d1, %out, %d0; mul.wide.u32 %d2, %r0, "
    "16; add.s64 %d3, %in, %d2;\n";

// Runs a body for one warp; %d1 is the thread's 8-byte result, %d3 its 16 bytes of input.
std::vector<u64> run(std::string_view body, const std::vector<u64>& in, std::string_view scope = "",
                     std::int64_t dynamic = 0) {
  KernelOptions options;
  options.dynamic_shared_bytes = dynamic;
  const KernelRun run = run_kernel(kernel_text(std::string(kThread) + std::string(body), 90, scope),
                                   bytes_of(in), 256, options);
  EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
  return run.values<u64>();
}

std::vector<u64> pattern() {
  std::vector<u64> in(64);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = 0x8182838485868788u + i * 0x0101010101010101u;
  return in;
}

TEST(Memory, LoadsExtendToTheRegister) {
  const std::vector<u64> in = pattern();

  struct Row {
    const char* code;
    u64 want;  // of thread 1: its 16 bytes begin with in[2]
  };

  const u64 x = in[2];
  const Row kRows[] = {
      {"ld.global.u8 %r1, [%d3+1]; cvt.u64.u32 %d5, %r1;", x >> 8 & 0xff},
      {"ld.global.s8 %r1, [%d3+1]; cvt.s64.s32 %d5, %r1;", x >> 8 | 0xffffffffffffff00},
      {"ld.global.s8 %d5, [%d3+1];", x >> 8 | 0xffffffffffffff00},
      {"ld.global.u16 %h1, [%d3+2]; cvt.u64.u16 %d5, %h1;", x >> 16 & 0xffff},
      {"ld.global.s16 %r1, [%d3+2]; cvt.s64.s32 %d5, %r1;",
       (x >> 16 & 0xffff) | 0xffffffffffff0000},
      {"ld.global.u32 %d5, [%d3+4];", x >> 32},
      {"ld.global.s32 %d5, [%d3+4];", x >> 32 | 0xffffffff00000000},
      {"ld.global.nc.L1::no_allocate.L2::128B.b64 %d5, [%d3];", x},
      {"ld.volatile.global.b64 %d5, [%d3];", x},
      {"ld.acquire.gpu.global.b64 %d5, [%d3];", x},
      {"ld.b64 %d5, [%d3];", x},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(run(std::string(row.code) + " st.global.b64 [%d1], %d5;", in)[1], row.want)
        << row.code;
  }
}

TEST(Memory, StoresOfWideRegistersKeepTheLowBits) {
  const std::vector<u64> in = pattern();
  const u64 x = in[2], y = in[3];

  struct Row {
    const char* code;  // on zeros
    u64 want;
  };

  const Row kRows[] = {
      {"st.global.u8 [%d1+1], %d5;", (x & 0xff) << 8},
      {"st.global.u16 [%d1+2], %d5;", (x & 0xffff) << 16},
      {"st.global.u32 [%d1+4], %d5;", x << 32},
      {"st.u32 [%d1], %d5;", x & 0xffffffff},
      {"st.global.v2.b32 [%d1], {%d5, %d6};", (x & 0xffffffff) | y << 32},
      {"st.global.v4.b16 [%d1], {%d5, %d6, %d6, %d5};",
       (x & 0xffff) | (y & 0xffff) << 16 | (y & 0xffff) << 32 | x << 48},
      // As sinf() has it, for arguments that are large.
      {".local .align 4 .b8 stack[28]; mov.u64 %d7, stack; st.local.u32 [%d7+24], %d5; "
       "ld.local.u32 %r1, [%d7+24]; st.global.u32 [%d1], %r1;",
       x & 0xffffffff},
      {"setp.ne.u32 %p1, %r0, 1; st.global.b32 [%d1+4], %r0; @!%p1 st.global.b32 [%d1], %d5;",
       (x & 0xffffffff) | u64{1} << 32},
  };
  for (const Row& row : kRows) {
    const std::string body =
        std::string("ld.global.v2.b64 {%d5, %d6}, [%d3]; st.global.b64 [%d1], 0;\n") + row.code;
    EXPECT_EQ(run(body, in)[1], row.want) << row.code;
  }
}

TEST(Memory, AddressesOf32BitsWrapAround) {
  // %r1 lies 2560 below the cell, and so below 0.
  constexpr std::string_view kStart =
      ".shared .align 16 .b8 tile[512]; shl.b32 %r1, %r0, 3; mov.u32 %r2, tile; add.u32 %r1, %r1, "
      "%r2; sub.u32 %r1, %r1, 2560;\n";
  const char* const kCodes[] = {
      "st.shared.b64 [%r1+2560], %d0; ld.shared.b64 %d5, [%r1+2560];",
      "st.shared.b64 [%r1+2560], %d0; and.b32 %r3, %r0, 1; setp.eq.u32 %p1, %r3, 1; mov.b64 %d5, "
      "0; @%p1 ld.shared.b64 %d5, [%r1+2560];",
      "st.shared.b64 [%r1+2560], 0; atom.shared.add.u64 %d5, [%r1+2560], %d0; ld.shared.b64 %d5, "
      "[%r1+2560];",
      "add.u32 %r3, %r1, 2560; cp.async.ca.shared.global [%r1+2560], [%d3], 8; cp.async.wait_all; "
      "ld.shared.b64 %d5, [%r3]; ld.global.b64 %d6, [%d3];"
      " sub.s64 %d5, %d5, %d6; add.s64 %d5, %d5, %d0;",
      "@!%p0 bra SKIP; mbarrier.init.shared.b64 [%r1+2560], 1; mbarrier.arrive.shared.b64 %d6, "
      "[%r1+2560]; SKIP: mov.b64 %d5, %d0;",
  };
  for (const char* code : kCodes) {
    const std::string body =
        std::string(kStart) + "setp.eq.u32 %p0, %r0, 0;" + code + " st.global.b64 [%d1], %d5;";
    EXPECT_EQ(run(body, pattern())[1], 8u) << code;
  }
}

TEST(Memory, CachePoliciesChangeNothing) {
  const std::vector<u64> in = pattern();
  const char* const kCodes[] = {
      "ld.global.L1::evict_first.L2::cache_hint.v4.b32 {%r1, %r2, %r3, %r4}, [%d3], %d9; mov.b64 "
      "%d5, {%r1, %r2}; st.global.b64 [%d1], %d5;",
      "ld.global.b64 %d5, [%d3]; st.global.L1::evict_last.L2::cache_hint.b64 [%d1], %d5, %d9;",
      "ld.global.b64 %d5, [%d3]; st.global.b64 [%d1], 0; atom.global.add.L2::cache_hint.u64 %d6, "
      "[%d1], %d5, %d9;",
      "ld.global.b64 %d5, [%d3]; st.global.b64 [%d1], 0; red.global.add.L2::cache_hint.u64 [%d1], "
      "%d5, %d9;",
      "ld.global.b64 %d5, [%d3]; st.global.b64 [%d1], 7; atom.global.cas.L2::cache_hint.b64 %d6, "
      "[%d1], 7, %d5, %d9;",
  };
  for (const char* code : kCodes) {
    EXPECT_EQ(
        run(std::string("createpolicy.fractional.L2::evict_first.b64 %d9, 1.0;\n") + code, in)[1],
        in[2])
        << code;
  }
}

TEST(Memory, VectorsKeepTheirElements) {
  const std::vector<u64> in = pattern();
  // Read a vector, write it back reversed, through shared memory.
  constexpr std::string_view kScope = ".shared .align 16 .b8 buffer[1024];";
  constexpr std::string_view kAddress = "mov.u32 %r9, buffer; mad.lo.u32 %r9, %r0, 16, %r9;\n";

  struct Row {
    const char *load, *store, *back;
    u64 want;
  };

  const u64 a = in[2], b = in[3];
  const Row kRows[] = {
      {"ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d3];",
       "st.shared.v4.u32 [%r9], {%r4, %r3, %r2, %r1};", "ld.shared.b64 %d5, [%r9];",
       b >> 32 | b << 32},
      {"ld.global.v2.u64 {%d6, %d7}, [%d3];", "st.shared.v2.u64 [%r9], {%d7, %d6};",
       "ld.shared.b64 %d5, [%r9+8];", a},
      {"ld.global.v2.u16 {%h1, %h2}, [%d3]; mov.u32 %r1, 0;",
       "st.shared.b64 [%r9], %d3; st.shared.v2.b16 [%r9], {%h2, %h1}; st.shared.b32 [%r9+4], %r1;",
       "ld.shared.b64 %d5, [%r9];", (a >> 16 & 0xffff) | (a & 0xffff) << 16},
      {"ld.global.v4.u8 {%r1, %r2, %r3, %r4}, [%d3]; mov.u32 %r5, 0;",
       "st.shared.v4.u8 [%r9], {%r4, %r3, %r2, %r1}; st.shared.u32 [%r9+4], %r5;",
       "ld.shared.b64 %d5, [%r9];", __builtin_bswap32(static_cast<u32>(a))},
      {"ld.global.v4.u16 {%h1, %h2, %h3, %h4}, [%d3];",
       "st.shared.v4.u16 [%r9], {%h4, %h3, %h2, %h1};", "ld.shared.b64 %d5, [%r9];",
       (a >> 48) | (a >> 32 & 0xffff) << 16 | (a >> 16 & 0xffff) << 32 | a << 48},
  };
  for (const Row& row : kRows) {
    const std::string body =
        std::string(kAddress) + row.load + row.store + row.back + " st.global.b64 [%d1], %d5;";
    EXPECT_EQ(run(body, in, kScope)[1], row.want) << row.load;
  }
}

TEST(Memory, GenericAddressesFindTheirSpace) {
  const std::vector<u64> in = pattern();
  // Even lanes use shared memory, odd lanes local memory, through one generic pointer.
  const std::vector<u64> out = run(R"(
    .shared .align 8 .b8 tile[256];
    .local .align 8 .b8 stack[16];
    mov.u64 %d5, tile; cvta.shared.u64 %d5, %d5; add.s64 %d5, %d5, %d0;
    mov.u64 %d6, stack; cvta.local.u64 %d6, %d6;
    and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; selp.b64 %d7, %d5, %d6, %p1;
    ld.b64 %d8, [%d3];
    st.b64 [%d7], %d8;
    ld.b64 %d9, [%d7];
    isspacep.shared %p2, %d7; @%p2 add.s64 %d9, %d9, 1;
    cvta.to.shared.u64 %d10, %d5; cvt.u32.u64 %r2, %d10; @%p1 ld.shared.b64 %d11, [%r2];
    @%p1 add.s64 %d9, %d9, %d11; @%p1 sub.s64 %d9, %d9, %d8;
    st.global.b64 [%d1], %d9;)",
                                   in);
  for (std::size_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], in[2 * lane] + (lane % 2 == 0 ? 1 : 0)) << lane;
}

TEST(Memory, ModuleVariablesParametersAndLocals) {
  const std::vector<u64> in = pattern();
  constexpr std::string_view kScope =
      ".const .align 4 .b32 table[4] = {10, 20, 30, 40};\n.global .align 8 .u64 counter = "
      "7;\n.global .align 4 .b8 zeroed[64];";
  const std::vector<u64> out = run(R"(
    and.b32 %r1, %r0, 3; mul.wide.u32 %d5, %r1, 4; mov.u64 %d6, table; add.s64 %d5, %d6, %d5;
    ld.const.u32 %r2, [%d5]; ld.const.u32 %r3, [table+8];
    ld.global.u64 %d7, [counter]; mov.u64 %d8, zeroed; ld.global.u32 %r4, [%d8+60];
    mov.b64 %d9, p_out; cvta.param.u64 %d9, %d9; ld.u64 %d10, [%d9]; sub.s64 %d10, %d10, %out;
    add.u32 %r2, %r2, %r3; cvt.u64.u32 %d11, %r2; add.s64 %d11, %d11, %d7; cvt.u64.u32 %d12, %r4; add.s64 %d11, %d11, %d12;
    add.s64 %d11, %d11, %d10; st.global.u64 [%d1], %d11;)",
                                   in, kScope);
  for (u64 lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], (lane % 4 + 1) * 10 + 30 + 7);
}

TEST(Memory, DynamicSharedMemoryFollowsTheStaticPart) {
  const std::vector<u64> out = run(R"(
    .shared .align 4 .b8 fixed[20];
    mov.u32 %r1, fixed; mov.u32 %r2, dynamic; sub.u32 %r3, %r2, %r1; and.b32 %r4, %r2, 127; shl.b32 %r4, %r4, 16; or.b32 %r3, %r3, %r4;
    st.shared.u32 [dynamic], %r3; bar.warp.sync -1; ld.shared.u32 %d5, [%r2];
    cvt.u64.u32 %d6, %r3; st.global.u64 [%d1], %d6;)",
                                   pattern(), ".extern .shared .align 128 .b8 dynamic[];", 4);
  EXPECT_EQ(out[0], 128u);
}

TEST(Memory, DynamicSharedMemoryIsAlignedAsDeclaredAndNoFurther) {
  // As on a chip: 36 static bytes, and what follows is for the kernel to align if it needs more
  // than 16.
  for (const auto& [alignment, offset] : {std::pair{1, 48}, {16, 48}, {32, 64}, {1024, 1024}}) {
    const std::vector<u64> out =
        run(R"(
    .shared .align 4 .b8 fixed[36];
    mov.u32 %r1, fixed; mov.u32 %r2, dynamic; sub.u32 %r3, %r2, %r1; cvt.u64.u32 %d6, %r3; st.global.u64 [%d1], %d6;)",
            pattern(), fmt::format(".extern .shared .align {} .b8 dynamic[];", alignment), 16);
    EXPECT_EQ(out[0], static_cast<u64>(offset));
  }
}

TEST(Atomic, EveryOperationReturnsTheOldValueAndStoresTheNew) {
  struct Row {
    const char* code;  // on %d4 with operand %d5 / %r5
    u64 start, operand, want;
  };

  const Row kRows[] = {
      {"atom.global.add.u32 %r6, [%d4], %r5;", 0xffffffff, 2, 1},
      {"atom.global.add.u64 %d6, [%d4], %d5;", 5, 7, 12},
      {"atom.add.s32 %r6, [%d4], %r5;", 5, 0xffffffff, 4},
      {"atom.global.min.s32 %r6, [%d4], %r5;", 1, 0xffffffff, 0xffffffff},
      {"atom.global.min.u32 %r6, [%d4], %r5;", 1, 0xffffffff, 1},
      {"atom.global.max.s64 %d6, [%d4], %d5;", 1, ~u64{0}, 1},
      {"atom.global.max.u64 %d6, [%d4], %d5;", 1, ~u64{0}, ~u64{0}},
      {"atom.global.inc.u32 %r6, [%d4], %r5;", 5, 5, 0},
      {"atom.global.inc.u32 %r6, [%d4], %r5;", 4, 5, 5},
      {"atom.global.dec.u32 %r6, [%d4], %r5;", 0, 5, 5},
      {"atom.global.dec.u32 %r6, [%d4], %r5;", 3, 5, 2},
      {"atom.global.and.b32 %r6, [%d4], %r5;", 0xf0f0, 0xff00, 0xf000},
      {"atom.global.or.b32 %r6, [%d4], %r5;", 0xf0f0, 0xff00, 0xfff0},
      {"atom.global.xor.b32 %r6, [%d4], %r5;", 0xf0f0, 0xff00, 0x0ff0},
      {"atom.global.exch.b32 %r6, [%d4], %r5;", 1, 9, 9},
      {"atom.acq_rel.gpu.global.cas.b32 %r6, [%d4], 3, %r5;", 3, 9, 9},
      {"atom.global.cas.b32 %r6, [%d4], 3, %r5;", 4, 9, 4},
      {"atom.global.add.f32 %r6, [%d4], %r5;", 0x3f800000, 0x40000000, 0x40400000},
      {"atom.global.add.f32 %r6, [%d4], %r5;", 0x00000001, 0x00000001, 0},  // global flushes
      {"atom.global.add.f32 %r6, [%d4], %r5;", 0x00800001, 0x80800000, 0},  // and its results
      {"atom.global.add.f64 %d6, [%d4], %d5;", 0x3ff0000000000000, 0x3ff0000000000000,
       0x4000000000000000},
      {"atom.global.add.f64 %d6, [%d4], %d5;", 0x3ff0000000000000, 0x7ff4000000000005,
       0x7ffc000000000005},
      {"atom.global.add.noftz.f16x2 %r6, [%d4], %r5;", 0x3c003c00, 0x3c004000, 0x40004200},
      {"red.relaxed.gpu.global.add.s32 [%d4], %r5; mov.b32 %r6, 0;", 40, 2, 42},
  };
  for (const Row& row : kRows) {
    const std::string body = fmt::format(
        "mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 ret; mov.u64 %d6, 0; mov.u32 %r6, 0;\n"
        "ld.global.u64 %d5, [%in+8]; ld.global.u32 %r5, [%in+8]; ld.global.u64 %d7, [%in]; "
        "st.global.u64 [%out], %d7;\n"
        "mov.u64 %d4, %out; {} cvt.u64.u32 %d8, %r6; or.b64 %d8, %d8, %d6; st.global.u64 [%out+8], "
        "%d8;",
        row.code);
    const KernelRun one =
        run_kernel(kernel_text(body), bytes_of<u64>({row.start, row.operand}), 16);
    EXPECT_TRUE(one.outcome.findings.empty()) << findings_text(one.outcome);
    const bool wide = std::string_view(row.code).find("64") != std::string_view::npos;
    EXPECT_EQ(one.values<u64>()[0] & (wide ? ~u64{0} : 0xffffffff), row.want) << row.code;
    if (std::string_view(row.code).starts_with("atom")) {
      EXPECT_EQ(one.values<u64>()[1], row.start) << row.code;
    }
  }
}

TEST(Atomic, LanesAndCtasAddUpForEveryNumberOfThreads) {
  for (const int threads : {1, 3}) {
    KernelOptions options;
    options.emulator.threads = threads;
    options.grid = {5, 1, 1};
    options.block = {96, 1, 1};
    options.out_is_written = true;
    const KernelRun run = run_kernel(
        kernel_text("mov.u32 %r1, 1; red.global.add.u32 [%out], %r1; mov.f32 %f1, 0f3DCCCCCD;"
                    " atom.global.add.f32 %f2, [%out+4], %f1;"),
        std::vector<std::byte>(16), 8, options);
    EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
    EXPECT_EQ(run.values<u32>()[0], 480u);
    float sum = 0;
    for (int i = 0; i < 480; ++i) sum += 0.1f;
    EXPECT_EQ(run.values<u32>()[1], std::bit_cast<u32>(sum));
  }
}

TEST(Atomic, VectorsAddElementByElement) {
  // All lanes add to the 16 bytes at %out; the old values of the last lane come behind them.
  struct Row {
    const char* code;
    std::vector<u32> start, want;
  };

  const Row kRows[] = {
      {"red.global.add.v2.f32 [%out], {%f1, %f2};",
       {0x3f800000, 0, 7, 7},
       {0x42040000, 0x42800000, 7, 7}},
      {"red.relaxed.gpu.global.v4.f32.add [%out], {%f1, %f2, %f1, %f2};",
       {0, 0, 0, 1},
       {0x42000000, 0x42800000, 0x42000000, 0x42800000}},
      {"atom.global.v2.f32.add {%f3, %f4}, [%out], {%f1, %f2}; setp.eq.u32 %p2, %r0, 31; @%p2 "
       "st.global.v2.f32 [%d1], {%f3, %f4};",
       {0, 0, 7, 7},
       {0x42000000, 0x42800000, 7, 7, 0x41f80000, 0x42780000}},
      {"atom.global.v2.f32.add {%f2, %f4}, [%out], {%f1, %f2};",  // a result that is an operand
       {0, 0, 7, 7},
       {0x42000000, 0x42800000, 7, 7}},
      {"red.global.add.noftz.v4.f16x2 [%out], {%r3, %r3, %r4, %r3};",
       {0, 0, 0, 0x3c003c00},
       {0x54005000, 0x54005000, 0x50005400, 0x54105020}},
      {"red.global.add.noftz.v2.bf16 [%out], {%h1, %h1};", {0, 7, 7, 7}, {0x42004200, 7, 7, 7}},
  };
  for (const Row& row : kRows) {
    const std::string body =
        "mov.u32 %r0, %tid.x; add.s64 %d1, %out, 16; mov.f32 %f1, 0f3F800000; mov.f32 %f2, "
        "0f40000000; mov.b32 %r3, 0x40003c00; mov.b32 %r4, 0x3c004000; mov.b16 %h1, 0x3f80;"
        "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%in]; setp.eq.u32 %p1, %r0, 0; @%p1 "
        "st.global.v4.u32 [%out], {%r5, %r6, %r7, %r8};\n" +
        std::string(row.code);
    const KernelRun run = run_kernel(kernel_text(body), bytes_of(row.start), 24);
    EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
    std::vector<u32> out = run.values<u32>();
    if (row.want.size() == 4) out.resize(4);
    EXPECT_EQ(out, row.want) << row.code;
  }
}

TEST(Atomic, SharedAdditionKeepsSubnormals) {
  const std::vector<u64> out = run(R"(
    .shared .align 4 .b32 cell;
    mov.b32 %r1, 0; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [cell], %r1; bar.sync 0;
    mov.b32 %f1, 0f00000001; atom.shared.add.f32 %f2, [cell], %f1; bar.sync 0;
    ld.shared.u32 %r2, [cell]; cvt.u64.u32 %d5, %r2; st.global.u64 [%d1], %d5;)",
                                   pattern());
  EXPECT_EQ(out[0], 32u);
}

TEST(Atomic, AdditionThroughAGenericPointerFlushesInGlobalMemoryOnly) {
  // Odd lanes add to a cell of shared memory, even lanes to one of global memory, in one
  // instruction.
  constexpr const char* kBody = R"(
    .shared .align 4 .b32 cell;
    mov.u32 %r0, %tid.x; mov.b32 %r1, 0; st.shared.u32 [cell], %r1; st.global.u32 [%out], %r1; mov.u64 %d1, cell; cvta.shared.u64 %d1, %d1;
    and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; selp.b64 %d2, %out, %d1, %p1;
    mov.b32 %f1, 0f00000001; {} bar.sync 0; ld.shared.u32 %r3, [cell]; st.global.u32 [%out+4], %r3;)";
  for (const char* code : {"atom.add.f32 %f2, [%d2], %f1;", "red.add.f32 [%d2], %f1;"}) {
    for (const RandomRounding rounding : {RandomRounding::off, RandomRounding::on}) {
      KernelOptions options;
      options.emulator.random_rounding = rounding;
      const KernelRun run = run_kernel(kernel_text(fmt::format(kBody, code)), {}, 8, options);
      EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
      EXPECT_EQ(run.values<u32>(), (std::vector<u32>{0, 16})) << code;
    }
  }
}

TEST(Memory, Registers128BitsWideAreTwoHalves) {
  const std::vector<u64> in = pattern();
  // Loaded, taken apart, put together the other way round, stored and loaded again.
  const std::vector<u64> out =
      run(".reg .b128 %q<4>; .shared .align 16 .b8 buffer[512]; mov.u32 %r9, buffer; mad.lo.u32 "
          "%r9, %r0, 16, %r9;"
          " ld.global.b128 %q1, [%d3]; mov.b128 %q2, %q1; mov.b128 {%d4, %d5}, %q2; mov.b128 %q3, "
          "{%d5, %d4};"
          " st.shared.b128 [%r9], %q3; ld.shared.v2.u64 {%d6, %d7}, [%r9]; xor.b64 %d7, %d7, 1; "
          "add.s64 %d6, %d6, %d7;"
          " st.global.u64 [%d1], %d6;",
          in);
  for (std::size_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], in[2 * lane + 1] + (in[2 * lane] ^ 1));
}

TEST(Memory, ThirtyTwoBytesAtOnceInGlobalMemory) {
  std::vector<u32> in(256);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<u32>(i * 2654435761u);
  KernelOptions options;
  options.emulator.sm = 100;
  const auto run = [&](const std::string& body, int sm = 100) {
    return run_kernel(
        kernel_text("mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 32; add.s64 %d1, %in, %d0;"
                    " add.s64 %d2, %out, %d0;" +
                        body,
                    sm),
        bytes_of(in), 1024, options);
  };
  const KernelRun eight =
      run("ld.global.nc.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1];"
          " st.global.v8.b32 [%d2], {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1};");
  ASSERT_TRUE(eight.outcome.findings.empty()) << findings_text(eight.outcome);
  const std::vector<u32> reversed = eight.values<u32>();
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(reversed[i], in[i / 8 * 8 + 7 - i % 8]);
  const KernelRun four =
      run("ld.v4.b64 {%d4, %d5, %d6, %d7}, [%d1]; st.global.v4.b64 [%d2], {%d4, %d5, %d7, %d6};");
  ASSERT_TRUE(four.outcome.findings.empty()) << findings_text(four.outcome);
  const std::vector<u32> swapped = four.values<u32>();
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t word = i % 8;
    EXPECT_EQ(swapped[i], in[i / 8 * 8 + (word < 4 ? word : word < 6 ? word + 2 : word - 2)]);
  }
  const KernelRun late = run(
      "add.s64 %d1, %d1, 16; ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1];");
  ASSERT_FALSE(late.outcome.findings.empty());
  EXPECT_EQ(late.outcome.findings[0].kind, FindingKind::misaligned);
  const auto refused =
      make_emulator({.sm = 100})
          ->load(
              kernel_text("ld.shared.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%r9];", 100),
              "k.ptx");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("in global memory"), std::string::npos);
}

}  // namespace
}  // namespace plumbline::emulator
