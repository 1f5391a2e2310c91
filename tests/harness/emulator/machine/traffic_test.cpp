// SPDX-License-Identifier: MIT
// What a launch is said to move, held against closed formulas: addresses are linear in the lane, so
// that sectors and wavefronts can be worked out by hand. If one of these fails, `plumbline perf`
// counts something else than it says.
#include <algorithm>
#include <numeric>

#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/tensor_map_code.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using enum Counter;

constexpr std::size_t kBytes = 64 * 1024;

LaunchTraffic traffic_of(std::string_view body, KernelOptions options = {}) {
  options.count_traffic = true;
  options.out_is_written = true;
  const std::vector<std::uint8_t> in(kBytes);
  const KernelRun run = run_kernel(kernel_text(body), bytes_of(in), kBytes, options);
  EXPECT_TRUE(run.outcome.completed) << findings_text(run.outcome);
  return run.outcome.traffic;
}

// The counts of the only instruction that begins so.
Counts counts_of(const LaunchTraffic& traffic, std::string_view instruction) {
  const InstructionTraffic* found = nullptr;
  for (const InstructionTraffic& one : traffic.instructions) {
    if (!one.instruction.starts_with(instruction)) continue;
    EXPECT_EQ(found, nullptr) << "two instructions " << instruction;
    found = &one;
  }
  EXPECT_NE(found, nullptr) << "no instruction " << instruction;
  return found == nullptr ? Counts() : found->counts;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  return text.replace(text.find(what), what.size(), by);
}

// %d0: `base` + lane * stride.
std::string address(std::string_view base, int stride) {
  return fmt::format("mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, {}; add.s64 %d0, {}, %d0;\n",
                     stride, base);
}

// %r1: the address in shared memory of lane * stride.
std::string shared_address(int stride) {
  return fmt::format(
      ".shared .align 128 .b8 tile[16384];\n"
      "mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mad.lo.u32 %r1, %r0, {}, %r1;\n",
      stride);
}

TEST(Traffic, LoadsOfFourBytesTouchAsManySectorsAsTheirStride) {
  for (const int words : {1, 2, 4, 8, 16, 32}) {
    const Counts counts =
        counts_of(traffic_of(address("%in", 4 * words) + "ld.global.u32 %r2, [%d0];"), "ld.global");
    EXPECT_EQ(counts[global_requests], 1u);
    EXPECT_EQ(counts[global_sectors], static_cast<std::uint64_t>(std::min(4 * words, 32)))
        << "stride of " << words << " words";
    EXPECT_EQ(counts[global_bytes], 128u);
    EXPECT_EQ(counts[global_least_sectors], 4u);
    EXPECT_EQ(counts[global_repeated_sectors], 0u);
    EXPECT_EQ(counts[thread_instructions], 32u);
  }
}

TEST(Traffic, WideAccessesTouchTheSectorsOfAllTheirBytes) {
  const auto sectors = [](std::string_view instruction, int bytes) {
    return counts_of(traffic_of(address("%in", bytes) + std::string(instruction)), "ld.global");
  };
  EXPECT_EQ(sectors("ld.global.v2.u32 {%r2, %r3}, [%d0];", 8)[global_sectors], 8u);
  EXPECT_EQ(sectors("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d0];", 16)[global_sectors], 16u);
  EXPECT_EQ(sectors("ld.global.u16 %h0, [%d0];", 2)[global_sectors], 2u);
  EXPECT_EQ(sectors("ld.global.u8 %r2, [%d0];", 1)[global_sectors], 1u);
}

TEST(Traffic, MisalignedWarpsTouchOneSectorMore) {
  const Counts counts =
      counts_of(traffic_of(address("%in", 4) + "ld.global.u32 %r2, [%d0+4];"), "ld.global");
  EXPECT_EQ(counts[global_sectors], 5u);
  EXPECT_EQ(counts[global_least_sectors], 4u);
}

