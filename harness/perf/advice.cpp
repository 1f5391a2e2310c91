// SPDX-License-Identifier: MIT
#include "harness/perf/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/perf/chips.h"
#include "harness/perf/occupancy.h"
#include "reports/count_text.h"

namespace plumbline {
namespace {

using namespace advice_limits;
using enum Counter;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string bytes_text(int bytes) { return bytes == 1 ? "1 byte" : fmt::format("{} bytes", bytes); }

// What the lines are held against.
struct View {
  const PerfLaunch& launch;
  const PerfLine& line;

  std::uint64_t count(Counter counter) const { return line.counts[counter]; }

  double of_launch(Counter counter) const {
    return share(line.counts[counter], launch.totals[counter]);
  }

  double ratio(Counter over, Counter under) const { return share(count(over), count(under)); }

  Advice advice(std::string_view rule, std::string words) const {
    return {rule, std::move(words), line.file, line.file_line};
  }

  // Fragments of wmma lie as the ISA leaves open: how they are loaded is ptxas's business.
  bool is_wmma() const { return line.instruction.starts_with("wmma."); }
};

void say_sectors(const View& v, std::vector<Advice>& out) {
  if (v.of_launch(global_sectors) < kShare || v.is_wmma()) return;
  const double most = v.line.bytes == 16 ? kWideSectors : kSectors;
  if (v.ratio(global_sectors, global_least_sectors) < most) return;
  out.push_back(
      v.advice("uncoalesced",
               fmt::format("{} touches {:.1f} sectors per request where {:.1f} would hold the "
                           "bytes: the lanes of a warp are too far apart",
                           v.line.text(), v.ratio(global_sectors, global_requests),
                           v.ratio(global_least_sectors, global_requests))));
}

void say_conflicts(const View& v, std::vector<Advice>& out) {
  if (v.of_launch(shared_wavefronts) < kShare || v.is_wmma()) return;
  const double ways = v.ratio(shared_wavefronts, shared_least_wavefronts);
  if (ways < kConflicts) return;
  out.push_back(
      v.advice("bank conflicts",
               fmt::format("{} has {:.1f}-way bank conflicts: {:.1f} wavefronts per request "
                           "where {:.1f} would do",
                           v.line.text(), ways, v.ratio(shared_wavefronts, shared_requests),
                           v.ratio(shared_least_wavefronts, shared_requests))));
}

// True where it is said.
bool say_narrow(const View& v, std::vector<Advice>& out) {
  const std::uint64_t requests = v.count(global_requests) + v.count(shared_requests);
  const Counter kind = v.count(global_requests) > 0 ? global_requests : shared_requests;
  if (requests == 0 || v.is_wmma()) return false;
  if (v.of_launch(kind) >= kShare && share(v.count(split_accesses), requests) >= kSplit) {
    out.push_back(v.advice(
        "narrow",
        fmt::format("{} uses the {} right behind those of the access before it {:.0f} % of "
                    "the time: one access of {} bytes would do for both",
                    v.line.text(), bytes_text(v.line.bytes),
                    100 * share(v.count(split_accesses), requests), 2 * v.line.bytes)));
    return true;
  }
  // Lanes side by side, each with a byte or two: whole warps of them.
  constexpr int kNarrow = 2;
  const bool side_by_side = v.count(global_bytes) == v.count(global_requests) * 32 *
                                                         static_cast<std::uint64_t>(v.line.bytes);
  if (kind != global_requests || v.line.bytes > kNarrow || !side_by_side ||
      v.of_launch(global_requests) < kNarrowShare ||
      v.count(global_sectors) > v.count(global_least_sectors))
    return false;
  out.push_back(
      v.advice("narrow", fmt::format("{} uses {} a lane, and the lanes of a warp lie side by side: "
                                     "vectors of 16 bytes need one request in {}",
                                     v.line.text(), bytes_text(v.line.bytes), 16 / v.line.bytes)));
  return true;
}

void say_repeated(const View& v, std::vector<Advice>& out) {
  if (v.line.access != Access::load && v.line.access != Access::copy) return;
  if (v.of_launch(global_sectors) < kRepeatedShare) return;
  const double repeated = v.ratio(global_repeated_sectors, global_sectors);
  if (repeated < kRepeated) return;
  out.push_back(
      v.advice("repeated loads",
               fmt::format("{} loads every sector {:.1f} times in a block: shared memory or "
                           "registers could keep it",
                           v.line.text(), 1 / (1 - std::min(repeated, 0.9999)))));
}

void say_barriers(const View& v, std::vector<Advice>& out) {
  if (v.count(idle_barriers) == 0 || v.ratio(idle_barriers, barriers) < kIdle) return;
  out.push_back(
      v.advice("idle barrier",
               fmt::format("{} orders nothing: no warp uses memory between it and the barrier "
                           "before it, {} of {} times",
                           v.line.text(), v.count(idle_barriers), v.count(barriers))));
}

void say_waits(const View& v, std::vector<Advice>& out) {
  const auto warps =
      static_cast<std::uint64_t>(v.launch.blocks() * ((v.launch.threads() + 31) / 32));
  if (v.launch.totals[tensor_macs] == 0 || v.count(copy_waits) < kFewWaits * warps) return;
  if (v.ratio(exposed_copy_waits, copy_waits) < kExposed) return;
  out.push_back(
      v.advice("serialized copies",
               fmt::format("{} waits for copies with no product between their issue and the "
                           "wait, {} of {} times: nothing overlaps them in this warp",
                           v.line.text(), v.count(exposed_copy_waits), v.count(copy_waits))));
}

void say_fill(const View& v, std::vector<Advice>& out) {
  const std::uint64_t all = v.count(bulk_bytes) + v.count(bulk_fill_bytes);
  if (share(v.count(bulk_fill_bytes), all) < kFill || v.of_launch(bulk_bytes) < kShare) return;
  out.push_back(
      v.advice("fill", fmt::format("{} fills {:.0f} % of its bytes, which lie outside the tensor",
                                   v.line.text(), 100 * share(v.count(bulk_fill_bytes), all))));
}

void say_compiled(const PerfEntry& entry, const PerfLaunch& launch, std::vector<Advice>& out) {
  if (!launch.compiled) return;
  const CompiledEntry& compiled = *launch.compiled;
  if (compiled.spill_store_bytes + compiled.spill_load_bytes > 0) {
    out.push_back(
        {"spills", fmt::format("{} spills registers: {} bytes of stores and {} of loads a thread, "
                               "with {} registers",
                               launch.entry, compiled.spill_store_bytes, compiled.spill_load_bytes,
                               compiled.registers)});
  }
  const Multiprocessor* const on = multiprocessor(entry.sm);
  if (on == nullptr) return;
  const Occupancy with = occupancy(*on, launch.needs());
  BlockNeeds others = launch.needs();
  others.registers = 0;
  const Occupancy without = occupancy(*on, others);
  if (launch.totals[tensor_macs] == 0 && with.limiter == Limiter::registers &&
      2 * with.blocks <= without.blocks && with.share < kFewWarps) {
    out.push_back(
        {"occupancy",
         fmt::format("{} has {} registers a thread, so a multiprocessor holds {} {} of "
                     "{} threads where shared memory and warps leave room for {}",
                     launch.entry, compiled.registers, with.blocks,
                     with.blocks == 1 ? "block" : "blocks", launch.threads(), without.blocks)});
  }
  const Chip* const chip = usual_chip(entry.sm);
  if (chip == nullptr) return;
  const Waves in = waves(launch.blocks(), chip->multiprocessors, with.blocks);
  if (in.count >= 2 && in.filled < kFilled) {
    out.push_back({"tail", fmt::format("{} has {} blocks, which fill {:.0f} % of {} waves on {} "
                                       "multiprocessors of {}",
                                       launch.entry, launch.blocks(), 100 * in.filled, in.count,
                                       chip->multiprocessors, one_of(*chip))});
  }
}

}  // namespace

std::vector<Advice> advice(const PerfEntry& entry) {
  std::vector<Advice> out;
  for (const PerfLaunch& launch : entry.launches) {
    for (const PerfLine& line : launch.lines) {
      const View view{launch, line};
      // What lanes leave between their accesses, others of the same line may use.
      if (!say_narrow(view, out)) say_sectors(view, out);
      say_conflicts(view, out);
      say_repeated(view, out);
      say_barriers(view, out);
      say_waits(view, out);
      say_fill(view, out);
    }
    say_compiled(entry, launch, out);
  }
  const auto macs = static_cast<double>(entry.total(tensor_macs));
  if (entry.useful_macs && macs > 0 && *entry.useful_macs < (1 - kPadding) * macs) {
    out.push_back(
        {"padding", fmt::format("{:.0f} % of the tensor-core products are on padding: "
                                "{:.4g} are made, and the problem has {:.4g}",
                                100 * (1 - *entry.useful_macs / macs), macs, *entry.useful_macs)});
  }
  return out;
}

}  // namespace plumbline
