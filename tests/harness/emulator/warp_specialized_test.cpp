// SPDX-License-Identifier: MIT
// Kernels whose warps have different jobs, as the libraries for Hopper write them: one thread feeds
// a ring of tiles by bulk copies, warpgroups multiply them. Correct ones must pass without a
// finding, whichever threads hand a stage back.
#include <gmock/gmock.h>

#include <bit>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kTiles = 11;
constexpr int kTileBytes = 2048 + 256;  // A: 64x16 of bf16, then B: 8x16, neither swizzled

struct Ring {
  int stages = 2;
  int warpgroups = 1;          // that multiply
  bool producer_first = true;  // its warpgroup has the lowest threads
  int arrivals = 1;            // of each warpgroup, before a stage is free
  std::string_view signals;    // sets %p3 where a thread of %r2 (0 to 127 in its warpgroup) arrives
  int in_flight = 0;           // groups of wgmma while the stage before is handed back
  bool too_early = false;      // a stage is handed back while its own group is in flight
  bool forgets = false;        // the stage is free when the first warpgroup has handed it back
};

// Tile t of A holds t + 1, and B ones.
std::vector<std::byte> tiles() {
  std::vector<std::uint16_t> values;
  for (int t = 0; t < kTiles; ++t) {
    const auto a = static_cast<std::uint16_t>(std::bit_cast<u32>(static_cast<float>(t + 1)) >> 16);
    values.insert(values.end(), 64 * 16, a);
    values.insert(values.end(), 8 * 16, 0x3f80);
  }
  return bytes_of(values);
}

constexpr float kSum = 16.0f * kTiles * (kTiles + 1) / 2;

std::string wait_for(std::string_view label, std::string_view barrier, std::string_view parity) {
  return fmt::format(
      "{0}: mbarrier.try_wait.parity.shared::cta.b64 %p7, [{1}], {2}; @!%p7 bra {0};\n", label,
      barrier, parity);
}

// Every consumer stores its first accumulator.
KernelRun run(const Ring& ring) {
  const int consumers = 128 * ring.warpgroups;
  const int first_consumer = ring.producer_first ? 128 : 0,
            producer = ring.producer_first ? 0 : consumers;
  std::string body =
      fmt::format(R"(
    .shared .align 128 .b8 tiles[{bytes}]; .shared .align 8 .b64 full[{stages}]; .shared .align 8 .b64 empty[{stages}];
    .reg .f32 s<4>; .reg .b32 %stage, %parity, %tile, %full, %empty, %before;
    mov.u32 %r0, %tid.x; and.b32 %r2, %r0, 127; sub.u32 %r3, %r0, {first}; setp.eq.u32 %p0, %r0, {producer};
    setp.ge.u32 %p1, %r0, {first}; setp.lt.and.u32 %p1, %r0, {last}, %p1;
    mov.u32 %stage, 0; mov.u32 %parity, 0; mov.u32 %r10, 0;
    @!%p0 bra MADE;
    MAKE: mad.lo.u32 %full, %r10, 8, full; mad.lo.u32 %empty, %r10, 8, empty;
    mbarrier.init.shared::cta.b64 [%full], 1; mbarrier.init.shared::cta.b64 [%empty], {arrivals};
    add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, {stages}; @%p2 bra MAKE;
    fence.mbarrier_init.release.cluster;
    MADE: bar.sync 0; mov.u32 %r10, 0;
    @%p1 bra CONSUME; @!%p0 ret;
    PRODUCE: mad.lo.u32 %full, %stage, 8, full; mad.lo.u32 %empty, %stage, 8, empty; mad.lo.u32 %tile, %stage, {tile}, tiles;
    xor.b32 %r4, %parity, 1;
)",
                  fmt::arg("bytes", ring.stages * kTileBytes), fmt::arg("stages", ring.stages),
                  fmt::arg("first", first_consumer), fmt::arg("last", first_consumer + consumers),
                  fmt::arg("producer", producer),
                  fmt::arg("arrivals", ring.arrivals * (ring.forgets ? 1 : ring.warpgroups)),
                  fmt::arg("tile", kTileBytes));
  body += wait_for("E", "%empty", "%r4");
  const std::string next = fmt::format(
      "add.u32 %stage, %stage, 1; setp.eq.u32 %p2, %stage, {}; selp.u32 %stage, 0, %stage, %p2; "
      "@%p2 xor.b32 %parity, %parity, 1; add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, {};\n",
      ring.stages, kTiles);
  body += fmt::format(
      "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%full], {0}; mad.wide.u32 %d1, "
      "%r10, {0}, %in;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%d1], {0}, "
      "[%full];\n",
      kTileBytes);
  body += next + fmt::format("@%p2 bra PRODUCE; ret;\nCONSUME: {}\n", ring.signals);
  body += "mov.f32 s0, 0f00000000; mov.f32 s1, s0; mov.f32 s2, s0; mov.f32 s3, s0;\n";
  body +=
      fmt::format("NEXT: mad.lo.u32 %full, %stage, 8, full; mad.lo.u32 %tile, %stage, {}, tiles;\n",
                  kTileBytes);
  body += wait_for("F", "%full", "%parity");
  // Between chunks of k 1024 bytes in A and 128 in B, between eighths of rows 128.
  body += fmt::format(
      "shr.u32 %r5, %tile, 4; cvt.u64.u32 %d2, %r5; add.s64 %d3, %d2, 128; or.b64 %d2, %d2, {}; "
      "or.b64 %d3, %d3, {};\n",
      std::uint64_t{8} << 32 | 64 << 16, std::uint64_t{8} << 32 | 8 << 16);
  body += fmt::format(
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{s0, s1, s2, s3}}, %d2, %d3, 1, 1, 1, "
      "0, 0;\n"
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned {};\n",
      ring.too_early ? 1 : ring.in_flight);
  const std::string hand_back = "@%p3 mbarrier.arrive.release.cta.shared::cta.b64 _, [%before];\n";
  body += ring.in_flight == 0
              ? "mad.lo.u32 %before, %stage, 8, empty;\n" + hand_back
              : "setp.ne.and.u32 %p3, %r10, 0, %p3;\n" + hand_back + std::string(ring.signals) +
                    " mad.lo.u32 %before, %stage, 8, empty;\n";
  body += next +
          "@%p2 bra NEXT;\nwgmma.wait_group.sync.aligned 0;\n"
          "mul.wide.u32 %d4, %r3, 4; add.s64 %d4, %out, %d4; st.global.f32 [%d4], s0;";
  KernelOptions options;
  options.block = {consumers + 128, 1, 1};
  return run_kernel(kernel_text(body), tiles(), static_cast<std::size_t>(4 * consumers), options);
}