TEST(Traffic, LanesThatReadTheSameBytesAreOneSector) {
  const Counts counts = counts_of(traffic_of("ld.global.u32 %r2, [%in];"), "ld.global");
  EXPECT_EQ(counts[global_sectors], 1u);
  EXPECT_EQ(counts[global_bytes], 4u);
  EXPECT_EQ(counts[global_least_sectors], 1u);
}

// Lane l reads word 5 * l % 32, or half of it.
TEST(Traffic, LanesMayBeInAnyOrder) {
  const std::string shuffled =
      "mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, 5; and.b32 %r1, %r1, 31;\n"
      "mul.wide.u32 %d0, %r1, 4; add.s64 %d0, %in, %d0;\n";
  EXPECT_EQ(
      counts_of(traffic_of(shuffled + "ld.global.u32 %r2, [%d0];"), "ld.global")[global_sectors],
      4u);
  const Counts pairs = counts_of(
      traffic_of(shuffled + "and.b64 %d0, %d0, -8;\nld.global.u32 %r2, [%d0];"), "ld.global");
  EXPECT_EQ(pairs[global_sectors], 4u);
  EXPECT_EQ(pairs[global_bytes], 64u);
}

TEST(Traffic, MaskedLanesAskForNothing) {
  const std::string head = address("%in", 4) + "setp.lt.u32 %p0, %r0, 8;\n";
  const LaunchTraffic some = traffic_of(head + "@%p0 ld.global.u32 %r2, [%d0];");
  EXPECT_EQ(counts_of(some, "ld.global")[global_sectors], 1u);
  EXPECT_EQ(counts_of(some, "ld.global")[thread_instructions], 8u);
  EXPECT_EQ(counts_of(some, "setp")[thread_instructions], 32u);
  const LaunchTraffic none =
      traffic_of(head + "setp.lt.u32 %p1, %r0, 0;\n@%p1 ld.global.u32 %r2, [%d0];");
  EXPECT_EQ(counts_of(none, "ld.global")[global_requests], 0u);
  EXPECT_EQ(counts_of(none, "ld.global")[warp_instructions], 1u);
}

TEST(Traffic, StoresAndAtomicsCountTheirSectors) {
  const LaunchTraffic traffic = traffic_of(address("%out", 32) +
                                           "st.global.u32 [%d0], %r0;\n"
                                           "atom.global.add.u32 %r3, [%d0], 1;");
  EXPECT_EQ(counts_of(traffic, "st.global")[global_sectors], 32u);
  EXPECT_EQ(counts_of(traffic, "atom.global")[global_sectors], 32u);
  EXPECT_EQ(traffic.sectors_written, 32u);
  EXPECT_EQ(traffic.sectors_only_read, 0u);
  for (const InstructionTraffic& one : traffic.instructions) {
    if (one.instruction.starts_with("st.")) EXPECT_EQ(one.access, Access::store);
    if (one.instruction.starts_with("atom.")) EXPECT_EQ(one.access, Access::atomic);
  }
}

TEST(Traffic, GenericAddressesCountAsTheSpaceTheyPointTo) {
  const Counts global = counts_of(traffic_of(address("%in", 8) + "ld.u32 %r2, [%d0];"), "ld.u32");
  EXPECT_EQ(global[global_sectors], 8u);
  EXPECT_EQ(global[shared_requests], 0u);
  const Counts shared =
      counts_of(traffic_of(shared_address(8) + "cvt.u64.u32 %d0, %r1; cvta.shared.u64 %d0, %d0;\n"
                                               "st.u32 [%d0], %r0;"),
                "st.u32");
  EXPECT_EQ(shared[global_requests], 0u);
  EXPECT_EQ(shared[shared_wavefronts], 2u);
}

