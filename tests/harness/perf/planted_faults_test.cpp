// SPDX-License-Identifier: MIT
// Small kernels with a planted fault of performance, and the same ones without it. If one of these
// fails, `plumbline perf` is silent about a fault of that kind, names another line, or has advice
// for code that has none.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "harness/perf/advice.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline {
namespace {

using emulator::kernel_text;
using emulator::KernelOptions;
using emulator::KernelRun;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kBytes = 256 * 1024;

PerfEntry run(std::string_view body, KernelOptions options = {}) {
  options.count_traffic = true;
  options.out_is_written = true;
  const std::vector<std::uint8_t> in(kBytes);
  KernelRun run = emulator::run_kernel(kernel_text(body), emulator::bytes_of(in), kBytes, options);
  EXPECT_TRUE(run.outcome.completed) << emulator::findings_text(run.outcome);
  PerfEntry entry{.kernel = "k", .sm = 90, .problem = "", .useful_macs = {}, .launches = {}};
  entry.launches.push_back(perf_launch({.grid = options.grid,
                                        .block = options.block,
                                        .dynamic_shared_bytes = options.dynamic_shared_bytes,
                                        .traffic = std::move(run.outcome.traffic)}));
  return entry;
}

std::vector<std::string> words_of(const PerfEntry& entry, std::string_view rule = {}) {
  std::vector<std::string> words;
  for (const Advice& one : advice(entry)) {
    if (rule.empty() || one.rule == rule) words.push_back(std::string(one.rule) + ": " + one.words);
  }
  return words;
}

// One piece of advice, of this rule, that names this instruction and line of the body (from 1).
void expect_advice(const PerfEntry& entry, std::string_view rule, std::string_view instruction,
                   int line) {
  const std::vector<std::string> all = words_of(entry);
  ASSERT_EQ(all.size(), 1u) << ::testing::PrintToString(all);
  EXPECT_THAT(all[0], HasSubstr(fmt::format("{}: {}", rule, instruction)));
  EXPECT_THAT(all[0], HasSubstr(fmt::format(" at test.ptx:{}", 9 + line)));
}

// Lane l at `base` + l * stride, in line 1.
std::string lanes_at(std::string_view base, int stride) {
  return fmt::format("mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, {}; add.s64 %d0, {}, %d0;\n",
                     stride, base);
}

TEST(PlantedPerformanceFault, Stride) {
  const std::string load = "ld.global.u32 %r2, [%d0];";
  expect_advice(run(lanes_at("%in", 128) + load), "uncoalesced", "ld.global.u32", 2);
  EXPECT_THAT(words_of(run(lanes_at("%in", 4) + load)), IsEmpty());
}

TEST(PlantedPerformanceFault, StrideOfWideLoads) {
  const std::string load = "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d0];";
  expect_advice(run(lanes_at("%in", 64) + load), "uncoalesced", "ld.global.v4.u32", 2);
  EXPECT_THAT(words_of(run(lanes_at("%in", 16) + load)), IsEmpty());
}

TEST(PlantedPerformanceFault, UncoalescedEpilogue) {
  const std::string store = "st.global.v2.u32 [%d0], {%r0, %r0};";
  expect_advice(run(lanes_at("%out", 512) + store), "uncoalesced", "st.global.v2.u32", 2);
  EXPECT_THAT(words_of(run(lanes_at("%out", 8) + store)), IsEmpty());
}

TEST(PlantedPerformanceFault, MissingSwizzle) {
  const std::string tile =
      ".shared .align 128 .b8 tile[4096]; mov.u32 %r0, %tid.x; mov.u32 %r1, tile; "
      "mad.lo.u32 %r1, %r0, 128, %r1; and.b32 %r2, %r0, 7; shl.b32 %r2, %r2, 4;\n";
  const std::string swizzle = "xor.b32 %r1, %r1, %r2;\n";
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r1];";
  const PerfEntry faulty = run(tile + "\n" + load);
  expect_advice(faulty, "bank conflicts", "ldmatrix", 3);
  EXPECT_THAT(words_of(faulty)[0], HasSubstr("8.0-way"));
  EXPECT_THAT(words_of(run(tile + swizzle + load)), IsEmpty());
}

