// SPDX-License-Identifier: MIT
// Liveness and slots against two independent judges: a textbook data-flow solution instruction by
// instruction, and an interpreter that runs random programs once with a cell per register and once
// with the slots.
#include "harness/emulator/decode/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "tests/harness/emulator/ptx_text.h"
#include "tests/harness/emulator/random_program.h"

namespace plumbline::emulator {
namespace {

using test::ProgramShape;
using test::random_program;

struct Uses {
  std::set<int> read;
  std::set<int> written;
  std::set<int> killed;
};

Uses uses_of(const Instruction& instruction) {
  Uses uses;
  for_each_register(instruction, default_role, [&](int r, OperandRole role) {
    if (role != OperandRole::write) uses.read.insert(r);
    if (role != OperandRole::read) uses.written.insert(r);
    if (role == OperandRole::write && instruction.guard < 0) uses.killed.insert(r);
  });
  return uses;
}

std::vector<int> successors(const Function& function, int i) {
  const Instruction& instruction = function.instructions[i];
  std::vector<int> result;
  const bool leaves = instruction.opcode == "bra" || instruction.opcode == "ret";
  if (instruction.opcode == "bra")
    result.push_back(function.labels[instruction.operands[0].index].target);
  if (!leaves || instruction.guard >= 0) result.push_back(i + 1);
  std::erase(result, static_cast<int>(function.instructions.size()));
  return result;
}

struct LiveSets {
  std::vector<std::set<int>> before;
  std::vector<std::set<int>> after;
};

// The data-flow equations, iterated until nothing changes.
LiveSets solve(const Function& function) {
  const auto count = static_cast<int>(function.instructions.size());
  LiveSets live{std::vector<std::set<int>>(count), std::vector<std::set<int>>(count)};
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = count - 1; i >= 0; --i) {
      std::set<int> after;
      for (const int next : successors(function, i)) {
        after.insert(live.before[next].begin(), live.before[next].end());
      }
      const Uses uses = uses_of(function.instructions[i]);
      std::set<int> before = uses.read;
      for (const int r : after) {
        if (!uses.killed.contains(r)) before.insert(r);
      }
      changed |= before != live.before[i] || after != live.after[i];
      live.before[i] = before;
      live.after[i] = after;
    }
  }
  return live;
}

std::set<std::pair<bool, int>> cells(const Function& function, const SlotMap& map, int r) {
  if (function.registers[r].is_predicate()) return {{true, map.predicate_slot[r]}};
  std::set<std::pair<bool, int>> result;
  for (int k = 0; k < std::max(1, function.registers[r].bits / 32); ++k)
    result.insert({false, map.slot[r] + k});
  return result;
}

void expect_disjoint(const Function& function, const SlotMap& map, const std::set<int>& registers) {
  std::size_t separate = 0;
  std::set<std::pair<bool, int>> all;
  for (const int r : registers) {
    const auto own = cells(function, map, r);
    separate += own.size();
    all.insert(own.begin(), own.end());
  }
  EXPECT_EQ(all.size(), separate);
}

TEST(Liveness, RegistersAliveTogetherNeverShare) {
  Random random(1);
  for (int round = 0; round < 150 && !HasFailure(); ++round) {
    const Function function = random_program(random, ProgramShape{});
    const LiveSets live = solve(function);
    const SlotMap map = assign_slots(function);
    const auto intervals = live_intervals(function, control_flow(function), default_role);
    for (std::size_t i = 0; i < function.instructions.size(); ++i) {
      const Uses uses = uses_of(function.instructions[i]);
      std::set<int> together = live.before[i];
      together.insert(live.after[i].begin(), live.after[i].end());
      together.insert(uses.written.begin(), uses.written.end());
      expect_disjoint(function, map, together);
      for (const int r : together) {
        EXPECT_LE(intervals[r].first, static_cast<int>(i));
        EXPECT_GE(intervals[r].last, static_cast<int>(i));
      }
    }
  }
}

// A warp of a few lanes, each with its own place in the program; which go on together is random.
class Machine {
 public:
  static constexpr int kLanes = 3;

