// SPDX-License-Identifier: MIT
#include "harness/emulator/machine/cta_races.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/emulator/machine/access.h"
#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/global_memory.h"

namespace plumbline::emulator {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint32_t);
// Readers kept of a word that many CTAs read.
constexpr std::size_t kMostReaders = 4;

bool only_reads(const AccessMark& mark) { return (mark.written | mark.updated) == 0; }

bool only_updates(const AccessMark& mark) { return (mark.written | mark.read) == 0; }

// The mark stands where its last write was made, or its last read where there is none.
void merge(AccessMark& mark, const AccessMark& later) {
  if (!only_reads(later) || only_reads(mark)) {
    mark.own = (mark.stamp == later.stamp ? mark.own | later.own : later.own) & 15u;
    mark.cta = later.cta;
    mark.inst = later.inst;
    mark.stamp = later.stamp;
  }
  mark.read |= later.read;
  mark.written |= later.written;
  mark.updated |= later.updated;
}

std::uint32_t tick_of(const AccessMark& mark) { return mark.stamp >> 10; }

const char* access_kind(const AccessMark& mark) {
  if (mark.written != 0) return "writes";
  return mark.updated != 0 ? "updates" : "reads";
}

const char* noun(const AccessMark& mark) {
  if (mark.written != 0) return "write";
  return mark.updated != 0 ? "atomic" : "read";
}

void name_byte(const GlobalMemory& global, std::uint64_t address, Finding& finding) {
  const Allocation* allocation = global.find(address);
  finding.buffer = allocation->label;
  finding.buffer_byte = static_cast<std::int64_t>(address - allocation->base);
}

}  // namespace

// One lane's part in one word.
struct CtaRaces::Access {
  const Inst& inst;
  int lane;
  std::uint64_t address;  // of the word
  const std::byte* word;
  AccessMark mark;
};

CtaRaces::Stripe& CtaRaces::stripe_of(const AccessMark& mark) {
  const auto address = reinterpret_cast<std::uintptr_t>(&mark);
  return stripes_[address / sizeof(AccessMark) / 16 % stripes_.size()];
}

// Words of a stripe come in a row, mostly: the lock of the last one is kept as long as it will do.
std::unique_lock<std::mutex> CtaRaces::hold(Stripe& stripe, std::unique_lock<std::mutex> held) {
  if (held.mutex() == &stripe.mutex) return held;
  if (held.owns_lock()) held.unlock();  // never two at once
  return std::unique_lock(stripe.mutex);
}

void CtaRaces::access(Warp& warp, const Inst& inst, std::uint32_t lanes, const Pointers& pointers,
                      const Allocation& allocation, int bytes, Intent intent) {
  Cta& cta = warp.cta();
  AccessMark mark;
  mark.cta = static_cast<std::uint32_t>(cta.linear()) + 1;
  mark.inst = inst.index & AccessMark::kInstructions;
  // To other CTAs a strong access of CTA scope is a plain one.
  const bool strong =
      intent != Intent::read && intent != Intent::write && (inst.flags & kCtaScope) == 0;
  const bool changes = intent != Intent::read && intent != Intent::synchronise;
  AccessOrder& order = cta.shared().order();
  order.note_access(warp.index());
  const std::uint32_t tick = order.tick();
  std::unique_lock<std::mutex> held;
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    // Words are counted from the allocation's first byte: a piece of a tensor with far rows may
    // begin at any multiple of its element's size.
    const std::uint64_t begin = pointers.address[static_cast<std::size_t>(lane)] - allocation.base;
    const std::uint64_t end = begin + static_cast<std::uint64_t>(bytes);
    mark.stamp = tick << 10 | static_cast<std::uint32_t>(warp.index()) << 5 |
                 static_cast<std::uint32_t>(lane);
    for (std::uint64_t word = begin / kWord * kWord; word < end; word += kWord) {
      const std::uint64_t first = std::max(begin, word) - word;
      const std::uint64_t behind = std::min(end, word + kWord) - word;
      const auto used = static_cast<std::uint8_t>((1u << behind) - (1u << first));
      mark.read = reads(intent) && !(strong && changes) ? used : 0;
      mark.written = changes && !strong ? used : 0;
      mark.updated = changes && strong ? used : 0;
      mark.own = intent == Intent::read || intent == Intent::write ? used & 15u : 0;
      AccessMark& before = allocation.marks[word / kWord];
      const Access access{inst, lane, allocation.base + word, allocation.data + word, mark};
      if (!one_worker_) held = hold(stripe_of(before), std::move(held));
      if ((inst.flags & kReadOnly) != 0) check_read_only(warp, access, before);
      if (strong && !changes) {
        check_strong_load(warp, access, before);
      } else {
        note(warp, access, before);
      }
    }
  }
}

