// SPDX-License-Identifier: MIT
// Lanes that part and meet: loops of different length, early exits, nested branches, spinning on a
// lane of the same warp.
#include "tests/harness/emulator/emulator_run.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;

constexpr std::string_view kThread = R"(
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r0, %r1, %r2, %r0;
  mul.wide.u32 %d0, %r0, 4; add.s64 %d1, %out, %d0; add.s64 %d2, %in, %d0;
)";

std::vector<u32> run(const std::string& body, std::vector<u32> in, std::int64_t threads,
                     std::int64_t ctas = 1, int workers = 1,
                     std::uint64_t* instructions = nullptr) {
  KernelOptions options;
  options.block = {threads, 1, 1};
  options.grid = {ctas, 1, 1};
  options.emulator.threads = workers;
  const KernelRun run = run_kernel(kernel_text(std::string(kThread) + body), bytes_of(in),
                                   static_cast<std::size_t>(threads * ctas) * 4, options);
  EXPECT_TRUE(run.outcome.findings.empty()) << findings_text(run.outcome);
  EXPECT_TRUE(run.outcome.completed);
  if (instructions != nullptr) *instructions = run.outcome.instructions;
  return run.values<u32>();
}

constexpr const char* kCollatz = R"(
    ld.global.u32 %r3, [%d2]; mov.u32 %r4, 0;
  LOOP:
    setp.le.u32 %p1, %r3, 1; @%p1 bra DONE;
    add.u32 %r4, %r4, 1; and.b32 %r5, %r3, 1; setp.eq.u32 %p2, %r5, 0; @%p2 bra EVEN;
    mad.lo.u32 %r3, %r3, 3, 1; bra LOOP;
  EVEN:
    shr.u32 %r3, %r3, 1; bra LOOP;
  DONE:
    st.global.u32 [%d1], %r4;)";

u32 collatz(u32 n) {
  u32 steps = 0;
  for (; n > 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps;
}

TEST(Divergence, CollatzLengthsOfEveryLane) {
  std::vector<u32> in(512);
  for (u32 i = 0; i < in.size(); ++i) in[i] = i * 37 + 1;
  std::uint64_t one = 0, three = 0;
  const std::vector<u32> out = run(kCollatz, in, 128, 4, 1, &one);
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], collatz(in[i]));
  EXPECT_EQ(run(kCollatz, in, 128, 4, 3, &three), out);
  EXPECT_EQ(one, three);
}

TEST(Divergence, PartialWarpsRunTheirLanesOnly) {
  for (const std::int64_t threads : {1, 7, 31, 33, 40}) {
    std::vector<u32> in(static_cast<std::size_t>(threads));
    for (u32 i = 0; i < in.size(); ++i) in[i] = i + 20;
    const std::vector<u32> out = run(kCollatz, in, threads);
    for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], collatz(in[i])) << threads;
  }
}

