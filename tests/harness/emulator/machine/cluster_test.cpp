// SPDX-License-Identifier: MIT
// Clusters of several blocks: shared memory of the others, their mbarriers, barrier.cluster, copies
// to several blocks, and what goes wrong with them.
#include <gmock/gmock.h>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kMeet =
    "barrier.cluster.arrive.release.aligned; "
    "barrier.cluster.wait.acquire.aligned;\n";

// Blocks of a warp, two to a cluster. %r0 is the thread, %r1 the block's rank, %r2 the other rank,
// %r3 the thread's word of `data`, %r4 the same in the other block, %r5 `bar`, %r6 that of the
// other; %out the thread's own word of the output.
KernelRun run(const std::string& body, KernelOptions options = {}) {
  const std::string start =
      ".shared .align 128 .b32 data[64]; .shared .align 8 .b64 bar; mov.u32 %r0, %tid.x; "
      "mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1; mad.lo.u32 %r3, %r0, 4, data; "
      "mapa.shared::cluster.u32 %r4, %r3, %r2; mov.u32 %r5, bar; "
      "mapa.shared::cluster.u32 %r6, %r5, %r2; setp.eq.u32 %p0, %r0, 0; "
      "mov.u32 %r7, %ctaid.x; mad.lo.u32 %r7, %r7, 32, %r0; mul.wide.u32 %d0, %r7, 4; "
      "add.s64 %out, %out, %d0;\n";
  if (options.grid[0] == 1) options.grid = {2, 1, 1};
  if (options.cluster[0] == 0) options.cluster = {2, 1, 1};
  std::vector<u32> in(1024);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<u32>(i);
  return run_kernel(kernel_text(start + body), bytes_of(in),
                    static_cast<std::size_t>(options.grid[0]) * 128, options);
}

std::vector<u32> fine(const std::string& body, const KernelOptions& options = {}) {
  const KernelRun done = run(body, options);
  EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  KernelOptions reversed = options;
  reversed.cta_order = 1;
  const KernelRun again = run(body, reversed);
  EXPECT_TRUE(again.outcome.findings.empty()) << findings_text(again.outcome);
  EXPECT_EQ(again.values<u32>(), done.values<u32>());
  return done.values<u32>();
}

// Found in whichever order the blocks run.
std::string findings(const std::string& body, const KernelOptions& options = {}) {
  KernelOptions reversed = options;
  reversed.cta_order = 1;
  const std::string first = findings_text(run(body, options).outcome);
  const std::string second = findings_text(run(body, reversed).outcome);
  EXPECT_EQ(first.empty(), second.empty()) << first << "\nreversed:\n" << second;
  return first + second;
}