void CtaRaces::check_read_only(Warp& warp, const Access& access, const AccessMark& mark) {
  const auto writes = [&](const AccessMark& one) {
    return ((one.written | one.updated) & access.mark.read) != 0;
  };
  const AccessMark* writer = mark.crowd == Crowd::none && writes(mark) ? &mark : nullptr;
  if (mark.crowd == Crowd::several) {
    const std::vector<AccessMark>& crowd = stripe_of(mark).crowds[&mark];
    const auto found = std::ranges::find_if(crowd, writes);
    if (found != crowd.end()) writer = &*found;
  }
  if (writer == nullptr) return;
  const std::array<std::int64_t, 3> at = launch_.position(writer->cta - 1);
  Finding* const finding = warp.report(FindingKind::race, access.inst, access.lane, [&] {
    const Instruction* origin = launch_.program.origin[writer->inst];
    const Allocation* allocation = launch_.global.find(access.address);
    return fmt::format(
        "reads byte {} of \"{}\" as read-only data (.nc), which cta {},{},{} {} at line {} in the "
        "same launch; the cache of such data may hold what was there before",
        access.address - allocation->base, allocation->label, at[0], at[1], at[2],
        access_kind(*writer), origin == nullptr ? 0 : origin->line);
  });
  if (finding == nullptr) return;
  finding->other = describe_access(launch_.program, writer->inst, noun(*writer), at, writer->warp(),
                                   writer->lane());
  name_byte(launch_.global, access.address, *finding);
}

void CtaRaces::check_strong_load(Warp& warp, const Access& access, const AccessMark& mark) {
  const auto check = [&](const AccessMark& other) {
    const int clash = other.written & access.mark.read;
    if (clash == 0 || other.cta == access.mark.cta || ordered(warp, access, other)) return;
    if (has_heard(warp, other)) return;
    const auto first = static_cast<std::uint64_t>(std::countr_zero(static_cast<unsigned>(clash)));
    report(warp, access.inst, access.lane, access.address + first, other, "reads", "writes");
  };
  if (mark.crowd == Crowd::none && mark.cta != 0) check(mark);
  if (mark.crowd == Crowd::several) std::ranges::for_each(stripe_of(mark).crowds[&mark], check);
}

void CtaRaces::note(Warp& warp, const Access& access, AccessMark& mark) {
  if (mark.crowd == Crowd::readers && only_reads(access.mark)) return;
  if (mark.crowd == Crowd::none && mark.cta == access.mark.cta) note_in_cta(warp, access, mark);
  if (mark.crowd != Crowd::none || (mark.cta != 0 && mark.cta != access.mark.cta)) {
    note_in_crowd(warp, access, mark);
  } else if (mark.cta == 0 || only_updates(mark) == only_updates(access.mark)) {
    merge(mark, access.mark);
  } else {
    // Of one CTA, too, atomics have a mark of their own: what others must have an order with is
    // the store or load before them, and atomics of others need none with an atomic.
    stripe_of(mark).crowds[&mark] = {mark, access.mark};
    mark.crowd = Crowd::several;
  }
}