TEST(Traffic, LanesOfOneInstructionMayUseSeveralSpaces) {
  // The first eight lanes have a word each in shared memory, the others one every 32 bytes.
  const Counts counts = counts_of(
      traffic_of(shared_address(4) +
                 "cvt.u64.u32 %d0, %r1; cvta.shared.u64 %d0, %d0; mul.wide.u32 %d1, %r0, 32; "
                 "add.s64 %d1, %out, %d1;\nsetp.lt.u32 %p0, %r0, 8; selp.b64 %d0, %d0, %d1, %p0;\n"
                 "st.u32 [%d0], %r0;"),
      "st.u32");
  EXPECT_EQ(counts[shared_requests], 1u);
  EXPECT_EQ(counts[shared_wavefronts], 1u);
  EXPECT_EQ(counts[global_requests], 1u);
  EXPECT_EQ(counts[global_sectors], 24u);
}

TEST(Traffic, SectorsOfALaunchCountOnceHoweverManyBlocksReadThem) {
  KernelOptions options;
  options.grid = {4, 1, 1};
  options.emulator.threads = 2;
  const LaunchTraffic traffic =
      traffic_of(address("%in", 4) + "ld.global.u32 %r2, [%d0];", options);
  EXPECT_EQ(counts_of(traffic, "ld.global")[global_sectors], 16u);
  EXPECT_EQ(counts_of(traffic, "ld.global")[global_repeated_sectors], 0u);
  EXPECT_EQ(traffic.sectors_only_read, 4u);
  EXPECT_EQ(traffic.sectors_written, 0u);
}

TEST(Traffic, LoadsOfTheSameSectorsInOneBlockAreRepeated) {
  const LaunchTraffic traffic = traffic_of(address("%in", 4) +
                                           "mov.u32 %r9, 0;\nagain: ld.global.u32 %r2, [%d0];\n"
                                           "add.u32 %r9, %r9, 1; setp.lt.u32 %p0, %r9, 5;\n"
                                           "@%p0 bra again;");
  EXPECT_EQ(counts_of(traffic, "ld.global")[global_sectors], 20u);
  EXPECT_EQ(counts_of(traffic, "ld.global")[global_repeated_sectors], 16u);
}

TEST(Traffic, StridesInSharedMemoryConflictByTheirPowerOfTwo) {
  for (const int words : {1, 2, 3, 4, 8, 16, 32, 33}) {
    const Counts counts =
        counts_of(traffic_of(shared_address(4 * words) + "st.shared.u32 [%r1], %r0;"), "st.shared");
    EXPECT_EQ(counts[shared_requests], 1u);
    EXPECT_EQ(counts[shared_wavefronts], static_cast<std::uint64_t>(std::gcd(words, 32)))
        << "stride of " << words << " words";
    EXPECT_EQ(counts[shared_least_wavefronts], 1u);
  }
}

TEST(Traffic, LanesThatUseTheSameWordDoNotConflict) {
  const Counts one =
      counts_of(traffic_of(shared_address(0) + "ld.shared.u32 %r2, [%r1];"), "ld.shared");
  EXPECT_EQ(one[shared_wavefronts], 1u);
  const Counts halves =
      counts_of(traffic_of(shared_address(2) + "st.shared.u16 [%r1], %h0;"), "st.shared");
  EXPECT_EQ(halves[shared_wavefronts], 1u);
}

TEST(Traffic, WideSharedAccessesTakePhasesOfLanes) {
  const auto counts = [](int stride, std::string_view instruction) {
    return counts_of(traffic_of(shared_address(stride) + std::string(instruction)), "st.shared");
  };
  const std::string_view pair = "st.shared.v2.u32 [%r1], {%r0, %r0};";
  const std::string_view quad = "st.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0};";
  EXPECT_EQ(counts(8, pair)[shared_wavefronts], 2u);
  EXPECT_EQ(counts(8, pair)[shared_least_wavefronts], 2u);
  EXPECT_EQ(counts(16, pair)[shared_wavefronts], 4u);
  EXPECT_EQ(counts(16, quad)[shared_wavefronts], 4u);
  EXPECT_EQ(counts(16, quad)[shared_least_wavefronts], 4u);
  EXPECT_EQ(counts(128, quad)[shared_wavefronts], 32u);  // every lane of a phase in one bank
  EXPECT_EQ(counts(144, quad)[shared_wavefronts], 4u);   // a row with 16 bytes of padding
}