std::string text(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

TEST(Cluster, KnowsItsShape) {
  KernelOptions options;
  options.grid = {4, 2, 2};
  options.cluster = {2, 1, 2};
  const std::string body =
      "mov.u32 %r8, %cluster_ctarank; mov.u32 %r9, %cluster_nctarank; mov.u32 %r10, %clusterid.x; "
      "mov.u32 %r11, %nclusterid.x; mov.u32 %r12, %cluster_ctaid.z; mov.u32 %r13, "
      "%cluster_nctaid.z; mov.u32 %r14, %is_explicit_cluster; mov.u32 %r15, %ctaid.y; "
      "mov.u32 %r16, %ctaid.z; mov.u32 %r17, %ctaid.x; "
      "mad.lo.u32 %r18, %r16, 2, %r15; mad.lo.u32 %r18, %r18, 4, %r17; mul.wide.u32 %d1, %r18, 4; "
      "add.s64 %out, %out, %d1; "
      "mul.lo.u32 %r8, %r8, 10; add.u32 %r8, %r8, %r9; mul.lo.u32 %r8, %r8, 10; add.u32 %r8, %r8, "
      "%r10; mul.lo.u32 %r8, %r8, 10; add.u32 %r8, %r8, %r11; mul.lo.u32 %r8, %r8, 10; add.u32 "
      "%r8, %r8, %r12; mul.lo.u32 %r8, %r8, 10; add.u32 %r8, %r8, %r13; mul.lo.u32 %r8, %r8, 10; "
      "add.u32 %r8, %r8, %r14; "
      "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @%p0 st.global.u32 [%out], %r8;";
  const KernelRun done = run_kernel(kernel_text(body), {}, 64, options);
  EXPECT_TRUE(done.outcome.findings.empty()) << findings_text(done.outcome);
  // Rank, blocks of a cluster, the cluster of two in x, the block in z of two, explicit.
  const std::vector<u32> words = done.values<u32>();
  EXPECT_EQ(words[0], 402021u);
  EXPECT_EQ(words[1], 1402021u);
  EXPECT_EQ(words[2], 412021u);
  EXPECT_EQ(words[8], 2402121u);
  EXPECT_EQ(words[15], 3412121u);
}

TEST(Cluster, ReadsSharedMemoryOfTheOther) {
  const std::string write = "add.u32 %r8, %r7, 100; st.shared.u32 [%r3], %r8;\n";
  const std::string read = "ld.shared::cluster.u32 %r9, [%r4]; st.global.u32 [%out], %r9;\n";
  const std::vector<u32> out = fine(text({write, kMeet, read, kMeet}));
  EXPECT_EQ(out[3], 135u);
  EXPECT_EQ(out[35], 103u);
  // As a generic address.
  const std::vector<u32> generic = fine(text(
      {write, kMeet,
       "cvt.u64.u32 %d1, %r3; cvta.shared.u64 %d1, %d1; mapa.u64 %d1, %d1, %r2; getctarank.u64 "
       "%r10, %d1; setp.ne.u32 %p1, %r10, %r2; @%p1 trap; isspacep.shared::cta %p1, %d1; @%p1 "
       "trap; isspacep.shared::cluster %p1, %d1; @!%p1 trap; ld.u32 %r9, [%d1]; st.global.u32 "
       "[%out], %r9;\n",
       kMeet}));
  EXPECT_EQ(generic, out);
}

TEST(Cluster, WritesAndAddsToSharedMemoryOfTheOther) {
  const std::vector<u32> out = fine(text({kMeet, "st.shared::cluster.u32 [%r4], %r7;\n", kMeet,
                                          "ld.shared.u32 %r9, [%r3]; st.global.u32 [%out], %r9;"}));
  EXPECT_EQ(out[5], 37u);
  EXPECT_EQ(out[37], 5u);
  const std::vector<u32> sums = fine(
      text({"st.shared.u32 [%r3], 0;\n", kMeet,
            "mapa.shared::cluster.u32 %r8, %r3, 0; red.relaxed.cluster.shared::cluster.add.u32 "
            "[%r8], 3;\n",
            kMeet, "ld.shared.u32 %r9, [%r3]; st.global.u32 [%out], %r9;"}));
  EXPECT_EQ(sums[0], 6u);
  EXPECT_EQ(sums[32], 0u);
}

TEST(Cluster, FindsRacesBetweenItsBlocks) {
  const std::string write = "st.shared.u32 [%r3], %r7;\n";
  const std::string read = "ld.shared::cluster.u32 %r9, [%r4]; st.global.u32 [%out], %r9;\n";
  // Nothing says that the other block has begun, let alone that it wrote.
  EXPECT_THAT(findings(text({write, read, kMeet})),
              HasSubstr("nothing that says that this CTA has begun"));
  // Between the write and the read there is nothing.
  EXPECT_THAT(findings(text({kMeet, write, read, kMeet})), HasSubstr("race"));
  // The other block reads while the word is written again.
  EXPECT_THAT(findings(text({write, kMeet, read, "st.shared.u32 [%r3], 7;\n", kMeet})),
              HasSubstr("of another CTA of the cluster"));
  // Two blocks write to the word of one.
  EXPECT_THAT(findings(text({kMeet,
                             "mapa.shared::cluster.u32 %r8, %r3, 0; st.shared::cluster.u32 [%r8], "
                             "%r7;\n",
                             kMeet, "ld.shared.u32 %r9, [%r3];"})),
              HasSubstr("race"));
  // A block may have exited while another one still reads.
  EXPECT_THAT(findings(text({write, kMeet, read})), HasSubstr("exit"));
}

TEST(Cluster, SaysWhereNothingIs) {
  EXPECT_THAT(findings(text({kMeet,
                             "mapa.shared::cluster.u32 %r8, %r3, 2; "
                             "ld.shared::cluster.u32 %r9, [%r8];"})),
              HasSubstr("CTA rank 2 of a cluster of 2"));
  EXPECT_THAT(findings(text({kMeet, "add.u32 %r8, %r4, 4096; ld.shared::cluster.u32 %r9, [%r8];"})),
              HasSubstr("out of bounds"));
  EXPECT_THAT(
      findings(text({kMeet, "add.u32 %r8, %r4, 0x7000000; ld.shared::cluster.u32 %r9, [%r8];"})),
      HasSubstr("of a cluster of 2"));
}

TEST(Cluster, WaitsOnlyForBlocksThatRun) {
  // One block arrives at barrier.cluster and the other one does not.
  EXPECT_THAT(findings("setp.eq.u32 %p1, %r1, 0; @%p1 bra END; barrier.cluster.arrive.aligned; "
                       "barrier.cluster.wait.aligned; END: st.global.u32 [%out], 1;"),
              Not(HasSubstr("deadlock")));  // exited threads are not waited for
  EXPECT_THAT(findings("setp.eq.u32 %p1, %r1, 0; @%p1 bra END; barrier.cluster.arrive.aligned; "
                       "barrier.cluster.wait.aligned; END: barrier.cluster.arrive.aligned; "
                       "barrier.cluster.wait.aligned;"),
              Not(HasSubstr("race")));
}

const std::string kMakeBarrier =
    "@%p0 mbarrier.init.shared.b64 [%r5], 32; fence.mbarrier_init.release.cluster;\n";
const std::string kWait =
    "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p7, [%r5], 0, 0x989680; @!%p7 "
    "bra W;\n";

TEST(Cluster, ArrivesAtMbarriersOfTheOther) {
  const std::string arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];\n";
  const std::string write = "st.shared::cluster.u32 [%r4], %r7;\n";
  const std::string read = "ld.shared.u32 %r9, [%r3]; st.global.u32 [%out], %r9;\n";
  const std::vector<u32> out = fine(text({kMakeBarrier, kMeet, write, arrive, kWait, read}));
  EXPECT_EQ(out[5], 37u);
  // The barrier may not be there yet.
  EXPECT_THAT(findings(text({kMakeBarrier, "bar.sync 0;\n", arrive, kWait})), HasSubstr("race"));
  // Without the arrival's release the write is not there.
  EXPECT_THAT(findings(text({kMakeBarrier, kMeet, write,
                             "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r6];\n",
                             kWait, read})),
              HasSubstr("race"));
  // No thread arrives: the blocks wait for each other.
  EXPECT_THAT(findings(text({kMakeBarrier, kMeet, kWait})),
              HasSubstr("CTA rank 1 warp 0 waits for mbarrier"));
  // Only arrivals are possible there.
  EXPECT_THAT(findings(text({kMakeBarrier, kMeet,
                             "mbarrier.test_wait.parity.shared.b64 %p7, [%r6], 0;\n", kMeet})),
              HasSubstr("a thread can only arrive there"));
  // The other block is not kept from exiting before the arrival comes.
  EXPECT_THAT(findings(text({kMakeBarrier, kMeet, "setp.eq.u32 %p1, %r1, 0; @%p1 ", arrive,
                             "setp.eq.u32 %p1, %r1, 0; @%p1 ret;\n"})),
              HasSubstr("exit"));
}