void expect_fine(const Ring& ring) {
  SCOPED_TRACE(fmt::format(
      "{} stages, {} warpgroups, producer first {}, {} arrivals, {} in flight: {}", ring.stages,
      ring.warpgroups, ring.producer_first, ring.arrivals, ring.in_flight, ring.signals));
  const KernelRun done = run(ring);
  EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  EXPECT_THAT(done.values<float>(), Each(kSum));
}

constexpr std::string_view kAllThreads = "setp.eq.u32 %p3, 0, 0;";
constexpr std::string_view kOneOfAWarp = "and.b32 %r6, %r2, 31; setp.eq.u32 %p3, %r6, 7;";
constexpr std::string_view kFirst = "setp.eq.u32 %p3, %r2, 0;",
                           kLast = "setp.eq.u32 %p3, %r2, 127;";

void expect_fine_in_every_order(int arrivals, std::string_view signals) {
  Ring ring;
  ring.arrivals = arrivals;
  ring.signals = signals;
  for (const int stages : {1, 2, 3}) {
    for (const int warpgroups : {1, 2}) {
      for (const bool producer_first : {true, false}) {
        for (const int in_flight : {0, 1}) {
          if (stages == 1 && in_flight == 1) continue;  // no thread could fill the stage
          ring.stages = stages;
          ring.warpgroups = warpgroups;
          ring.producer_first = producer_first;
          ring.in_flight = in_flight;
          expect_fine(ring);
        }
      }
    }
  }
}

TEST(WarpSpecialized, EveryThreadHandsBack) { expect_fine_in_every_order(128, kAllThreads); }

TEST(WarpSpecialized, OneThreadHandsBackForItsWarp) { expect_fine_in_every_order(4, kOneOfAWarp); }

// A product is complete for the warpgroup, not for a warp of it: FlashAttention-3 and
// ThunderKittens let one thread of 128 say so.
TEST(WarpSpecialized, OneThreadHandsBackForItsWarpgroup) {
  expect_fine_in_every_order(1, kFirst);
  expect_fine_in_every_order(1, kLast);
}