// Of threads of one CTA. Barriers order them as they do in shared memory. Only the bytes count that
// the thread of the mark used itself.
void CtaRaces::note_in_cta(Warp& warp, const Access& access, const AccessMark& mark) {
  if (access.mark.own == 0 || mark.own == 0) return;
  const AccessOrder& order = warp.cta().shared().order();
  if (mark.warp() != warp.index()) {
    if (order.ordered(warp.index(), mark.warp(), tick_of(mark))) return;
  } else if (mark.inst == access.mark.inst ||  // report_clash() compares the lanes of one store
             order.lanes_ordered(warp.index(), access.lane, mark.lane(), tick_of(mark))) {
    return;
  }
  AccessMark other = mark;
  other.written &= mark.own;
  other.read = only_reads(mark) ? mark.read & mark.own : 0;  // else readers are not told apart
  other.updated = 0;
  meet(warp, access, other);
}

void CtaRaces::note_in_crowd(Warp& warp, const Access& access, AccessMark& mark) {
  if (mark.crowd == Crowd::none) {
    if (only_updates(mark) && only_updates(access.mark)) return merge(mark, access.mark);
    if (ordered(warp, access, mark)) {
      if (!only_reads(access.mark)) mark = access.mark;
      return;
    }
  }
  std::vector<AccessMark>& crowd = stripe_of(mark).crowds[&mark];
  if (mark.crowd == Crowd::none) crowd.push_back(mark);
  mark.crowd = Crowd::several;
  const bool updates = only_updates(access.mark);
  AccessMark* own = nullptr;
  std::size_t readers = 0;
  for (AccessMark& other : crowd) {
    readers += only_reads(other) ? 1 : 0;
    // The last of all atomics stands for them, as where there is nothing else.
    if (updates && only_updates(other)) {
      own = &other;
    } else if (other.cta == access.mark.cta) {
      if (!updates && !only_updates(other)) own = &other;
    } else if (!ordered(warp, access, other)) {
      meet(warp, access, other);
    }
  }
  if (own != nullptr) {
    merge(*own, access.mark);
  } else if (!only_reads(access.mark) || readers < kMostReaders) {
    crowd.push_back(access.mark);
  } else if (readers == crowd.size()) {
    mark.crowd = Crowd::readers;
  }
}

// A store that waits for a flag cannot come before it; a load may find what a cache has held since
// then, unless the flag was acquired.
bool CtaRaces::ordered(Warp& warp, const Access& access, const AccessMark& earlier) const {
  if (!launch_.communicates()) return false;
  const CtaClock& clock = warp.cta().shared().clock();
  return clock.knows(warp.index(), earlier.cta - 1, earlier.warp(), tick_of(earlier)) ||
         (access.mark.read == 0 && has_heard(warp, earlier)) ||
         (only_updates(earlier) && has_seen_all(access.address, access.mark.cta));
}

bool CtaRaces::has_seen_all(std::uint64_t word, std::uint32_t cta) const {
  const auto found = observed_.find(word);
  if (found == observed_.end()) return false;
  const auto seen = found->second.seen.find(cta);
  return seen != found->second.seen.end() && seen->second == found->second.writes;
}

void CtaRaces::note_strong(std::uint64_t word, std::uint32_t cta, Intent intent) {
  Observed& here = observed_[word];
  const bool has_seen = has_seen_all(word, cta) || reads(intent);
  if (intent != Intent::synchronise) ++here.writes;
  if (has_seen) here.seen[cta] = here.writes;
}

bool CtaRaces::has_heard(const Warp& warp, const AccessMark& earlier) {
  return warp.cta().shared().clock().has_heard(warp.index(), earlier.cta - 1, earlier.warp(),
                                               tick_of(earlier));
}