// 128 bytes of the input go to `data` of both blocks, half of them issued by each.
std::string multicast(std::string_view mask) {
  return fmt::format(
      "@%p0 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r5], 128;\n"
      "mad.lo.u32 %r8, %r1, 64, data; cvt.u64.u32 %d1, %r1; mul.lo.u64 %d1, %d1, 64; add.u64 %d1, "
      "%d1, %in; mov.u16 %h0, {};\n"
      "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%r8], [%d1], 64, [%r5], %h0;\n",
      mask);
}

const std::string kMakeForOne =
    "@%p0 mbarrier.init.shared.b64 [%r5], 1; fence.mbarrier_init.release.cluster;\n";

TEST(Cluster, CopiesToSeveralBlocks) {
  const std::string read = "ld.shared.u32 %r9, [%r3]; st.global.u32 [%out], %r9;\n";
  const std::vector<u32> out = fine(text({kMakeForOne, kMeet, multicast("3"), kWait, read, kMeet}));
  EXPECT_EQ(out[5], 5u);
  EXPECT_EQ(out[31], 31u);
  EXPECT_EQ(out[32 + 17], 17u);
  EXPECT_THAT(findings(text({kMakeForOne, kMeet, multicast("4"), kWait, read, kMeet})),
              HasSubstr("a copy to the CTAs 0x4 of a cluster of 2"));
  // To itself alone: half of what is waited for.
  EXPECT_THAT(findings(text({kMakeForOne, kMeet, "shl.b32 %r20, 1, %r1; cvt.u16.u32 %h1, %r20;\n",
                             multicast("%h1"), kWait, read, kMeet})),
              HasSubstr("64 bytes"));
  EXPECT_THAT(findings(text({kMakeForOne, kMeet, multicast("3"), "bar.sync 0;\n", read, kMeet})),
              HasSubstr("missing wait"));
}