// 32 rows, lane l has row l; `row` is the stride. With `swizzle` the chunk of a row is moved by the
// row's number.
Counts matrix_rows(int row, bool swizzle, int count) {
  const char* registers =
      count == 1 ? "{%r4}" : (count == 2 ? "{%r4, %r5}" : "{%r4, %r5, %r6, %r7}");
  const std::string body =
      shared_address(row) +
      (swizzle ? "and.b32 %r2, %r0, 7; shl.b32 %r2, %r2, 4; xor.b32 %r1, %r1, %r2;\n" : "") +
      fmt::format("ldmatrix.sync.aligned.m8n8.x{}.shared.b16 {}, [%r1];", count, registers);
  return counts_of(traffic_of(body), "ldmatrix");
}

TEST(Traffic, MatricesAreLoadedInAPhaseEachWhereTheirRowsLieInAllBanks) {
  for (const int count : {1, 2, 4}) {
    const auto matrices = static_cast<std::uint64_t>(count);
    EXPECT_EQ(matrix_rows(128, false, count)[shared_wavefronts], 8 * matrices);
    EXPECT_EQ(matrix_rows(128, true, count)[shared_wavefronts], matrices);
    EXPECT_EQ(matrix_rows(144, false, count)[shared_wavefronts], matrices);
    EXPECT_EQ(matrix_rows(64, false, count)[shared_wavefronts], 4 * matrices);
    EXPECT_EQ(matrix_rows(128, false, count)[shared_least_wavefronts], matrices);
  }
}

TEST(Traffic, CopiesCountBothOfTheirEnds) {
  const LaunchTraffic traffic =
      traffic_of(address("%in", 64) + shared_address(16) +
                 "cp.async.cg.shared.global [%r1], [%d0], 16;\ncp.async.wait_all;");
  const Counts counts = counts_of(traffic, "cp.async.cg");
  EXPECT_EQ(counts[global_sectors], 32u);
  EXPECT_EQ(counts[global_bytes], 512u);
  EXPECT_EQ(counts[global_least_sectors], 16u);
  EXPECT_EQ(counts[shared_wavefronts], 4u);
  EXPECT_EQ(counts_of(traffic, "cp.async.wait_all")[copy_waits], 1u);
  EXPECT_EQ(counts_of(traffic, "cp.async.wait_all")[exposed_copy_waits], 1u);
}

TEST(Traffic, AWaitBehindAProductIsNotExposed) {
  const LaunchTraffic traffic =
      traffic_of(address("%in", 16) + shared_address(16) +
                 "cp.async.cg.shared.global [%r1], [%d0], 16;\n"
                 "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, "
                 "{%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f0, %f1, %f2, %f3};\ncp.async.wait_all;");
  EXPECT_EQ(counts_of(traffic, "cp.async.wait_all")[copy_waits], 1u);
  EXPECT_EQ(counts_of(traffic, "cp.async.wait_all")[exposed_copy_waits], 0u);
}

TEST(Traffic, CopiesThatFillReadNothing) {
  const Counts counts =
      counts_of(traffic_of(address("%in", 16) + shared_address(16) +
                           "setp.lt.u32 %p0, %r0, 2; selp.b32 %r3, 16, 0, %p0;\n"
                           "cp.async.cg.shared.global [%r1], [%d0], 16, %r3;\ncp.async.wait_all;"),
                "cp.async.cg");
  EXPECT_EQ(counts[global_sectors], 1u);
  EXPECT_EQ(counts[shared_wavefronts], 4u);
}

TEST(Traffic, LocalMemoryIsLaidOutByWord) {
  const std::string body =
      ".local .align 16 .b8 own[64];\nmov.u32 %r0, %tid.x; mov.u64 %d0, own;\n";
  EXPECT_EQ(counts_of(traffic_of(body + "st.local.u32 [%d0], %r0;"), "st.local")[local_sectors],
            4u);
  EXPECT_EQ(counts_of(traffic_of(body + "st.local.v4.u32 [%d0], {%r0, %r0, %r0, %r0};"),
                      "st.local")[local_sectors],
            16u);
}