TEST(Divergence, BranchesByIndexGoToEveryLabelOfTheirList) {
  // A switch in a loop: back, forward, to the next instruction, and two numbers for one label. Odd
  // lanes skip it the first time.
  constexpr const char* kSwitch = R"(
    ld.global.u32 %r3, [%d2]; mov.u32 %r4, 0; and.b32 %r6, %r0, 1; setp.eq.u32 %p1, %r6, 0;
  TABLE: .branchtargets BACK, NEXT, FAR, FAR, DONE;
    bra CHOOSE;
  BACK: add.u32 %r4, %r4, 100; mov.u32 %r3, 2;
  CHOOSE: @%p1 brx.idx %r3, TABLE;
  NEXT: add.u32 %r4, %r4, 1; mov.u32 %r3, 4; setp.eq.u32 %p1, %r0, %r0; bra.uni CHOOSE;
  FAR: add.u32 %r4, %r4, 10;
  DONE: st.global.u32 [%d1], %r4;)";
  std::vector<u32> in(32);
  for (u32 i = 0; i < 32; ++i) in[i] = i / 2 % 5;
  const std::vector<u32> out = run(kSwitch, in, 32);
  constexpr u32 kWant[] = {110, 1, 10, 10, 0};
  for (u32 i = 0; i < 32; ++i) EXPECT_EQ(out[i], i % 2 == 1 ? 1 : kWant[in[i]]) << i;
  // The same for all lanes: they stay together.
  for (u32 chosen = 0; chosen < 5; ++chosen) {
    std::uint64_t instructions = 0;
    const std::vector<u32> same =
        run("setp.eq.u32 %p1, %r0, %r0; ld.global.u32 %r3, [%d2]; T: .branchtargets A, B, C, D, E; "
            "brx.idx.uni %r3, T;"
            "A: add.u32 %r3, %r3, 1; B: add.u32 %r3, %r3, 1; C: add.u32 %r3, %r3, 1; D: add.u32 "
            "%r3, %r3, 1; E: st.global.u32 [%d1], %r3;",
            std::vector<u32>(32, chosen), 32, 1, 1, &instructions);
    EXPECT_EQ(same, std::vector<u32>(32, 4));
    EXPECT_EQ(instructions, 2u + 7 + 3 + (4 - chosen) + 1 + 1) << chosen;
  }
}

// Registers of 16 and of 32 bits have one slot where a thread needs only one of them. Lane 0 waits
// with a value of 32 bits while the others compute with 16.
TEST(Divergence, NarrowResultsLeaveTheRegistersOfOtherLanesAlone) {
  for (const char* narrow :
       {"mov.u16 %h1, 7;", "cvt.u16.u32 %h1, %r0;", "ld.global.u16 %h1, [%in];",
        "cvt.u16.u32 %h1, %r0; add.u16 %h1, %h1, 3;", "mov.u16 %h1, 7; shl.b16 %h1, %h1, 2;",
        "mov.u16 %h1, 7; not.b16 %h1, %h1;", "mov.u16 %h1, 7; mad.lo.u16 %h1, %h1, %h1, %h1;",
        "mov.u16 %h1, 7; selp.b16 %h1, %h1, 9, %p0;", "mov.u16 %h1, 7; max.s16 %h1, %h1, 9;",
        "mov.b16 %h1, 0x3c00; fma.rn.f16 %h1, %h1, %h1, %h1;",
        "mov.u32 %r3, 70000; mov.b32 {%h1, %h2}, %r3;",
        "mov.f32 %f1, 0f3f800000; cvt.rn.bf16.f32 %h1, %f1;"}) {
    const KernelRun done = run_kernel(
        kernel_text(std::string("mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; "
                                "@%p0 bra OTHERS; mov.u32 %r1, 70000; bar.warp.sync 0xffffffff; "
                                "st.global.u32 [%out], %r1; bra END; OTHERS: ") +
                        narrow +
                        " bar.warp.sync 0xffffffff; cvt.u32.u16 %r2, %h1; setp.ne.u32 %p1, %r0, 1; "
                        "@%p1 bra END; st.global.u32 [%out+4], %r2; END: ret;",
                    90),
        std::vector<std::byte>(16), 8);
    ASSERT_TRUE(done.outcome.findings.empty()) << narrow << findings_text(done.outcome);
    EXPECT_EQ(done.values<std::uint32_t>()[0], 70000u) << narrow;
  }
}

TEST(Divergence, LanesThatLeaveEarlyDoNotComeBack) {
  const std::vector<u32> out = run(R"(
    mov.u32 %r4, 1; st.global.u32 [%d1], %r4; and.b32 %r5, %r0, 3; setp.eq.u32 %p1, %r5, 2; @%p1 exit;
    mov.u32 %r4, 2; st.global.u32 [%d1], %r4; setp.gt.u32 %p2, %r0, 20; @%p2 ret;
    mov.u32 %r4, 3; st.global.u32 [%d1], %r4;)",
                                   {}, 32);
  for (u32 i = 0; i < 32; ++i) EXPECT_EQ(out[i], i % 4 == 2 ? 1u : (i > 20 ? 2u : 3u)) << i;
}

