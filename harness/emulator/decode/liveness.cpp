// SPDX-License-Identifier: MIT
// Liveness is found one register at a time, walking backward from each use to the writes that reach
// it; a block is entered at most once per register. That needs no sets of registers per block,
// which would be quadratic in space.
#include "harness/emulator/decode/liveness.h"

#include <algorithm>
#include <array>
#include <bit>

#include "harness/emulator/decode/register_groups.h"
#include "harness/emulator/decode/slot_allocator.h"

namespace plumbline::emulator {
namespace {

// How one block touches one register, as seen from its two ends.
struct BlockUse {
  int block = 0;
  bool reads_first = false;  // a read may see the value from before the block
  bool kills = false;        // no value from before the block can leave it
};

// Per register, its blocks in text order.
using BlockUses = std::vector<std::vector<BlockUse>>;

class Liveness {
 public:
  Liveness(const Function& function, const ControlFlow& flow, const OperandRoles& roles)
      : function_(function),
        flow_(flow),
        intervals_(function.registers.size()),
        uses_(function.registers.size()),
        first_read_(function.registers.size(), -1),
        live_at_entry_(function.registers.size()),
        live_in_of_(flow.blocks.size(), -1),
        killed_in_of_(flow.blocks.size(), -1) {
    collect(roles);
    collect_parameters();
    for (int r = 0; r < static_cast<int>(function.registers.size()); ++r) walk_back(r);
  }

  std::vector<LiveInterval> take() { return std::move(intervals_); }

  std::vector<UnwrittenRegister> unwritten() const {
    std::vector<UnwrittenRegister> out;
    for (int r = 0; r < static_cast<int>(first_read_.size()); ++r) {
      if (live_at_entry_[r]) out.push_back({r, first_read_[r]});
    }
    return out;
  }

 private:
  void collect(const OperandRoles& roles) {
    for (int b = 0; b < static_cast<int>(flow_.blocks.size()); ++b) {
      for (int i = flow_.blocks[b].first; i < flow_.blocks[b].last; ++i) {
        const Instruction& instruction = function_.instructions[i];
        // Reads come before writes, in every order of the operands.
        for_each_register(instruction, roles, [&](int r, OperandRole role) {
          extend(r, i);
          if (role == OperandRole::write) return;
          if (first_read_[r] < 0) first_read_[r] = i;
          BlockUse& use = in_block(r, b);
          if (!use.kills) use.reads_first = true;
        });
        // A guarded write leaves the old value in the lanes whose guard is false.
        if (instruction.guard >= 0) continue;
        for_each_register(instruction, roles, [&](int r, OperandRole role) {
          if (role == OperandRole::write) in_block(r, b).kills = true;
        });
      }
      if (may_end(flow_.blocks[b])) read_results(b);
    }
  }

  bool may_end(const BasicBlock& block) const {
    return block.successors.empty() ||
           block.last == static_cast<int>(function_.instructions.size()) ||
           function_.instructions[block.last - 1].opcode == "ret";
  }

  // Old-style .func: the caller fills .reg parameters at the start, and reads .reg results at any
  // end.
  void collect_parameters() {
    if (function_.instructions.empty()) return;
    for (const Variable& parameter : function_.parameters) {
      if (parameter.register_index >= 0) extend(parameter.register_index, 0);
    }
  }

  void read_results(int block) {
    for (const Variable& result : function_.results) {
      if (result.register_index < 0) continue;
      extend(result.register_index, flow_.blocks[block].last - 1);
      BlockUse& use = in_block(result.register_index, block);
      if (!use.kills) use.reads_first = true;
    }
  }

  BlockUse& in_block(int r, int b) {
    auto& blocks = uses_[r];
    if (blocks.empty() || blocks.back().block != b) blocks.push_back(BlockUse{b});
    return blocks.back();
  }

  void extend(int r, int instruction) {
    LiveInterval& interval = intervals_[r];
    if (interval.empty()) interval = {instruction, instruction};
    interval.first = std::min(interval.first, instruction);
    interval.last = std::max(interval.last, instruction);
  }