TEST(Traffic, ProductsAreSizes) {
  const LaunchTraffic traffic = traffic_of(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, "
      "{%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};");
  EXPECT_EQ(counts_of(traffic, "mma")[tensor_macs], 16u * 8 * 16);
}

TEST(Traffic, ProductsOfAWarpgroupAreThoseOfItsFourWarps) {
  KernelOptions options;
  options.block = {128, 1, 1};
  const LaunchTraffic traffic = traffic_of(
      shared_address(16) +
          "st.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0}; fence.proxy.async; bar.sync 0;\n"
          "mov.u32 %r2, tile; shr.u32 %r2, %r2, 4; cvt.u64.u32 %d5, %r2;\n"
          "wgmma.fence.sync.aligned;\n"
          "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %d5, %d5, 1, "
          "1, 1, 0, 0;\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
      options);
  EXPECT_EQ(counts_of(traffic, "wgmma.mma_async")[tensor_macs], 64u * 8 * 16);
}

// A tensor of 20 x 6 elements, whose rows are 64 bytes apart, in a box of 32 x 8.
TEST(Traffic, BulkCopiesCountWhatTheyMoveAndWhatTheyFill) {
  constexpr std::size_t kHeader = 256;
  const TensorMap map{.address = kGlobalBase + kHeader,
                      .rank = 2,
                      .dims = {20, 6},
                      .strides = {2, 64},
                      .box = {32, 8}};
  std::vector<std::byte> in(kHeader + 6 * 64);
  std::ranges::copy(encode_tensor_map(map), in.begin());
  KernelOptions options;
  options.count_traffic = true;
  const std::string body =
      ".shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 bar;\n"
      "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, tile; mov.u32 %r2, bar;\n"
      "mov.u32 %r3, 0; add.s64 %d0, %in, 256;\n"
      "@%p0 mbarrier.init.shared.b64 [%r2], 1; @%p0 fence.mbarrier_init.release.cluster; "
      "bar.sync 0;\n@%p0 mbarrier.arrive.expect_tx.shared.b64 %d9, [%r2], 576;\n"
      "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%r1], [%in, {%r3, %r3}], [%r2];\n"
      "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+512], [%d0], "
      "64, [%r2];\nW: mbarrier.try_wait.parity.shared.b64 %p7, [%r2], 0; @!%p7 bra W;";
  const KernelRun run = run_kernel(kernel_text(body), in, 64, options);
  ASSERT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
  const Counts box = counts_of(run.outcome.traffic, "cp.async.bulk.tensor");
  EXPECT_EQ(box[bulk_bytes], 6u * 40);
  EXPECT_EQ(box[bulk_fill_bytes], 8u * 64 - 6 * 40);
  const Counts plain = counts_of(run.outcome.traffic, "cp.async.bulk.shared");
  EXPECT_EQ(plain[bulk_bytes], 64u);
  EXPECT_EQ(plain[bulk_fill_bytes], 0u);
  EXPECT_EQ(run.outcome.traffic.sectors_only_read, 6u * 2);  // the plain bytes are among them
}

TEST(Traffic, AnAccessBehindTheOneBeforeIsSplit) {
  const auto second = [](int stride, int first, int next) {
    return counts_of(traffic_of(address("%in", stride) +
                                fmt::format("ld.global.u32 %r2, [%d0+{}];\nld.global.s32 %r3, "
                                            "[%d0+{}];",
                                            first, next)),
                     "ld.global.s32")[split_accesses];
  };
  EXPECT_EQ(second(8, 0, 4), 1u);
  EXPECT_EQ(second(8, 4, 8), 0u);   // no aligned pair
  EXPECT_EQ(second(12, 0, 4), 0u);  // not for every lane
  EXPECT_EQ(second(8, 0, 8), 0u);
}

