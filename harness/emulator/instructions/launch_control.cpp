// SPDX-License-Identifier: MIT
// clusterlaunchcontrol (PTX ISA 9.0 section 9.7.13.17): a running cluster takes the work of one
// that has not begun, which then never does. The answer, 16 bytes that only query_cancel reads,
// comes as late as a bulk copy: when a thread asks its mbarrier for the phase that counts it. Here
// it holds the first CTA's position, and 1 where a cluster was taken.
//
// A request is granted as long as there is a cluster that has not begun; with another order of
// clusters (LaunchRequest::cta_order), every second one of a cluster is refused.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "harness/emulator/decode/decode.h"
#include "harness/emulator/machine/access.h"
#include "harness/emulator/machine/bulk_copy.h"
#include "harness/emulator/machine/cluster.h"
#include "harness/emulator/machine/lanes.h"
#include "harness/emulator/machine/mbarrier_phases.h"
#include "harness/emulator/memory/address_space.h"

namespace plumbline::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 kAnswerBytes = 16;

// Inst::flags of try_cancel: the addresses are generic; the answer goes to all CTAs of the cluster.
constexpr u32 kGeneric = 1, kToAll = 2;

// The answer to one CTA.
bool send(Warp& warp, const Inst& inst, int lane, u64 to, u64 at,
          const std::array<u32, 4>& answer) {
  Mbarrier* const barrier = mbarrier_at(warp, inst, lane, at);
  Cta* const owner = barrier != nullptr ? shared_memory_at(warp, inst, lane, to) : nullptr;
  if (owner == nullptr) return false;
  if (!owner->shared().holds(to, kAnswerBytes)) {
    return out_of_bounds(warp, inst, lane, to, Space::shared, kAnswerBytes, Intent::write);
  }
  BulkLoad load{&inst, &warp, lane};
  load.to = to;
  load.stored = kAnswerBytes;
  std::memcpy(load.value.data(), answer.data(), kAnswerBytes);
  issue_copy(std::move(load), *barrier, to, kAnswerBytes);
  return true;
}

void try_cancel(Warp& warp, const Inst& inst, u32 mask) {
  const BulkCopy& where = *warp.program().bulk_copies[static_cast<std::size_t>(inst.immediate)];
  const u64 window = (inst.flags & kGeneric) != 0 ? kSharedWindow : 0;
  Cluster& cluster = warp.cta().cluster();
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u64 to = address_at(warp, where.shared, lane) - window;
    const u64 at = address_at(warp, where.barrier, lane) - window;
    if (to % kAnswerBytes != 0) {
      return warp.fail(FindingKind::misaligned, inst, lane, [&] {
        return fmt::format("the answer to try_cancel at {:#x}, which is not a multiple of 16", to);
      });
    }
    std::array<u32, 4> answer{};
    if (const std::optional<std::int64_t> taken = cluster.take_cluster()) {
      const Launch& launch = warp.cta().launch();
      const std::array<std::int64_t, 3> first = launch.position(launch.cta_of_cluster(*taken, 0));
      for (std::size_t d = 0; d < first.size(); ++d) answer[d] = static_cast<u32>(first[d]);
      answer[3] = 1;
    }
    if ((inst.flags & kToAll) == 0) {
      if (!send(warp, inst, lane, to, at, answer)) return;
      continue;
    }
    for (u64 rank = 0; rank < cluster.size(); ++rank) {
      const auto in = [&](u64 address) {
        return address - shared_window(rank_of(address)) + shared_window(rank);
      };
      if (!send(warp, inst, lane, in(to), in(at), answer)) return;
    }
  }
}

// The halves of the answer: Inst::a and b.
u64 word_of(Warp& warp, const Inst& inst, int lane, int word) {
  const u64 half = lanes<u64>(warp, word < 2 ? inst.a : inst.b)[lane];
  return half >> 32 * (word % 2) & 0xffffffff;
}

void is_canceled(Warp& warp, const Inst& inst, u32 mask) {
  u32 result = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    result |= static_cast<u32>(word_of(warp, inst, lane, 3) != 0) << lane;
  blend(warp.predicate(inst.p), result, mask);
}

// Into the list of registers: of x, y and z from Inst::immediate on. Where no cluster was taken the
// manual leaves them open; kernels ask before they look.
void first_cta(Warp& warp, const Inst& inst, u32 mask) {
  for (u32 left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const bool taken = word_of(warp, inst, lane, 3) != 0;
    for (u32 i = 0; i < inst.e; ++i) {
      const u64 value = word_of(warp, inst, lane, static_cast<int>(inst.immediate + i));
      lanes<u32>(warp, inst.list[i]).set(lane, taken ? static_cast<u32>(value) : ~u32{0});
    }
  }
}

void decode_try_cancel(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                       Inst& out) {
  modifiers.take("async");
  const bool shared = modifiers.take("shared::cta");
  if (!modifiers.take("mbarrier::complete_tx::bytes")) return;
  if (modifiers.take("multicast::cluster::all")) out.flags |= kToAll;
  if (!modifiers.take("b128") || !decoder.require_operands(instruction, 2, 2)) return;
  const Space space = shared ? Space::shared : Space::generic;
  auto where = std::make_unique<BulkCopy>();
  where->shared = decoder.address(instruction.operands[0], space);
  where->barrier = decoder.address(instruction.operands[1], space);
  out.flags |= shared ? 0 : kGeneric;
  out.immediate = static_cast<std::int64_t>(decoder.program().bulk_copies.size());
  decoder.program().bulk_copies.push_back(std::move(where));
  decoder.program().takes_clusters = true;
  out.execute = try_cancel;
}

void decode_query(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                  Inst& out) {
  const bool asks = modifiers.take("is_canceled");
  const int which = asks ? -1
                         : modifiers.take_one_of("get_first_ctaid::x", "get_first_ctaid::y",
                                                 "get_first_ctaid::z", "get_first_ctaid");
  if (asks ? !modifiers.take("pred") : which < 0) return;
  const bool vector = which == 3;
  if (vector && !modifiers.take("v4")) return;
  if (!asks && !modifiers.take("b32")) return;
  if (!modifiers.take("b128") || !decoder.require_operands(instruction, 2, 2)) return;
  const std::vector<Operand>& operands = instruction.operands;
  const std::array<Slot, 2> halves = decoder.halves_of_128(operands[1]);
  out.a = halves[0];
  out.b = halves[1];
  if (asks) {
    out.p = decoder.predicate_destination(operands[0]);
    out.execute = is_canceled;
    return;
  }
  const std::span<const Operand> registers = decoder.elements(operands[0]);
  if (registers.size() != (vector ? 4 : 1))
    return decoder.refuse("the destination has another number of registers");
  std::vector<Slot> list;
  for (const Operand& one : registers.first(vector ? 3 : 1))
    list.push_back(decoder.destination(one, 32));
  out.e = static_cast<u32>(list.size());
  out.list = decoder.keep(list);
  out.immediate = vector ? 0 : which;
  out.execute = first_cta;
}

void decode_launch_control(Decoder& decoder, const Instruction& instruction, Modifiers& modifiers,
                           Inst& out) {
  decoder.require_sm(100);
  if (modifiers.take("try_cancel")) return decode_try_cancel(decoder, instruction, modifiers, out);
  if (modifiers.take("query_cancel")) decode_query(decoder, instruction, modifiers, out);
}

}  // namespace

std::span<const Family> launch_control_families() {
  static constexpr Family kFamilies[] = {{"clusterlaunchcontrol", decode_launch_control}};
  return kFamilies;
}

}  // namespace plumbline::emulator
