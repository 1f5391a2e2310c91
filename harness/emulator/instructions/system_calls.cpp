// SPDX-License-Identifier: MIT
// Calls of functions that the driver provides: __assertfail ends the launch with the assertion's
// text; vprintf prints nothing and returns 0. Everything else without a body is refused.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/machine/cta.h"
#include "harness/emulator/machine/lanes.h"
#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/global_memory.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t kLongestText = 200;

// A zero-terminated string at a generic address in global memory; what can be read of it.
std::string text_at(const GlobalMemory& global, u64 address) {
  const Allocation* allocation = global.find(address);
  if (allocation == nullptr) return "?";
  const u64 offset = address - allocation->base;
  const auto most =
      static_cast<std::size_t>(std::min<u64>(allocation->bytes - offset, kLongestText));
  const auto* begin = reinterpret_cast<const char*>(allocation->data + offset);
  return std::string(begin, ::strnlen(begin, most));
}

template <typename T>
T argument(Warp& warp, Slot offset, int lane) {
  const auto stride = static_cast<std::size_t>(warp.program().local_bytes);
  T value;
  std::memcpy(
      &value,
      warp.cta().local_memory(warp.index()) + static_cast<std::size_t>(lane) * stride + offset,
      sizeof value);
  return value;
}

// Inst::list: where in local memory message, file, line and function lie.
void assertion_failed_in_kernel(Warp& warp, const Inst& inst, u32 mask) {
  const int lane = std::countr_zero(mask);
  warp.fail(FindingKind::trap, inst, lane, [&] {
    const GlobalMemory& global = warp.cta().launch().global;
    return fmt::format("assertion `{}` failed in {} ({}:{})",
                       text_at(global, argument<u64>(warp, inst.list[0], lane)),
                       text_at(global, argument<u64>(warp, inst.list[3], lane)),
                       text_at(global, argument<u64>(warp, inst.list[1], lane)),
                       argument<u32>(warp, inst.list[2], lane));
  });
}

void ignore(Warp&, const Inst&, u32) {}

void decode_call(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                 Inst& out) {
  modifiers.take("uni");
  if (!decoder.require_operands(instruction, 3, 4)) return;
  const std::string callee = decoder.function_name(instruction.operands[1]);
  if (callee == "vprintf") {
    out.execute = ignore;
    return;
  }
  if (callee != "__assertfail" || instruction.operands[2].elements.size() < 4) {
    decoder.refuse(fmt::format("{} has no body here", callee));
    return;
  }
  std::vector<Slot> places;
  for (const Operand& argument : instruction.operands[2].elements)
    places.push_back(decoder.local_offset(argument));
  out.list = decoder.keep(places);
  out.execute = assertion_failed_in_kernel;
}

}  // namespace

std::span<const Family> system_call_families() {
  static constexpr Family kFamilies[] = {{"call", decode_call}};
  return kFamilies;
}

}  // namespace plumbline::emulator
