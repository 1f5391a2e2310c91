// SPDX-License-Identifier: MIT
// shfl, vote, match, redux, elect, activemask: against the ISA's formulas lane by lane.
#include <algorithm>

#include "oracles/base/random.h"
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

std::vector<u32> values() {
  std::vector<u32> in(32);
  Random random(8);
  for (u32& v : in) v = static_cast<u32>(random.next());
  return in;
}

// %r1 holds the lane's value; the result goes from %r2, and %r3 beside it.
std::vector<u32> run(const std::string& body, std::vector<u32> in = values(), bool clean = true) {
  const std::string text =
      "mov.u32 %r0, %laneid; mul.wide.u32 %d0, %r0, 4; add.s64 %d0, %in, %d0; ld.global.u32 %r1, "
      "[%d0];\n"
      "mul.wide.u32 %d1, %r0, 8; add.s64 %d1, %out, %d1; mov.u32 %r2, 0; mov.u32 %r3, 0;\n" +
      body + "\nst.global.v2.u32 [%d1], {%r2, %r3};";
  const KernelRun run = run_kernel(kernel_text(text), bytes_of(in), 256);
  EXPECT_EQ(run.outcome.findings.empty(), clean) << findings_text(run.outcome);
  return run.values<u32>();
}

TEST(Shuffle, FollowsTheFormulaOfTheIsa) {
  const std::vector<u32> in = values();

  struct Mode {
    const char* name;
    int (*from)(int lane, int b, int segment);
    bool up;
  };

  const Mode kModes[] = {
      {"up", [](int lane, int b, int) { return lane - b; }, true},
      {"down", [](int lane, int b, int) { return lane + b; }, false},
      {"bfly", [](int lane, int b, int) { return lane ^ b; }, false},
      {"idx", [](int lane, int b, int segment) { return (lane & segment) | (b & ~segment); },
       false}};
  for (const Mode& mode : kModes) {
    for (const int b : {0, 1, 2, 5, 16, 31}) {
      for (const int c : {0x1f, 0x00, 0x181f, 0x1807, 0x1c03, 0x1018}) {
        const std::vector<u32> out =
            run(fmt::format("shfl.sync.{}.b32 %r2|%p1, %r1, {}, {}, -1; selp.u32 %r3, 1, 0, %p1;",
                            mode.name, b, c));
        const int segment = c >> 8 & 31, clamp = c & 31;
        for (int lane = 0; lane < 32; ++lane) {
          const int bound = (lane & segment) | (clamp & ~segment);
          int from = mode.from(lane, b, segment);
          const bool in_range = mode.up ? from >= bound : from <= bound;
          if (!in_range) from = lane;
          if (from < 0 || from > 31) continue;
          ASSERT_EQ(out[2 * lane], in[from])
              << mode.name << " b " << b << " c " << c << " lane " << lane;
          ASSERT_EQ(out[2 * lane + 1], in_range ? 1u : 0u);
        }
      }
    }
  }
}

TEST(Shuffle, DivergedLanesMeetAtTheInstruction) {
  // Both halves arrive from different branches at one shfl.
  const std::vector<u32> in = values();
  const std::vector<u32> out = run(R"(
    setp.lt.u32 %p1, %r0, 16; @%p1 bra A;
    add.u32 %r1, %r1, 1; bra B;
  A: add.u32 %r1, %r1, 2;
  B: shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;)");
  for (u32 lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[2 * lane], in[lane ^ 16] + (lane < 16 ? 1 : 2));
}

// What it gives is not defined; trees over a part of a warp read such lanes and use nothing of
// them.
TEST(Shuffle, ReadingALaneThatTakesNoPartIsAFindingWhereItMatters) {
  KernelOptions options;
  const auto run = [&] {
    return run_kernel(kernel_text("mov.u32 %r0, %laneid; setp.gt.u32 %p1, %r0, 15; @%p1 ret;\n"
                                  "shfl.sync.down.b32 %r1, %r0, 8, 31, 0xffff;\n"
                                  "mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %out, %d0; "
                                  "st.global.u32 [%d1], %r1;"),
                      {}, 64, options);
  };
  const KernelRun first = run();
  EXPECT_TRUE(first.outcome.findings.empty());
  ASSERT_EQ(first.outcome.unwritten_registers.size(), 1u);
  const Finding& finding = first.outcome.unwritten_registers[0];
  EXPECT_EQ(finding.kind, FindingKind::bad_operand);
  EXPECT_EQ(finding.ptx_line, 11);
  options.register_garbage = 0xdc;
  const KernelRun again = run();
  for (std::size_t lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(again.values<u32>()[lane], lane < 8 ? lane + 8 : 0xdcdcdcdcu) << lane;
  }
}

TEST(Vote, AllAnyUniAndBallot) {
  const std::vector<u32> out = run(
      "setp.lt.u32 %p1, %r0, 5; vote.sync.ballot.b32 %r2, %p1, -1; vote.sync.all.pred %p2, %p1, -1;"
      "vote.sync.any.pred %p3, %p1, -1; vote.sync.uni.pred %p4, %p1, 0xffffffff; "
      "vote.sync.all.pred %p5, !%p1, 0xffffffff;"
      "selp.u32 %r4, 1, 0, %p2; selp.u32 %r5, 2, 0, %p3; selp.u32 %r6, 4, 0, %p4; selp.u32 %r7, 8, "
      "0, %p5;"
      "or.b32 %r3, %r4, %r5; or.b32 %r3, %r3, %r6; or.b32 %r3, %r3, %r7;");
  for (u32 lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[2 * lane], 0x1fu);
    EXPECT_EQ(out[2 * lane + 1], 2u);
  }
}