// cp.async whose end an mbarrier counts: thread t of warp 1 reads what thread t of warp 0 has
// copied.
KernelRun copy(std::string_view arrive, int arrivals, std::string_view before_read) {
  std::vector<u32> in(32);
  for (u32 i = 0; i < 32; ++i) in[i] = 100 + i;
  KernelOptions options;
  options.block = {64, 1, 1};
  return run_kernel(kernel_text(fmt::format(R"(
    .shared .align 8 .b64 bar; .shared .b32 data[32];
    mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; mad.lo.u32 %r3, %r1, 4, data; mul.wide.u32 %d0, %r1, 4;
    add.s64 %in, %in, %d0; add.s64 %out, %out, %d0; mov.u32 %r2, bar; cvt.u64.u32 %d1, %r2; cvta.shared.u64 %d1, %d1;
    setp.eq.u32 %p0, %r0, 0; setp.lt.u32 %p1, %r0, 32; @%p0 mbarrier.init.shared.b64 [%r2], {}; bar.sync 0;
    @!%p1 bra READ; cp.async.ca.shared.global [%r3], [%in], 4; {} ret;
    READ: {} ld.shared.u32 %r5, [%r3]; st.global.u32 [%out], %r5;
)",
                                            arrivals, arrive, before_read)),
                    bytes_of(in), 128, options);
}

constexpr std::string_view kWait =
    "W: mbarrier.try_wait.parity.shared.b64 %p7, [%r2], 0; @!%p7 bra W;";

TEST(WarpSpecialized, ArrivesWhenItsCopiesHave) {
  for (const std::string_view arrive :
       {"cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r2];",
        "cp.async.mbarrier.arrive.noinc.b64 [%d1];",
        "cp.async.mbarrier.arrive.shared.b64 [%r2]; mbarrier.arrive.shared.b64 _, [%r2];"}) {
    const KernelRun done = copy(arrive, 32, kWait);
    EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
    EXPECT_EQ(done.values<u32>()[31], 131u);
  }
  // Of 33 arrivals one is missing; and without .noinc all are.
  EXPECT_THAT(
      findings_text(copy("cp.async.mbarrier.arrive.noinc.shared.b64 [%r2];", 33, kWait).outcome),
      HasSubstr("whose phase 0 lacks 1 of 33 arrivals"));
  EXPECT_THAT(findings_text(copy("cp.async.mbarrier.arrive.shared.b64 [%r2];", 32, kWait).outcome),
              HasSubstr("whose phase 0 lacks 32 of 32 arrivals"));
  // Who reads without waiting.
  EXPECT_THAT(findings_text(
                  copy("cp.async.mbarrier.arrive.noinc.shared.b64 [%r2];", 32, "nanosleep.u32 100;")
                      .outcome),
              HasSubstr("race: reads shared memory"));
}

// Where another warp may still read, or the product is still in flight, it is too early.
TEST(WarpSpecialized, HandsBackTooEarly) {
  Ring early;
  early.arrivals = 1;
  early.signals = kFirst;
  early.warpgroups = 2;
  KernelRun done = run(early);
  EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  early.too_early = true;
  done = run(early);
  EXPECT_THAT(findings_text(done.outcome), HasSubstr("race"));
  for (const bool producer_first : {true, false}) {
    Ring forgets;
    forgets.producer_first = producer_first;
    forgets.warpgroups = 2;
    forgets.forgets = true;
    forgets.signals = "setp.eq.u32 %p3, %r3, 0;";
    EXPECT_THAT(findings_text(run(forgets).outcome), HasSubstr("race: refills shared memory at"));
  }
}

// --- other ways to take turns ---

KernelRun run(std::string_view body, int threads, std::size_t out_bytes) {
  KernelOptions options;
  options.block = {threads, 1, 1};
  const std::string start =
      "mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 127; shr.u32 %r2, %r0, 5; and.b32 %r3, %r0, 31; "
      "setp.eq.u32 %p0, %r0, 0; "
      "mul.wide.u32 %d0, %r0, 4;\n";
  return run_kernel(kernel_text(start + std::string(body)), {}, out_bytes, options);
}

std::vector<u32> fine(std::string_view body, int threads, std::size_t out_bytes) {
  const KernelRun done = run(body, threads, out_bytes);
  EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  return done.values<u32>();
}

