// SPDX-License-Identifier: MIT
// Strong loads that nothing orders behind a strong store: what they find, and which orders count.
#include <gmock/gmock.h>

#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using ::testing::HasSubstr;

struct Found {
  std::uint32_t value = 0;
  std::vector<Finding> older;
  std::vector<Finding> findings;
};

// The first word of "out" behind a launch of two CTAs of a warp each. The body has the thread in
// %r0, the CTA in %r10 and begins in line 11; it may use the variables cell, flag and tile.
Found run(const std::string& body, bool older_values = true) {
  KernelOptions options;
  options.grid = {2, 1, 1};
  options.older_values = older_values;
  options.out_is_written = true;
  const KernelRun run = run_kernel(
      kernel_text("mov.u32 %r0, %tid.x; mov.u32 %r10, %ctaid.x; setp.eq.u32 %p0, %r0, 0; "
                  "setp.eq.u32 %p1, %r10, 0;\n" +
                      body,
                  90,
                  ".global .align 4 .u32 cell; .global .align 4 .u32 flag; .shared .align 4 .b8 "
                  "tile[256];"),
      {}, 256, options);
  EXPECT_TRUE(run.outcome.completed) << findings_text(run.outcome);
  return {run.values<std::uint32_t>()[0], run.outcome.older_values, run.outcome.findings};
}

// Both CTAs store 7 and 8 into words of their own, and count; the last one adds the words up.
std::string last_block(const std::string& store, const std::string& behind_store,
                       const std::string& behind_count, const std::string& load) {
  return "@!%p0 ret; mul.wide.u32 %d1, %r10, 4; add.s64 %d1, %out, %d1; add.s64 %d1, %d1, 64; "
         "add.u32 %r1, %r10, 7;\n" +
         store + " [%d1], %r1;\n" + behind_store +
         "\natom.global.add.u32 %r2, [flag], 1; setp.ne.u32 %p2, %r2, 1; @%p2 ret;\n" +
         behind_count + "\n" + load + " %r3, [%out+64];\n" + load +
         " %r4, [%out+68];\nadd.u32 %r3, %r3, %r4; st.global.u32 [%out], %r3;";
}

TEST(OlderValues, AreFoundWhereNoFenceFollowsTheStore) {
  for (const std::string scope : {"volatile.global.u32", "relaxed.gpu.global.u32"}) {
    const std::string store = "st." + scope, load = "ld." + scope;
    for (const std::string behind_count : {"", "membar.gl;"}) {
      const Found found = run(last_block(store, "", behind_count, load));
      EXPECT_EQ(found.value, 8u) << "CTA 0's word is still 0";
      ASSERT_EQ(found.older.size(), 1u);
      EXPECT_EQ(found.older[0].ptx_line, 16);
      EXPECT_THAT(found.older[0].text(),
                  HasSubstr("reads byte 64 of \"out\", which cta 0,0,0 wrote at line 12 with "
                            "nothing that orders the two, such as a fence (__threadfence()) behind "
                            "the write; the load may find what was there before"));
      EXPECT_TRUE(found.findings.empty());
      // A fence behind the store is enough: chips perform volatile loads in their order.
      const Found fenced = run(last_block(store, "membar.gl;", behind_count, load));
      EXPECT_EQ(fenced.value, 15u);
      EXPECT_TRUE(fenced.older.empty());
    }
    EXPECT_EQ(run(last_block(store, "", "", load), false).value, 15u) << "unless asked for";
  }
}

TEST(OlderValues, OfAtomicsAreFoundLikewise) {
  const auto sum = [](const std::string& behind) {
    return run("@!%p0 ret; add.u32 %r1, %r10, 7; red.global.add.u32 [cell], %r1; " + behind +
               " atom.global.add.u32 %r2, [flag], 1; setp.ne.u32 %p2, %r2, 1; @%p2 ret; "
               "ld.volatile.global.u32 %r3, [cell]; st.global.u32 [%out], %r3;");
  };
  // CTA 1 has made the last sum itself.
  EXPECT_EQ(sum("").value, 15u);
  EXPECT_EQ(sum("membar.gl;").value, 15u);
  // Here CTA 1 adds nothing.
  const auto of_one = [](const std::string& behind) {
    return run("@!%p0 ret; @%p1 red.global.add.u32 [cell], 7; " + behind +
               " atom.global.add.u32 %r2, [flag], 1; setp.ne.u32 %p2, %r2, 1; @%p2 ret; "
               "ld.volatile.global.u32 %r3, [cell]; st.global.u32 [%out], %r3;");
  };
  EXPECT_EQ(of_one("").value, 0u);
  EXPECT_EQ(of_one("").older.size(), 1u);
  EXPECT_EQ(of_one("membar.gl;").value, 7u);
}