TEST(Vote, HalvesOfAWarpWithTheirOwnMasks) {
  const std::vector<u32> out =
      run("setp.lt.u32 %p1, %r0, 16; selp.b32 %r4, 0xffff, 0xffff0000, %p1; and.b32 %r5, %r0, 1; "
          "setp.eq.u32 %p2, %r5, 0;"
          "vote.ballot.sync.b32 %r2, %p2, %r4; elect.sync %r3|%p3, %r4;");
  for (u32 lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[2 * lane], lane < 16 ? 0x5555u : 0x55550000u);
    EXPECT_EQ(out[2 * lane + 1], lane < 16 ? 0u : 16u);
  }
}

TEST(Match, AnyAndAll) {
  std::vector<u32> in(32);
  for (u32 lane = 0; lane < 32; ++lane) in[lane] = lane % 3;
  const std::vector<u32> any =
      run("match.any.sync.b32 %r2, %r1, -1; match.all.sync.b32 %r3|%p1, %r1, -1;", in);
  for (u32 lane = 0; lane < 32; ++lane) {
    u32 want = 0;
    for (u32 i = 0; i < 32; ++i) want |= u32{in[i] == in[lane]} << i;
    EXPECT_EQ(any[2 * lane], want);
    EXPECT_EQ(any[2 * lane + 1], 0u);
  }
  const std::vector<u32> all =
      run("match.all.sync.b32 %r2|%p1, %r1, -1; selp.u32 %r3, 1, 0, %p1;", std::vector<u32>(32, 9));
  EXPECT_EQ(all[0], 0xffffffffu);
  EXPECT_EQ(all[1], 1u);
}

TEST(Redux, EveryOperation) {
  const std::vector<u32> in = values();
  const auto reduce = [&](const char* form) {
    return run(fmt::format("redux.sync.{} %r2, %r1, -1;", form))[62];
  };
  u32 sum = 0, conjunction = ~0u, disjunction = 0, parity = 0;
  for (const u32 v : in) sum += v, conjunction &= v, disjunction |= v, parity ^= v;
  const auto smaller = [](u32 a, u32 b) {
    return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
  };
  EXPECT_EQ(reduce("add.s32"), sum);
  EXPECT_EQ(reduce("add.u32"), sum);
  EXPECT_EQ(reduce("min.u32"), *std::min_element(in.begin(), in.end()));
  EXPECT_EQ(reduce("max.u32"), *std::max_element(in.begin(), in.end()));
  EXPECT_EQ(reduce("min.s32"), *std::min_element(in.begin(), in.end(), smaller));
  EXPECT_EQ(reduce("max.s32"), *std::max_element(in.begin(), in.end(), smaller));
  EXPECT_EQ(reduce("and.b32"), conjunction);
  EXPECT_EQ(reduce("or.b32"), disjunction);
  EXPECT_EQ(reduce("xor.b32"), parity);
}

TEST(ActiveMask, IsTheGroupThatRuns) {
  const std::vector<u32> out =
      run("setp.lt.u32 %p1, %r0, 8; @%p1 bra A; activemask.b32 %r2; bra B;\nA: activemask.b32 "
          "%r2;\nB: mov.u32 %r3, 0;");
  EXPECT_EQ(out[0], 0xffu);
  EXPECT_EQ(out[62], 0xffffff00u);
}

TEST(Redux, FloatsPreferNumbersUnlessNaNIsAskedFor) {
  const auto reduce = [](const std::string& form, std::vector<u32> in) {
    KernelOptions options;
    options.emulator.sm = 100;
    const std::string body =
        "mov.u32 %r0, %laneid; mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %in, %d0; add.s64 %d2, %out, "
        "%d0;"
        " ld.global.f32 %f1, [%d1]; redux.sync." +
        form + ".f32 %f2, %f1, -1; st.global.f32 [%d2], %f2;";
    return run_kernel(kernel_text(body, 100), bytes_of(in), 128, options).values<u32>()[9];
  };
  const auto bits = [](float x) { return std::bit_cast<u32>(x); };
  std::vector<u32> in(32, bits(1));
  in[3] = bits(-7);
  in[20] = bits(5);
  EXPECT_EQ(reduce("max", in), bits(5));
  EXPECT_EQ(reduce("min", in), bits(-7));
  EXPECT_EQ(reduce("max.abs", in), bits(7));
  EXPECT_EQ(reduce("min.abs", in), bits(1));
  in[7] = 0xffc00001;
  EXPECT_EQ(reduce("max", in), bits(5));
  EXPECT_EQ(reduce("max.NaN", in), 0x7fffffffu);
  EXPECT_EQ(reduce("min.abs.NaN", in), 0x7fffffffu);
  EXPECT_EQ(reduce("min", std::vector<u32>(32, 0x7f800001)), 0x7fffffffu);
  std::vector<u32> zeros(32, bits(0.0f));
  zeros[11] = bits(-0.0f);
  EXPECT_EQ(reduce("min", zeros), 0x80000000u);
  EXPECT_EQ(reduce("max", std::vector<u32>{zeros}), 0u);
  EXPECT_EQ(reduce("min.abs", zeros), 0u);
}

}  // namespace
}  // namespace plumbline::emulator