  // With a map registers live in its slots; without, each in a cell of its own.
  Machine(const Function& function, const SlotMap* map) : function_(function), map_(map) {
    const std::size_t cells = 4 * function.registers.size() + 4;
    words_.resize(cells * kLanes);
    predicates_.resize(cells * kLanes);
  }

  // Runs the instruction at this place in these lanes; gives back where they go. Writes what it
  // reads to the trace.
  int step(int place, int lane) {
    const Instruction& instruction = function_.instructions[place];
    const bool runs = instruction.guard < 0 || read(instruction.guard, lane)[0] % 2 != 0;
    std::uint64_t sum = mix(static_cast<std::uint64_t>(place));
    for_each_register(instruction, default_role, [&](int r, OperandRole role) {
      if (role == OperandRole::write) return;
      for (const std::uint32_t word : read(r, lane)) sum = mix(sum ^ word);
    });
    trace_ = mix(trace_ ^ sum);
    if (!runs) return place + 1;
    if (instruction.opcode == "ret") return static_cast<int>(function_.instructions.size());
    if (instruction.opcode == "bra") return function_.labels[instruction.operands[0].index].target;
    for_each_register(instruction, default_role, [&](int r, OperandRole role) {
      if (role != OperandRole::read) write(r, lane, sum = mix(sum));
    });
    return place + 1;
  }

  std::uint64_t trace() const { return trace_; }

 private:
  int words_in(int r) const { return std::max(1, function_.registers[r].bits / 32); }

  // As in a warp: the lanes of a register lie one after the other, each with all of its words.
  std::uint32_t& cell(int r, int word, int lane) {
    if (function_.registers[r].is_predicate())
      return predicates_[(map_ != nullptr ? map_->predicate_slot[r] : r) * kLanes + lane];
    return words_[(map_ != nullptr ? map_->slot[r] : 4 * r) * kLanes + lane * words_in(r) + word];
  }

  std::array<std::uint32_t, 4> read(int r, int lane) {
    std::array<std::uint32_t, 4> value{};
    for (int k = 0; k < words_in(r); ++k) value[k] = cell(r, k, lane);
    return value;
  }

  void write(int r, int lane, std::uint64_t value) {
    for (int k = 0; k < words_in(r); ++k)
      cell(r, k, lane) = static_cast<std::uint32_t>(mix(value + k) >> 7);
  }

  const Function& function_;
  const SlotMap* map_;
  std::vector<std::uint32_t> words_;
  std::vector<std::uint32_t> predicates_;
  std::uint64_t trace_ = 0;
};

TEST(Liveness, SlotsComputeWhatRegistersDoUnderDivergence) {
  Random random(2);
  for (int round = 0; round < 150 && !HasFailure(); ++round) {
    const Function function = random_program(random, ProgramShape{10, 40, 15, 25, true});
    const SlotMap map = assign_slots(function);
    Machine apart(function, nullptr);
    Machine shared(function, &map);
    std::array<int, Machine::kLanes> place{};
    for (int step = 0; step < 400; ++step) {
      const auto chosen = random.below(Machine::kLanes);
      const int here = place[chosen];
      if (here == static_cast<int>(function.instructions.size())) continue;
      for (int lane = 0; lane < Machine::kLanes; ++lane) {
        const bool together = lane == static_cast<int>(chosen) || random.below(2) == 0;
        if (place[lane] != here || !together) continue;
        const int next = apart.step(here, lane);
        EXPECT_EQ(shared.step(here, lane), next);
        place[lane] = next;
      }
      ASSERT_EQ(apart.trace(), shared.trace()) << "round " << round;
    }
  }
}