TEST(OlderValues, LetLoopsThatPollGoOn) {
  const std::string body =
      "@!%p0 ret; @%p1 bra WAIT; st.global.u32 [cell], 5; st.release.gpu.global.u32 [flag], 1; "
      "ret;\n"
      "WAIT: ld.acquire.gpu.global.u32 %r1, [flag]; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT;\n"
      "ld.global.u32 %r2, [cell]; st.global.u32 [%out], %r2;";
  const Found found = run(body);
  EXPECT_EQ(found.value, 5u);
  EXPECT_TRUE(found.older.empty()) << "the load was made again";
  EXPECT_TRUE(found.findings.empty()) << "an older flag passes nothing on";
}

// A flag and a value in one word need no order.
TEST(OlderValues, AreHarmlessInOneWordWithTheirFlag) {
  const Found found = run(
      "@!%p0 ret; @%p1 bra WAIT; mov.u64 %d1, 0x100000005; st.volatile.global.u64 [%out+8], %d1; "
      "ret;\nWAIT: ld.volatile.global.u64 %d2, [%out+8]; shr.u64 %d3, %d2, 32; setp.eq.u64 %p2, "
      "%d3, 0; @%p2 bra WAIT; st.global.u32 [%out], %d2;");
  EXPECT_EQ(found.value, 5u);
  EXPECT_TRUE(found.older.empty());
}

TEST(OlderValues, AreFoundBetweenLanesThatHaveNotMet) {
  // Each lane stores, and lane 0 adds what lane 1 stored.
  const auto lanes = [](const std::string& between) {
    return run(
        "@!%p1 ret; mov.u32 %r20, tile; mad.lo.u32 %r21, %r0, 4, %r20; st.volatile.shared.u32 "
        "[%r21], 0; bar.sync 0; add.u32 %r1, %r0, 7;\nst.volatile.shared.u32 [%r21], %r1;\n" +
        between + "\nld.volatile.shared.u32 %r2, [%r20+4]; @%p0 st.global.u32 [%out], %r2;");
  };
  const Found found = lanes("");
  EXPECT_EQ(found.value, 0u);
  ASSERT_EQ(found.older.size(), 1u);
  EXPECT_THAT(found.older[0].text(),
              HasSubstr("which lane 1 of the same warp wrote at line 12 with no __syncwarp()"));
  for (const std::string between :
       {"bar.warp.sync -1;", "bar.sync 0;", "shfl.sync.idx.b32 %r5, %r0, 0, 31, -1;"}) {
    EXPECT_EQ(lanes(between).value, 8u) << between;
    EXPECT_TRUE(lanes(between).older.empty()) << between;
  }
}

// A strong access is a race with a plain one, as an atomic is.
TEST(StrongAccesses, AreRacesWithPlainOnesOfOtherCtas) {
  const auto kinds = [](const std::string& body) { return run(body, false).findings.size(); };
  const std::string ends = "ret;\nSECOND: ";
  const std::string second = "@!%p0 ret; @!%p1 bra SECOND; ";
  const std::string plain_load = "ld.global.u32 %r1, [cell];";
  const std::string strong_load = "ld.volatile.global.u32 %r1, [cell];";
  const std::string plain_store = "st.global.u32 [cell], 5;";
  const std::string strong_store = "st.volatile.global.u32 [cell], 5;";
  EXPECT_EQ(kinds(second + plain_store + ends + strong_load), 1u);
  EXPECT_EQ(kinds(second + strong_store + ends + plain_load), 1u);
  EXPECT_EQ(kinds(second + plain_load + ends + strong_store), 1u);
  EXPECT_EQ(kinds(second + strong_store + ends + strong_load), 0u);
  EXPECT_EQ(kinds(second + strong_load + ends + plain_load), 0u);
  EXPECT_EQ(kinds(second + plain_store + ends + "ld.relaxed.gpu.global.u32 %r1, [flag];"), 0u);
}

}  // namespace
}  // namespace plumbline::emulator