TEST(Cluster, RefillsWhatTheOtherStillReads) {
  // Each block reads, and then copies over both blocks' data: only its own threads have read then.
  const std::string prepare = "st.shared.u32 [%r3], 1; fence.proxy.async;\n";
  const std::string read = "ld.shared.u32 %r9, [%r3];\n";
  EXPECT_THAT(findings(text({kMakeForOne, prepare, kMeet, read, "bar.sync 0;\n", multicast("3"),
                             kWait, "st.global.u32 [%out], %r9;\n", kMeet})),
              HasSubstr("refills shared memory"));
  fine(text({kMakeForOne, prepare, kMeet, read, kMeet, multicast("3"), kWait,
             "st.global.u32 [%out], %r9;\n", kMeet}));
}

TEST(Cluster, CopiesFromBlockToBlock) {
  const std::string body =
      "st.shared.u32 [%r3], %r7; fence.proxy.async; bar.sync 0;\n"
      "@%p0 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r5], 128;\n"
      "add.u32 %r8, %r4, 128;\n"
      "@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r8], [%r3], "
      "128, [%r6];\n";
  const std::string read = "ld.shared.u32 %r9, [%r3+128]; st.global.u32 [%out], %r9;\n";
  const std::vector<u32> out = fine(text({kMakeForOne, kMeet, body, kWait, read, kMeet}));
  EXPECT_EQ(out[3], 35u);
  EXPECT_EQ(out[40], 8u);
  // The mbarrier has to be where the bytes go.
  std::string wrong = body;
  wrong.replace(wrong.find("[%r6]"), 5, "[%r5]");
  EXPECT_THAT(findings(text({kMakeForOne, kMeet, wrong, kWait, read, kMeet})),
              HasSubstr("both have to be in the same CTA"));
}

TEST(Cluster, StoresAsynchronouslyToTheOther) {
  const std::string body =
      "@%p0 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r5], 128;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r4], %r7, [%r6];\n";
  const std::string read = "ld.shared.u32 %r9, [%r3]; st.global.u32 [%out], %r9;\n";
  const std::vector<u32> out = fine(text({kMakeForOne, kMeet, body, kWait, read, kMeet}));
  EXPECT_EQ(out[3], 35u);
  EXPECT_EQ(out[40], 8u);
}

TEST(Cluster, IsRefusedWhereItCannotBe) {
  const auto device = make_emulator({.sm = 90, .threads = 1});
  const auto launch = [&](const std::string& attributes, std::array<std::int64_t, 3> cluster,
                          std::array<std::int64_t, 3> grid) -> std::string {
    const auto module =
        device->load(header(90) + "\n.visible .entry k() " + attributes + " { ret; }", "test.ptx");
    if (!module) return module.error().text();
    LaunchRequest request;
    request.entry = "k";
    request.cluster = cluster;
    request.grid = grid;
    const auto outcome = device->launch(**module, request);
    return outcome ? "fine" : outcome.error().text();
  };
  EXPECT_EQ(launch("", {2, 1, 1}, {4, 1, 1}), "fine");
  EXPECT_EQ(launch(".explicitcluster .reqnctapercluster 2, 2, 1", {}, {4, 2, 1}), "fine");
  EXPECT_THAT(launch(".explicitcluster .reqnctapercluster 2, 2, 1", {}, {3, 2, 1}),
              HasSubstr("is no multiple of them"));
  EXPECT_THAT(launch(".explicitcluster", {}, {2, 1, 1}),
              HasSubstr("has to be launched with a cluster"));
  EXPECT_THAT(launch(".explicitcluster .reqnctapercluster 2", {4, 1, 1}, {4, 1, 1}),
              HasSubstr("declares clusters of 2 x 1 x 1 blocks"));
  EXPECT_THAT(launch("", {32, 1, 1}, {32, 1, 1}), HasSubstr("16 in all are the most"));
}

}  // namespace
}  // namespace plumbline::emulator