TEST(PlantedPerformanceFault, LostPadding) {
  const auto column = [](int row) {
    return fmt::format(
        ".shared .align 128 .b8 tile[8192]; mov.u32 %r0, %tid.x; mov.u32 %r1, tile; "
        "mad.lo.u32 %r1, %r0, {}, %r1;\nst.shared.u32 [%r1], %r0;",
        row);
  };
  expect_advice(run(column(128)), "bank conflicts", "st.shared.u32", 2);
  EXPECT_THAT(words_of(run(column(132))), IsEmpty());
}

TEST(PlantedPerformanceFault, LostVectorization) {
  // Both halves of an 8-byte load.
  expect_advice(run(lanes_at("%in", 8) + "ld.global.u32 %r2, [%d0];\nld.global.b32 %r3, [%d0+4];"),
                "narrow", "ld.global.b32", 3);
  EXPECT_THAT(words_of(run(lanes_at("%in", 8) + "ld.global.v2.u32 {%r2, %r3}, [%d0];")), IsEmpty());
}

TEST(PlantedPerformanceFault, NarrowLoads) {
  expect_advice(run(lanes_at("%in", 2) + "ld.global.u16 %h0, [%d0];"), "narrow", "ld.global.u16",
                2);
  EXPECT_THAT(words_of(run(lanes_at("%in", 16) + "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d0];")),
              IsEmpty());
}

TEST(PlantedPerformanceFault, RepeatedLoads) {
  const auto loop = [](std::string_view advance) {
    return lanes_at("%in", 4) + "mov.u32 %r9, 0;\nagain: ld.global.u32 %r2, [%d0];\n" +
           std::string(advance) + " add.u32 %r9, %r9, 1; setp.lt.u32 %p0, %r9, 8;\n@%p0 bra again;";
  };
  expect_advice(run(loop("")), "repeated loads", "ld.global.u32", 3);
  EXPECT_THAT(words_of(run(loop("add.s64 %d0, %d0, 128;"))), IsEmpty());
}

TEST(PlantedPerformanceFault, DoubleBarrier) {
  KernelOptions options;
  options.block = {64, 1, 1};
  const auto exchange = [](std::string_view between) {
    return ".shared .align 128 .b8 tile[256]; mov.u32 %r0, %tid.x; mov.u32 %r1, tile; "
           "mad.lo.u32 %r1, %r0, 4, %r1;\nst.shared.u32 [%r1], %r0;\nbar.sync 0;\n" +
           std::string(between) + "\nbarrier.sync 0;\nld.shared.u32 %r2, [%r1];";
  };
  expect_advice(run(exchange(""), options), "idle barrier", "barrier.sync", 5);
  EXPECT_THAT(words_of(run(exchange("ld.shared.u32 %r3, [%r1];"), options)), IsEmpty());
}

// A loop of eight tiles, each copied, waited for and multiplied. `ahead`: the copies of the next
// tile are issued before this one is waited for.
std::string pipeline(bool ahead) {
  const std::string copy =
      "cp.async.cg.shared.global [%r1], [%d0], 16; cp.async.commit_group; add.s64 %d0, %d0, 512; "
      "xor.b32 %r1, %r1, 512;\n";
  return ".shared .align 1024 .b8 tile[1024]; mov.u32 %r0, %tid.x; mov.u32 %r1, tile; "
         "mad.lo.u32 %r1, %r0, 16, %r1; mul.wide.u32 %d0, %r0, 16; add.s64 %d0, %in, %d0; "
         "mov.u32 %r9, 0;\n" +
         (ahead ? copy : "\n") + "again:\n" + copy +
         (ahead ? "cp.async.wait_group 1;\n" : "cp.async.wait_group 0;\n") +
         "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, "
         "{%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f0, %f1, %f2, %f3};\n"
         "add.u32 %r9, %r9, 1; setp.lt.u32 %p0, %r9, 8;\n@%p0 bra again;\ncp.async.wait_all;";
}