TEST(Liveness, StraightCodeUsesNoMoreSlotsThanAreAliveAtOnce) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const Function function = random_program(random, ProgramShape{40, 60, 0, 0, false});
    const auto intervals = live_intervals(function, control_flow(function), default_role);
    int most = 0;
    for (int i = 0; i < static_cast<int>(function.instructions.size()); ++i) {
      int alive = 0;
      for (std::size_t r = 0; r < intervals.size(); ++r) {
        const bool here =
            !intervals[r].empty() && intervals[r].first <= i && i <= intervals[r].last;
        alive += here && !function.registers[r].is_predicate() ? 1 : 0;
      }
      most = std::max(most, alive);
    }
    const int words = assign_slots(function).words;
    EXPECT_GE(words, most);
    EXPECT_LE(words, (most + 3) / 4 * 4);  // storage grows in fours
  }
}

TEST(Liveness, AChainOfTemporariesNeedsTwoSlots) {
  std::string code = ".reg .b32 %r<1001>; mov.b32 %r0, 1;\n";
  for (int i = 1; i <= 1000; ++i) {
    code += "add.s32 %r" + std::to_string(i) + ", %r" + std::to_string(i - 1) + ", 1;\n";
  }
  EXPECT_EQ(assign_slots(test::body(code)).words, 2);
}

TEST(Liveness, WhatALoopReadsNextTimeStaysAlive) {
  const Function function = test::body(R"(.reg .b32 keep, t, u; .reg .pred p;
mov.b32 keep, 1;
LOOP: add.s32 t, keep, 1;
add.s32 u, t, 1;
setp.eq.s32 p, u, 0;
@p bra LOOP;
ret;)");
  const auto intervals = live_intervals(function, control_flow(function), default_role);
  EXPECT_EQ(intervals[0].first, 0);
  EXPECT_EQ(intervals[0].last, 4);
  EXPECT_EQ(assign_slots(function).predicates, 1);
}

TEST(Liveness, AGuardedWriteKeepsTheOldValue) {
  const auto slots = [](std::string_view guard) {
    return assign_slots(
        test::body(".reg .b32 a, b, c; .reg .pred p; mov.b32 a, 1; mov.b32 b, 2; mov.b32 c, b; " +
                   std::string(guard) + " mov.b32 a, 3; mov.b32 b, a;"));
  };
  EXPECT_EQ(slots("").words, 3);
  const Function guarded = test::body(R"(.reg .b32 a, b; .reg .pred p;
mov.b32 b, 2;
st.global.b32 [b], 0;
@p mov.b32 a, 3;
st.global.b32 [a], 0;)");
  // a is read at the end on the path where the guard was false: it is alive from the start.
  EXPECT_EQ(live_intervals(guarded, control_flow(guarded), default_role)[2].first, 0);
}

TEST(Liveness, WidthsDecideHowManySlots) {
  const Function function = test::body(R"(.reg .b16 h; .reg .b64 d; .reg .b128 q; .reg .pred p;
mov.b128 q, {d, d};
cvt.u16.u64 h, d;
setp.eq.b16 p, h, 0;
st.b128 [d], q;)");
  const SlotMap map = assign_slots(function);
  EXPECT_EQ(map.words, 12);  // 1, 2 and 4, each width from a multiple of 4 on
  EXPECT_EQ(map.predicates, 1);
  EXPECT_EQ(map.slot[0] % 4, 0);
  EXPECT_EQ(map.slot[1] % 2, 0);
  EXPECT_EQ(map.slot[3], -1);
  EXPECT_EQ(map.predicate_slot[3], 0);
  EXPECT_EQ(map.predicate_slot[0], -1);
}

TEST(Liveness, RegisterResultsAreReadByTheCaller) {
  const PtxModule module = test::parsed(std::string(test::kHeader) + R"(
.func (.reg .u32 r) f(.reg .u32 n, .reg .u32 unused) {
.reg .u32 t;
mov.u32 r, n;
mov.u32 t, 7;
st.global.u32 [t], 0;
ret; })");
  const Function& function = module.functions.at(0);
  const auto intervals = live_intervals(function, control_flow(function), default_role);
  EXPECT_EQ(intervals[function.results[0].register_index].last, 3);
  EXPECT_EQ(intervals[function.parameters[1].register_index].first, 0);
}