TEST(Divergence, LanesThatLeaveAreNoLongerWaitedFor) {
  // The usual bound check: 12 lanes branch to the end, behind the instruction at which the others
  // wait for the warp.
  constexpr const char* kBody = R"(
    .shared .align 4 .b32 tile[32];
    mov.u32 %r5, tile; mad.lo.u32 %r5, %r0, 4, %r5; xor.b32 %r6, %r0, 1; mov.u32 %r7, tile; mad.lo.u32 %r7, %r6, 4, %r7;
    setp.ge.u32 %p1, %r0, 20; @%p1 bra EXIT;
    setp.lt.u32 %p2, %r0, 5; st.shared.u32 [%r5], %r0;
    {}
    st.global.u32 [%d1], %r4;
  EXIT:)";

  struct Form {
    const char* code;
    u32 (*want)(u32 lane);
  };

  const Form kForms[] = {
      {"vote.sync.ballot.b32 %r4, %p2, -1;", [](u32) { return 0x1fu; }},
      {"shfl.sync.bfly.b32 %r4, %r0, 2, 31, -1;", [](u32 lane) { return lane ^ 2; }},
      {"redux.sync.add.u32 %r4, %r0, -1;", [](u32) { return 190u; }},
      {"bar.warp.sync -1; ld.shared.u32 %r4, [%r7];", [](u32 lane) { return lane ^ 1; }},
      {"@%p2 bar.warp.sync 0xfff0001f; mov.u32 %r4, 3;", [](u32) { return 3u; }},
  };
  for (const Form& form : kForms) {
    const std::vector<u32> out = run(fmt::format(kBody, form.code), {}, 32);
    for (u32 i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 20 ? form.want(i) : 0u) << form.code << i;
  }
}

TEST(Divergence, LanesThatWaitStillWaitForThoseThatStay) {
  // Lanes 0 to 7 wait from the start; 24 to 31 leave, 8 to 15 come from a loop, and 16 to 23 leave
  // last.
  const std::vector<u32> out = run(R"(
    mov.u32 %r4, 0; setp.lt.u32 %p1, %r0, 8; setp.ge.u32 %p3, %r0, 16; setp.ge.u32 %p2, %r0, 24; @%p2 bra EXIT;
    @%p1 bra MEET; selp.u32 %r6, 3000, 1000, %p3;
  COUNT: add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, %r6; @%p4 bra COUNT;
    @%p3 bra EXIT;
  MEET: vote.sync.ballot.b32 %r5, %p1, -1; add.u32 %r5, %r5, %r4; st.global.u32 [%d1], %r5;
  EXIT:)",
                                   {}, 32);
  for (u32 i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 8 ? 0xffu : (i < 16 ? 0xff + 1000u : 0u)) << i;
}

TEST(Divergence, NestedBranchesMergeAgain) {
  // After the branches the warp is whole: the ballot sees all lanes.
  const std::vector<u32> out = run(R"(
    mov.u32 %r4, 0; and.b32 %r5, %r0, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra A;
    and.b32 %r5, %r0, 2; setp.eq.u32 %p2, %r5, 0; @!%p2 bra C; add.u32 %r4, %r4, 1; bra C;
  A: add.u32 %r4, %r4, 10; setp.gt.u32 %p3, %r0, 15; @%p3 bra B; add.u32 %r4, %r4, 100;
  B: add.u32 %r4, %r4, 1000;
  C: activemask.b32 %r6; xor.b32 %r6, %r6, 0xffffffff; add.u32 %r4, %r4, %r6; st.global.u32 [%d1], %r4;)",
                                   {}, 32);
  for (u32 i = 0; i < 32; ++i) {
    const u32 want = i % 2 == 0 ? 1010 + (i > 15 ? 0 : 100) : ((i & 2) == 0 ? 1 : 0);
    EXPECT_EQ(out[i], want) << i;
  }
}

