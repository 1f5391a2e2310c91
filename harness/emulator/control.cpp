// SPDX-License-Identifier: MIT
// Branches and the ends of a kernel (PTX ISA 9.0 section 9.7.12). How lanes part and meet again is Warp's business.
#include "harness/emulator/control.h"

#include <bit>

#include "harness/emulator/bulk_copy.h"
#include "harness/emulator/cta.h"
#include "harness/emulator/decode.h"
#include "harness/emulator/warp.h"
#include "harness/emulator/whole_warp.h"

namespace plumbline::emulator {
namespace {

void branch(Warp& warp, const Inst& inst, std::uint32_t mask) {
  warp.jump(inst, mask, static_cast<std::uint32_t>(inst.immediate));
}

void trap(Warp& warp, const Inst& inst, std::uint32_t mask) {
  warp.fail(FindingKind::trap, inst, std::countr_zero(mask), [] { return std::string("the kernel executed a trap"); });
}

void sleep(Warp& warp, const Inst&, std::uint32_t) { warp.give_way(); }

void nothing(Warp&, const Inst&, std::uint32_t) {}

void set_registers(Warp& warp, const Inst& inst, std::uint32_t mask) {
  has_all_lanes(warp, inst, mask, ~std::uint32_t{0}, "setmaxnreg");
}

void decode_branch(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, Inst& out) {
  modifiers.take("uni");
  if (!decoder.require_operands(instruction, 1, 1)) return;
  out.immediate = decoder.target(instruction.operands[0]);
  out.execute = branch;
}

void decode_exit(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, Inst& out) {
  modifiers.take("uni");
  decoder.require_operands(instruction, 0, 0);
  out.execute = exit_lanes;
}

void decode_trap(Decoder& decoder, const Instruction& instruction, Modifiers&, Inst& out) {
  decoder.require_operands(instruction, 0, 0);
  out.execute = trap;
}

void decode_sleep(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, Inst& out) {
  modifiers.take("u32");
  if (!decoder.require_operands(instruction, 1, 1)) return;
  out.a = decoder.source(instruction.operands[0], 32);
  out.execute = sleep;
}

// How many registers a warp may use changes no value either; but all of it has to be there.
void decode_set_registers(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers, Inst& out) {
  decoder.require_sm(90);
  const bool known = modifiers.take_one_of("inc", "dec") >= 0 && modifiers.take("sync") && modifiers.take("aligned") &&
                     modifiers.take("u32");
  if (!known || !decoder.require_operands(instruction, 1, 1)) return;
  const std::int64_t count = decoder.immediate(instruction.operands[0]);
  if (count < 24 || count > 256 || count % 8 != 0) decoder.refuse("the number of registers is a multiple of 8 from 24 to 256");
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
      {"bra", decode_branch},      {"ret", decode_exit},     {"exit", decode_exit},
      {"trap", decode_trap},       {"brkpt", decode_trap},   {"nanosleep", decode_sleep},
      {"prefetch", decode_hint},   {"prefetchu", decode_hint}, {"pmevent", decode_hint},
      {"griddepcontrol", decode_hint}, {"setmaxnreg", decode_set_registers},
  };
  return kFamilies;
}

}  // namespace plumbline::emulator
