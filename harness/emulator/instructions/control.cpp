// SPDX-License-Identifier: MIT
// Branches and the ends of a kernel (PTX ISA 9.0 section 9.7.12). How lanes part and meet again is
// Warp's business.
#include "harness/emulator/decode/control.h"

#include <fmt/format.h>

#include <bit>
#include <vector>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/instructions/whole_warp.h"
#include "harness/emulator/machine/bulk_copy.h"
#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/lanes.h"
#include "harness/emulator/machine/warp.h"

namespace plumbline::emulator {
namespace {

void branch(Warp& warp, const Inst& inst, std::uint32_t mask) {
  warp.jump(inst, mask, static_cast<std::uint32_t>(inst.immediate));
}

// brx.idx: Inst::list are the targets, Inst::immediate is how many, Inst::a chooses.
void branch_by_index(Warp& warp, const Inst& inst, std::uint32_t mask) {
  const auto chosen = lanes<std::uint32_t>(warp, inst.a);
  for (std::uint32_t left = mask; left != 0;) {
    const int lane = std::countr_zero(left);
    const std::uint32_t index = chosen[lane];
    if (index >= static_cast<std::uint64_t>(inst.immediate)) {
      return warp.fail(FindingKind::bad_operand, inst, lane, [&] {
        return fmt::format("branch target {} of a list of {}", index, inst.immediate);
      });
    }
    const std::uint32_t group = left & lanes_where([&](int i) { return chosen[i] == index; });
    left &= ~group;
    warp.jump_apart(inst, group, inst.list[index]);
  }
}

void trap(Warp& warp, const Inst& inst, std::uint32_t mask) {
  warp.fail(FindingKind::trap, inst, std::countr_zero(mask),
            [] { return std::string("the kernel executed a trap"); });
}

void sleep(Warp& warp, const Inst&, std::uint32_t) { warp.give_way(); }

void nothing(Warp&, const Inst&, std::uint32_t) {}

void set_registers(Warp& warp, const Inst& inst, std::uint32_t mask) {
  has_all_lanes(warp, inst, mask, ~std::uint32_t{0}, "setmaxnreg");
}

void decode_branch(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                   Inst& out) {
  modifiers.take("uni");
  if (!decoder.require_operands(instruction, 1, 1)) return;
  out.immediate = decoder.target(instruction.operands[0]);
  out.execute = branch;
}

void decode_branch_by_index(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                            Inst& out) {
  modifiers.take("uni");
  if (!modifiers.take("idx") || !decoder.require_operands(instruction, 2, 2)) return;
  out.a = decoder.source(instruction.operands[0], 32);
  std::vector<Slot> targets;
  for (const Operand& label : instruction.operands[1].elements)
    targets.push_back(decoder.target(label));
  out.list = decoder.keep(targets);
  out.immediate = static_cast<std::int64_t>(targets.size());
  out.execute = branch_by_index;
}

void decode_exit(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  modifiers.take("uni");
  decoder.require_operands(instruction, 0, 0);
  out.execute = exit_lanes;
}

void decode_trap(Decoder& decoder, const Instruction& instruction, Modifiers&, Inst& out) {
  decoder.require_operands(instruction, 0, 0);
  out.execute = trap;
}

void decode_sleep(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out) {
  modifiers.take("u32");
  if (!decoder.require_operands(instruction, 1, 1)) return;
  out.a = decoder.source(instruction.operands[0], 32);
  out.execute = sleep;
}

// How many registers a warp may use changes no value either; but all of it has to be there.
void decode_set_registers(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                          Inst& out) {
  decoder.require_sm(90);
  const bool known = modifiers.take_one_of("inc", "dec") >= 0 && modifiers.take("sync") &&
                     modifiers.take("aligned") && modifiers.take("u32");
  if (!known || !decoder.require_operands(instruction, 1, 1)) return;
  const std::int64_t count = decoder.immediate(instruction.operands[0]);
  if (count < 24 || count > 256 || count % 8 != 0)
    decoder.refuse("the number of registers is a multiple of 8 from 24 to 256");
  out.execute = set_registers;
}

// Hints to the hardware that change no value.
void decode_hint(Decoder&, const Instruction&, Modifiers& modifiers, Inst& out) {
  while (!modifiers.empty()) modifiers.take_first();
  out.execute = nothing;
}

}  // namespace

void exit_lanes(Warp& warp, const Inst&, std::uint32_t mask) {
  if (!warp.bulk_stores().empty()) finish_stores(warp, mask);
  warp.exit(mask);
}

std::span<const Family> control_families() {
  static constexpr Family kFamilies[] = {
      {"bra", decode_branch},
      {"brx", decode_branch_by_index},
      {"ret", decode_exit},
      {"exit", decode_exit},
      {"trap", decode_trap},
      {"brkpt", decode_trap},
      {"nanosleep", decode_sleep},
      {"prefetch", decode_hint},
      {"prefetchu", decode_hint},
      {"pmevent", decode_hint},
      {"griddepcontrol", decode_hint},
      {"setmaxnreg", decode_set_registers},
  };
  return kFamilies;
}

}  // namespace plumbline::emulator