TEST(Traffic, BarriersWithNothingBetweenAreIdle) {
  KernelOptions options;
  options.block = {64, 1, 1};
  const std::string body = shared_address(4) + "st.shared.u32 [%r1], %r0;\nbar.sync 0;\n";
  const LaunchTraffic good =
      traffic_of(body + "ld.shared.u32 %r2, [%r1];\nbarrier.sync 0;", options);
  EXPECT_EQ(counts_of(good, "barrier.sync")[barriers], 1u);
  EXPECT_EQ(counts_of(good, "barrier.sync")[idle_barriers], 0u);
  EXPECT_EQ(counts_of(good, "bar.sync")[idle_barriers], 0u);
  // A wait for a product frees what it has read.
  const LaunchTraffic waits = traffic_of(body + "wgmma.wait_group.sync.aligned 0;\nbarrier.sync 0;",
                                         {.block = {128, 1, 1}});
  EXPECT_EQ(counts_of(waits, "barrier.sync")[idle_barriers], 0u);
  const LaunchTraffic twice = traffic_of(body + "add.u32 %r2, %r0, 1;\nbarrier.sync 0;", options);
  EXPECT_EQ(counts_of(twice, "barrier.sync")[idle_barriers], 1u);
  EXPECT_EQ(counts_of(twice, "bar.sync")[idle_barriers], 0u);
}

TEST(Traffic, OfTensorMemoryIsColumnsAndBytesOfRegisters) {
  const std::string body =
      "mov.u32 %r0, at; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 64; "
      "ld.shared.u32 %r1, [%r0]; mov.u32 %r2, 1; mov.u32 %r3, 2;\n"
      "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r1], {%r2, %r3}; tcgen05.wait::st.sync.aligned;\n"
      "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%r1]; tcgen05.wait::ld.sync.aligned;\n"
      "st.global.u32 [%out], %r4; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;";
  const std::vector<std::uint8_t> in(kBytes);
  KernelOptions options{.emulator = {.sm = 100, .threads = 1}, .block = {32, 1, 1}};
  options.count_traffic = true;
  const std::string text = replaced(kernel_text(".shared .align 8 .b32 at;\n" + body, 100),
                                    ".target sm_100", ".target sm_100a");
  const KernelRun run = run_kernel(text, bytes_of(in), kBytes, options);
  ASSERT_TRUE(run.outcome.completed) << findings_text(run.outcome);
  const LaunchTraffic& traffic = run.outcome.traffic;
  EXPECT_EQ(traffic.tensor_columns, 64);
  EXPECT_EQ(counts_of(traffic, "tcgen05.st")[tensor_memory_bytes], 2u * 32 * 4);
  EXPECT_EQ(counts_of(traffic, "tcgen05.ld")[tensor_memory_bytes], 32u * 4);
}

TEST(Traffic, IsTheSameForAnyNumberOfWorkers) {
  KernelOptions options;
  options.grid = {7, 1, 1};
  options.block = {96, 1, 1};
  const std::string body = address("%in", 20) +
                           "mov.u32 %r8, %ctaid.x; mul.wide.u32 %d1, %r8, 512; add.s64 %d0, %d0, "
                           "%d1;\nld.global.u32 %r2, [%d0];";
  const LaunchTraffic one = traffic_of(body, options);
  options.emulator.threads = 4;
  const LaunchTraffic four = traffic_of(body, options);
  ASSERT_EQ(one.instructions.size(), four.instructions.size());
  for (std::size_t i = 0; i < one.instructions.size(); ++i)
    EXPECT_EQ(one.instructions[i].counts, four.instructions[i].counts);
  EXPECT_EQ(one.sectors_only_read, four.sectors_only_read);
  EXPECT_GT(one.sectors_only_read, 0u);
}

TEST(Traffic, IsNotCountedUnlessItIsAskedFor) {
  const std::vector<std::uint8_t> in(kBytes);
  const KernelRun run =
      run_kernel(kernel_text(address("%in", 4) + "ld.global.u32 %r2, [%d0];"), bytes_of(in), 64);
  EXPECT_TRUE(run.outcome.traffic.instructions.empty());
}

}  // namespace
}  // namespace plumbline::emulator