void CtaRaces::meet(Warp& warp, const Access& access, const AccessMark& other) {
  const AccessMark& own = access.mark;
  const auto write_and_write = static_cast<std::uint8_t>(own.written & ~own.read & other.written);
  if (write_and_write != 0) {
    if (other.cta != own.cta && !one_worker_ && !undecided()) undecided_ = true;
    std::uint32_t before;
    std::memcpy(&before, access.word, sizeof before);
    warp.cta().worker().contested.push_back(
        {access.lane, access.word, access.address, before, write_and_write, other});
  }
  const int clash = (own.written & (other.read | other.updated)) |
                    (other.written & (own.read | own.updated)) | (own.read & other.updated) |
                    (own.updated & other.read);
  if (clash != 0) {
    const auto first = static_cast<std::uint64_t>(std::countr_zero(static_cast<unsigned>(clash)));
    report(warp, access.inst, access.lane, access.address + first, other, access_kind(own),
           access_kind(other));
  }
}

void CtaRaces::resolve_contested(Warp& warp, const Inst& inst,
                                 std::vector<ContestedWrite>& contested) {
  for (const ContestedWrite& write : contested) {
    for (std::uint32_t left = write.bytes; left != 0; left &= left - 1) {
      const int byte = std::countr_zero(left);
      const auto before = static_cast<std::byte>(write.before >> 8 * byte);
      if (write.word[byte] == before) continue;
      report(warp, inst, write.lane, write.address + static_cast<std::uint64_t>(byte), write.other,
             "writes", "writes something else to");
      break;
    }
  }
  contested.clear();
}

void CtaRaces::report(Warp& warp, const Inst& inst, int lane, std::uint64_t address,
                      const AccessMark& other, const char* doing, const char* other_doing) {
  const std::array<std::int64_t, 3> at = launch_.position(other.cta - 1);
  Finding* const finding = warp.report(FindingKind::race, inst, lane, [&] {
    const Instruction* origin = launch_.program.origin[other.inst];
    const Allocation* allocation = launch_.global.find(address);
    std::string who = fmt::format("cta {},{},{}", at[0], at[1], at[2]);
    const char* missing = " with nothing that orders the two";
    if (other.cta == warp.cta().linear() + 1) {
      const bool same_warp = other.warp() == warp.index();
      who = same_warp ? fmt::format("lane {} of the same warp", other.lane())
                      : fmt::format("warp {} lane {}", other.warp(), other.lane());
      missing =
          same_warp ? " with no __syncwarp() (bar.warp.sync) between" : " with no barrier between";
    } else if (has_heard(warp, other)) {
      missing =
          "; the flag between the two was read without .acquire, and no fence (__threadfence()) "
          "followed";
    }
    return fmt::format("{} byte {} of \"{}\", which {} {} at line {}{}", doing,
                       address - allocation->base, allocation->label, who, other_doing,
                       origin == nullptr ? 0 : origin->line, missing);
  });
  if (finding == nullptr) return;
  finding->other =
      describe_access(launch_.program, other.inst, noun(other), at, other.warp(), other.lane());
  name_byte(launch_.global, address, *finding);
}

void CtaRaces::synchronise(Warp& warp, const Inst& inst, std::uint32_t lanes,
                           const Pointers& pointers, Intent intent) {
  CtaClock& clock = warp.cta().shared().clock();
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const std::uint64_t address =
        pointers.address[static_cast<std::size_t>(std::countr_zero(left))];
    if (space_of(address) != Space::global) continue;
    note_strong(address / kWord * kWord, static_cast<std::uint32_t>(warp.cta().linear()) + 1,
                intent);
    const auto found = published_.find(address);
    const bool known = found != published_.end();
    if (known && intent != Intent::publish) {
      if ((inst.flags & kAcquires) != 0) {
        clock.learn(warp.index(), found->second);
      } else {
        clock.hear(warp.index(), found->second);
      }
    }
    if (intent == Intent::synchronise) continue;
    Horizon horizon =
        (inst.flags & kReleases) != 0 ? clock.release(warp.index()) : clock.fenced(warp.index());
    if ((inst.flags & kData) != 0) horizon = nullptr;
    // An atomic goes on with what was published before it.
    if (known && intent == Intent::update) horizon = join(found->second, horizon);
    if (known) {
      found->second = horizon;
    } else if (horizon != nullptr) {
      published_.emplace(address, std::move(horizon));
    }
  }
}

}  // namespace plumbline::emulator