TEST(PlantedPerformanceFault, SerializedPipeline) {
  expect_advice(run(pipeline(false)), "serialized copies", "cp.async.wait_group", 5);
  EXPECT_THAT(words_of(run(pipeline(true))), IsEmpty());
}

TEST(PlantedPerformanceFault, TailWaste) {
  const auto words = [](std::int64_t blocks) {
    KernelOptions options;
    options.dynamic_shared_bytes = 200 * 1024;  // one block on each of 132 multiprocessors
    options.grid = {blocks, 1, 1};
    PerfEntry entry = run("mov.u32 %r0, 0;", options);
    entry.launches[0].compiled = CompiledEntry{.registers = 32};
    return words_of(entry);
  };
  ASSERT_EQ(words(140).size(), 1u);
  EXPECT_THAT(words(140)[0], HasSubstr("140 blocks, which fill 53 % of 2 waves"));
  EXPECT_THAT(words(132), IsEmpty());
  EXPECT_THAT(words(264), IsEmpty());
}

TEST(PlantedPerformanceFault, PaddingWaste) {
  PerfEntry entry =
      run("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, "
          "{%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};");
  entry.useful_macs = 10.0 * 8 * 16;  // m = 10
  ASSERT_EQ(words_of(entry).size(), 1u);
  EXPECT_THAT(words_of(entry)[0], HasSubstr("38 % of the tensor-core products are on padding"));
  entry.useful_macs = 16.0 * 8 * 16;
  EXPECT_THAT(words_of(entry), IsEmpty());
}

TEST(PlantedPerformanceFault, Spills) {
  PerfEntry entry = run("mov.u32 %r0, 0;");
  entry.launches[0].compiled = CompiledEntry{.registers = 64};
  EXPECT_THAT(words_of(entry), IsEmpty());
  entry.launches[0].compiled->spill_store_bytes = 24;
  ASSERT_EQ(words_of(entry).size(), 1u);
  EXPECT_THAT(words_of(entry)[0], HasSubstr("spills: k spills registers: 24 bytes of stores"));
}

TEST(PlantedPerformanceFault, LaunchBounds) {
  KernelOptions options;
  options.block = {256, 1, 1};
  PerfEntry entry = run("mov.u32 %r0, 0;", options);
  entry.launches[0].compiled = CompiledEntry{.registers = 200};  // where 32 blocks were asked for
  ASSERT_EQ(words_of(entry).size(), 1u);
  EXPECT_THAT(
      words_of(entry)[0],
      HasSubstr("200 registers a thread, so a multiprocessor holds 1 block of 256 threads"));
  entry.launches[0].compiled->registers = 64;
  EXPECT_THAT(words_of(entry), IsEmpty());
}

// What is beyond a threshold in a line that moves next to nothing is no advice.
TEST(PlantedPerformanceFault, IsNotSaidWhereItDoesNotMatter) {
  std::string body = lanes_at("%in", 4) + "mov.u32 %r9, 0;\n" +
                     "again: ld.global.u32 %r2, [%d0];\nadd.s64 %d0, %d0, 128; "
                     "add.u32 %r9, %r9, 1; setp.lt.u32 %p0, %r9, 300;\n@%p0 bra again;\n" +
                     "mul.wide.u32 %d0, %r0, 128; add.s64 %d0, %in, %d0;\n";
  EXPECT_THAT(words_of(run(body + "ld.global.s32 %r2, [%d0];")), IsEmpty());
  EXPECT_THAT(words_of(run(body + "ld.global.s32 %r2, [%d0];\nld.global.f32 %f0, [%d0+4096];\n"
                                  "ld.global.b32 %r2, [%d0+8192];")),
              IsEmpty());
}

}  // namespace
}  // namespace plumbline