TEST(Divergence, ALaneMaySpinOnALaneOfItsOwnWarp) {
  // Lane 0 sits behind the loop in which the others wait for it.
  const std::vector<u32> out = run(R"(
    .shared .align 4 .b32 flag;
    mov.u32 %r4, 0; setp.eq.u32 %p1, %r0, 0; @%p1 st.volatile.shared.u32 [flag], %r4; bar.warp.sync -1;
    @%p1 bra SET;
  SPIN:
    ld.volatile.shared.u32 %r4, [flag]; setp.eq.u32 %p2, %r4, 0; @%p2 bra SPIN;
    bra END;
  SET:
    mov.u32 %r4, 7; st.volatile.shared.u32 [flag], %r4;
  END:
    st.global.u32 [%d1], %r4;)",
                                   {}, 32);
  for (u32 i = 0; i < 32; ++i) EXPECT_EQ(out[i], 7u);
}

TEST(Divergence, ALaneThatRunsAheadIn64BitsLeavesThe32BitsOfLanesThatWait) {
  // Lanes 0 to 15 hold numbers of 32 bits while the others compute in 64. Registers of both are
  // never alive on one way, but a lane of 64 bits lies where, in a register of 32, another lane has
  // its place.
  const std::vector<u32> out = run(R"(
    .shared .align 4 .b32 flag;
    mov.u32 %r4, 0; setp.eq.u32 %p1, %r0, 0; @%p1 st.volatile.shared.u32 [flag], %r4; bar.warp.sync -1;
    setp.ge.u32 %p2, %r0, 16; @%p2 bra AHEAD;
    add.u32 %r5, %r0, 100; add.u32 %r6, %r0, 200; add.u32 %r7, %r0, 300; add.u32 %r8, %r0, 400;
  SPIN:
    ld.volatile.shared.u32 %r4, [flag]; setp.eq.u32 %p3, %r4, 0; @%p3 bra SPIN;
    add.u32 %r5, %r5, %r6; add.u32 %r7, %r7, %r8; add.u32 %r10, %r5, %r7;
    bra END;
  AHEAD:
    mul.wide.u32 %d5, %r0, 65537; add.s64 %d6, %d5, 7; add.s64 %d7, %d6, %d5; add.s64 %d8, %d7, %d6;
    add.s64 %d5, %d5, %d6; add.s64 %d7, %d7, %d8; add.s64 %d5, %d5, %d7; cvt.u32.u64 %r10, %d5;
    mov.u32 %r4, 1; setp.eq.u32 %p1, %r0, 16; @%p1 st.volatile.shared.u32 [flag], %r4;
  END:
    st.global.u32 [%d1], %r10;)",
                                   {}, 32);
  for (u32 i = 0; i < 16; ++i) EXPECT_EQ(out[i], 4 * i + 1000) << i;
}

TEST(Divergence, PredicatedInstructionsTouchTheirLanesOnly) {
  const std::vector<u32> out = run(R"(
    mov.u32 %r4, 1; and.b32 %r5, %r0, 1; setp.ne.u32 %p1, %r5, 0;
    @%p1 mov.u32 %r4, 2; @!%p1 add.u32 %r4, %r4, 4; @%p1 st.global.u32 [%d1], %r4; @!%p1 st.global.u32 [%d1], %r4;)",
                                   {}, 32);
  for (u32 i = 0; i < 32; ++i) EXPECT_EQ(out[i], i % 2 != 0 ? 2u : 5u);
}