  // Marks every block at whose start the register is alive, and the ends of the blocks before
  // those.
  void walk_back(int r) {
    for (const BlockUse& use : uses_[r]) {
      if (use.kills) killed_in_of_[use.block] = r;
    }
    for (const BlockUse& use : uses_[r]) {
      if (use.reads_first) enter(r, use.block);
    }
    while (!work_.empty()) {
      const int block = work_.back();
      work_.pop_back();
      extend(r, flow_.blocks[block].first);
      for (const int before : flow_.blocks[block].predecessors) {
        extend(r, flow_.blocks[before].last - 1);
        if (killed_in_of_[before] != r) enter(r, before);
      }
    }
  }

  void enter(int r, int block) {
    if (live_in_of_[block] == r) return;
    if (block == 0) live_at_entry_[r] = true;
    live_in_of_[block] = r;
    work_.push_back(block);
  }

  const Function& function_;
  const ControlFlow& flow_;
  std::vector<LiveInterval> intervals_;
  BlockUses uses_;
  std::vector<int> first_read_;
  std::vector<bool> live_at_entry_;
  std::vector<int> live_in_of_;    // per block: the last register found alive at its start
  std::vector<int> killed_in_of_;  // per block: the last register known to be overwritten in it
  std::vector<int> work_;
};

int words_of(const Register& reg) { return reg.bits <= 32 ? 1 : reg.bits / 32; }

}  // namespace

std::vector<LiveInterval> live_intervals(const Function& function, const ControlFlow& flow,
                                         const OperandRoles& roles) {
  return Liveness(function, flow, roles).take();
}

std::vector<UnwrittenRegister> unwritten_registers(const Function& function,
                                                   const OperandRoles& roles) {
  const ControlFlow flow = control_flow(function);
  return Liveness(function, flow, roles).unwritten();
}

SlotMap assign_slots(const Function& function, const OperandRoles& roles) {
  const auto intervals = live_intervals(function, control_flow(function), roles);
  std::vector<int> by_start;
  for (int r = 0; r < static_cast<int>(intervals.size()); ++r) {
    if (!intervals[r].empty()) by_start.push_back(r);
  }
  std::vector<int> by_end = by_start;
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](int a, int b) { return intervals[a].first < intervals[b].first; });
  std::stable_sort(by_end.begin(), by_end.end(),
                   [&](int a, int b) { return intervals[a].last < intervals[b].last; });

  // Where a register belongs to a group, the first member to begin takes slots for all of it.
  const std::vector<std::vector<int>> groups = register_groups(function);
  std::vector<int> group_of(function.registers.size(), -1);
  for (int g = 0; g < static_cast<int>(groups.size()); ++g) {
    for (const int member : groups[g]) group_of[member] = g;
  }

  SlotMap map;
  map.slot.assign(function.registers.size(), -1);
  map.predicate_slot.assign(function.registers.size(), -1);
  // One pool for each width: 32 bits and less, 64, 128.
  std::array<SlotAllocator, 3> words;
  const auto pool_of = [](const Register& reg) {
    return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(words_of(reg))));
  };
  SlotAllocator predicates;
  auto ended = by_end.begin();
  for (const int r : by_start) {
    for (; ended != by_end.end() && intervals[*ended].last < intervals[r].first; ++ended) {
      const Register& reg = function.registers[*ended];
      if (reg.is_predicate()) {
        predicates.release(map.predicate_slot[*ended], 1);
      } else {
        words[pool_of(reg)].release(map.slot[*ended], words_of(reg));
      }
    }
    const Register& reg = function.registers[r];
    if (reg.is_predicate()) {
      map.predicate_slot[r] = predicates.take(1);
    } else if (group_of[r] < 0) {
      map.slot[r] = words[pool_of(reg)].take(words_of(reg));
    } else if (map.slot[r] < 0) {
      const std::vector<int>& group = groups[group_of[r]];
      int slot = words[0].take(static_cast<int>(group.size()));
      for (const int member : group) map.slot[member] = slot++;
    }
  }
  // The pools lie behind each other, each from a multiple of the longest run on.
  std::array<int, 3> begin{};
  for (std::size_t pool = 0; pool < words.size(); ++pool) {
    if (words[pool].size() == 0) continue;
    begin[pool] = (map.words + 3) / 4 * 4;
    map.words = begin[pool] + words[pool].size();
  }
  for (std::size_t r = 0; r < map.slot.size(); ++r) {
    if (map.slot[r] >= 0) map.slot[r] += begin[pool_of(function.registers[r])];
  }
  map.predicates = predicates.size();
  return map;
}

}  // namespace plumbline::emulator