OperandRole first_role(std::string_view instruction) {
  const Function function =
      test::body(".reg .b32 %r<5>; .reg .pred p; .reg .b64 %rd<3>; L: " + std::string(instruction));
  return default_role(function.instructions.at(0), 0);
}

TEST(OperandRoles, TheFirstOperandIsWritten) {
  for (const char* text :
       {"add.s32 %r1, %r2, %r3;", "ld.global.b32 %r1, [%rd1];",
        "atom.global.add.u32 %r1, [%rd1], 1;", "shfl.sync.idx.b32 %r1|p, %r2, 0, 31, -1;",
        "bar.red.popc.u32 %r1, 0, p;", "mbarrier.arrive.shared.b64 %rd1, [%r1];",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];",
        "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r1}, [%r2];"}) {
    EXPECT_EQ(first_role(text), OperandRole::write) << text;
  }
}

TEST(OperandRoles, SomeInstructionsHaveNoDestination) {
  for (const char* text :
       {"st.global.b32 [%rd1], %r1;", "red.global.add.u32 [%rd1], 1;", "bar.sync %r1, %r2;",
        "barrier.cluster.arrive;", "cp.async.cg.shared.global [%r1], [%rd1], 16;",
        "cp.async.wait_group 1;", "nanosleep.u32 %r1;", "prefetch.global.L2 [%rd1];",
        "mbarrier.init.shared.b64 [%r1], 1;",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", "bra L;",
        "setmaxnreg.inc.sync.aligned.u32 240;",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;"}) {
    const Function function =
        test::body(".reg .b32 %r<5>; .reg .b64 %rd<3>; L: " + std::string(text));
    for_each_register(function.instructions.at(0), default_role,
                      [&](int, OperandRole role) { EXPECT_EQ(role, OperandRole::read) << text; });
  }
}

TEST(OperandRoles, AccumulatorsInPlaceAreReadToo) {
  EXPECT_EQ(first_role("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r1, %r2}, %rd1, "
                       "%rd2, p, 1, 1, 0, 1;"),
            OperandRole::read_write);
}

TEST(OperandRoles, AddressesInsideDestinationsAreRead) {
  const Function function = test::body(".reg .b32 %r<5>; ld.shared.v2.b32 {%r1, _}, [%r2+4];");
  std::vector<OperandRole> roles;
  for_each_register(function.instructions[0], default_role,
                    [&](int, OperandRole role) { roles.push_back(role); });
  EXPECT_EQ(roles, (std::vector<OperandRole>{OperandRole::write, OperandRole::read}));
}

TEST(Liveness, RegistersThatSomeWayReadsBeforeItWritesThem) {
  const auto names = [](std::string_view code) {
    const Function function = test::body(".reg .b32 a, b, c; .reg .pred p, q;" + std::string(code));
    std::string out;
    for (const UnwrittenRegister& one : unwritten_registers(function)) {
      out += function.registers[static_cast<std::size_t>(one.index)].name + "@" +
             std::to_string(one.first_read) + " ";
    }
    return out;
  };
  EXPECT_EQ(names("mov.b32 a, 1; add.u32 b, a, a; ret;"), "");
  EXPECT_EQ(names("add.u32 b, a, c; mov.b32 a, 1; ret;"), "a@0 c@0 ");
  // One of two ways writes it; a guarded write does not count.
  EXPECT_EQ(
      names("mov.b32 a, 1; setp.eq.u32 p, a, 1; @p bra L; mov.b32 b, 1; L: add.u32 a, b, b; ret;"),
      "b@4 ");
  EXPECT_EQ(names("mov.b32 a, 1; setp.eq.u32 p, a, 1; @p mov.b32 b, 1; add.u32 a, b, b; ret;"),
            "b@3 ");
  // In a loop, from the first pass on.
  EXPECT_EQ(names("L: add.u32 a, b, b; mov.b32 b, a; @q bra L; ret;"), "b@0 q@2 ");
  EXPECT_EQ(names("mov.b32 b, 0; L: add.u32 a, b, b; mov.b32 b, a; bra L;"), "");
}

}  // namespace
}  // namespace plumbline::emulator