TEST(WarpBarrier, LanesOfOneInstructionMayHaveTheirOwnMasks) {
  // Tiles of 16 and of 4 lanes, as cooperative groups partition a warp.
  for (const u32 size : {16u, 4u}) {
    const std::vector<u32> out = run(fmt::format(R"(
    .shared .align 4 .b32 tile[32];
    mov.u32 %r5, tile; mad.lo.u32 %r5, %r0, 4, %r5; xor.b32 %r6, %r0, {0}; mov.u32 %r7, tile; mad.lo.u32 %r7, %r6, 4, %r7;
    and.b32 %r8, %r0, {1}; mov.u32 %r9, {2}; shl.b32 %r9, %r9, %r8;
    st.shared.u32 [%r5], %r0; bar.warp.sync %r9; ld.shared.u32 %r4, [%r7]; st.global.u32 [%d1], %r4;)",
                                                 size - 1, 32 - size, (1u << size) - 1),
                                     {}, 32);
    for (u32 i = 0; i < 32; ++i) EXPECT_EQ(out[i], i ^ (size - 1)) << size;
  }
}

// Lanes 0 to 15 go one way and the others another; both write, meet at a bar.warp.sync of their
// own, read what the other half wrote, and part for good. %p2 is for those that leave early.
constexpr const char* kMeetInTwoPlaces = R"(
    .shared .align 4 .b32 tile[32];
    mov.u32 %r5, tile; mad.lo.u32 %r5, %r0, 4, %r5; xor.b32 %r6, %r0, 16; mov.u32 %r7, tile; mad.lo.u32 %r7, %r6, 4, %r7;
    setp.ge.u32 %p1, %r0, 16; and.b32 %r8, %r0, 15; setp.ge.u32 %p2, %r8, {};
    @%p1 bra SECOND;
    @%p2 bra EXIT; st.shared.u32 [%r5], %r0; bar.warp.sync -1; ld.shared.u32 %r4, [%r7]; add.u32 %r4, %r4, 100; bra STORE;
  SECOND:
    @%p2 bra EXIT; st.shared.u32 [%r5], %r0; bar.warp.sync -1; ld.shared.u32 %r4, [%r7]; add.u32 %r4, %r4, 200;
  STORE:
    st.global.u32 [%d1], %r4;
  EXIT:)";

TEST(WarpBarrier, LanesMeetWhereverTheyComeToOne) {
  for (const u32 staying : {16u, 9u}) {
    const std::vector<u32> out = run(fmt::format(kMeetInTwoPlaces, staying), {}, 32);
    for (u32 i = 0; i < 32; ++i)
      EXPECT_EQ(out[i], i % 16 >= staying ? 0 : (i ^ 16) + (i < 16 ? 100 : 200)) << staying;
  }
}

TEST(WarpBarrier, OrdersLanesThatPartAgainBehindIt) {
  // Each half has its own mask: even lanes write, all of the half meet, odd lanes read on a way of
  // their own.
  const std::vector<u32> out = run(R"(
    .shared .align 4 .b32 tile[32];
    mov.u32 %r5, tile; mad.lo.u32 %r5, %r0, 4, %r5; setp.ge.u32 %p1, %r0, 16; and.b32 %r6, %r0, 1; setp.eq.u32 %p2, %r6, 0; mov.u32 %r4, 7;
    @%p1 bra SECOND;
    @!%p2 bra A; st.shared.u32 [%r5], %r0; A: bar.warp.sync 0xffff; @%p2 bra STORE; ld.shared.u32 %r4, [%r5+-4]; bra STORE;
  SECOND:
    @!%p2 bra B; st.shared.u32 [%r5], %r0; B: bar.warp.sync 0xffff0000; @%p2 bra STORE; ld.shared.u32 %r4, [%r5+-4];
  STORE:
    st.global.u32 [%d1], %r4;)",
                                   {}, 32);
  for (u32 i = 0; i < 32; ++i) EXPECT_EQ(out[i], i % 2 == 0 ? 7 : i - 1);
}

}  // namespace
}  // namespace plumbline::emulator