// Two warpgroups use one buffer in turns: %r5 is the barrier of a warpgroup's turn, %r6 that of the
// other's.
TEST(WarpSpecialized, PingPongTakesTurnsByNamedBarriers) {
  const auto turns = [](std::string_view begin, std::string_view end) {
    return fmt::format(R"(
      .shared .b32 data[128]; mad.lo.u32 %r10, %r1, 4, data; xor.b32 %r11, %r1, 65; mad.lo.u32 %r11, %r11, 4, data;
      shr.u32 %r4, %r0, 7; add.u32 %r5, %r4, 1; sub.u32 %r6, 2, %r4; add.u32 %r7, %r4, 3;
      setp.ne.u32 %p1, %r4, 0; @%p1 barrier.cta.arrive.aligned 1, 256; mov.u32 %r8, 0; mov.u32 %r9, 0;
      NEXT: {}
      mad.lo.u32 %r12, %r8, 1000, %r0; st.shared.u32 [%r10], %r12; bar.sync %r7, 128; ld.shared.u32 %r12, [%r11];
      add.u32 %r9, %r9, %r12; {}
      add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 5; @%p2 bra NEXT;
      @!%p1 bar.sync 1, 256; add.s64 %out, %out, %d0; st.global.u32 [%out], %r9;
)",
                       begin, end);
  };
  const std::string_view begin = "bar.sync %r5, 256;", end = "bar.arrive %r6, 256;";
  const std::vector<u32> sums = fine(turns(begin, end), 256, 1024);
  EXPECT_EQ(sums[3], 10000u + 5 * (3 ^ 65));
  EXPECT_EQ(sums[130], 10000u + 5 * (128 + (2 ^ 65)));
  EXPECT_THAT(findings_text(run(turns("", ""), 256, 1024).outcome), HasSubstr("race"));
}

// A buffer that a bulk copy stores from is filled again when the copy has read it.
TEST(WarpSpecialized, FillsABufferAgainThatWasRead) {
  const auto rounds = [](std::string_view wait) {
    return fmt::format(R"(
      .shared .align 16 .b32 data[128]; mad.lo.u32 %r10, %r1, 4, data; mov.u32 %r11, data; mov.u32 %r8, 0;
      NEXT: {}
      bar.sync 0; mad.lo.u32 %r12, %r8, 1000, %r0; st.shared.u32 [%r10], %r12; fence.proxy.async.shared::cta; bar.sync 0;
      @%p0 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r11], 512; @%p0 cp.async.bulk.commit_group;
      add.s64 %out, %out, 512; add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 4; @%p2 bra NEXT;
      @%p0 cp.async.bulk.wait_group 0;
)",
                       wait);
  };
  const std::vector<u32> stored = fine(rounds("@%p0 cp.async.bulk.wait_group.read 0;"), 128, 2048);
  for (u32 i = 0; i < 512; ++i) ASSERT_EQ(stored[i], i / 128 * 1000 + i % 128);
  EXPECT_NE(run(rounds(""), 128, 2048).values<u32>()[0], 0u)
      << "the buffer was filled again before it was read";
}

// Warp 0 writes, warp 1 hears of it, warp 2 hears that from warp 1, by one lane.
TEST(WarpSpecialized, HandsOnByTwoHops) {
  const auto hops = [](std::string_view second) {
    return fmt::format(R"(
      .shared .align 8 .b64 one; .shared .align 8 .b64 two; .shared .b32 data[32]; mad.lo.u32 %r10, %r3, 4, data;
      mov.u32 %r4, one; mov.u32 %r5, two; setp.eq.u32 %p3, %r3, 0;
      @%p0 mbarrier.init.shared.b64 [%r4], 1; @%p0 mbarrier.init.shared.b64 [%r5], 1; bar.sync 0;
      setp.eq.u32 %p1, %r2, 1; @%p1 bra HOP; setp.eq.u32 %p1, %r2, 2; @%p1 bra READ;
      st.shared.u32 [%r10], %r0; bar.warp.sync 0xffffffff; @%p3 mbarrier.arrive.shared.b64 _, [%r4]; ret;
      HOP: @!%p3 bra HOPPED; A: mbarrier.try_wait.parity.shared.b64 %p7, [%r4], 0; @!%p7 bra A;
      HOPPED: bar.warp.sync 0xffffffff; @%p3 mbarrier.arrive{}.shared.b64 _, [%r5]; ret;
      READ: @!%p3 bra GO; B: mbarrier.try_wait.parity.shared.b64 %p7, [%r5], 0; @!%p7 bra B;
      GO: bar.warp.sync 0xffffffff; ld.shared.u32 %r6, [%r10]; mul.wide.u32 %d0, %r3, 4; add.s64 %out, %out, %d0;
      st.global.u32 [%out], %r6;
)",
                       second);
  };
  EXPECT_EQ(fine(hops(""), 96, 128)[31], 31u);
  EXPECT_THAT(findings_text(run(hops(".relaxed.cta"), 96, 128).outcome),
              HasSubstr("race: reads shared memory"));
}

}  // namespace
}  // namespace plumbline::emulator
