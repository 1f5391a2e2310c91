// SPDX-License-Identifier: MIT
// Races in global memory, between the CTAs of one launch and between the threads of a CTA: two of
// them access the same byte, one writes, and nothing orders the two. Two strong accesses (volatile,
// relaxed, acquire, release, atomic) are no race, nor are writes of the same value.
//
// Every word that the launch writes, or reads of memory that an earlier launch had to fill, carries
// a mark: which CTA used which of its bytes, and where in its program. That is all for most words.
// Where several CTAs meet in one word, all of them are kept in a list; what is ordered by the
// clocks of the CTAs (cta_clock.h) is no race. Only CTAs that communicate have such an order.
//
// The threads of a CTA have the order of their accesses to shared memory (access_order.h); the
// thread that used a word last is held against the next one, where no other CTA uses the word.
//
// Lenient on purpose: of a CTA only the last write of a word counts, and a read that knows of the
// write before it is not kept, so that a later write may come too early unseen. Inputs that
// nothing writes over are not watched: that a kernel does is found by the comparison after the
// launch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "harness/emulator/machine/launch.h"
#include "harness/emulator/memory/cta_clock.h"

namespace plumbline::emulator {

class Warp;
struct Inst;
struct Pointers;
enum class Intent : std::uint8_t;

// A write of bytes that another CTA wrote: a race if it changes them.
struct ContestedWrite {
  int lane = 0;
  const std::byte* word = nullptr;
  std::uint64_t address = 0;
  std::uint32_t before = 0;  // what the word held
  std::uint8_t bytes = 0;    // of the word, as a mask
  AccessMark other;
};

class CtaRaces {
 public:
  CtaRaces(const Launch& launch, bool one_worker) : launch_(launch), one_worker_(one_worker) {}

  // An access, before it is performed.
  void access(Warp& warp, const Inst& inst, std::uint32_t lanes, const Pointers& pointers,
              const Allocation& allocation, int bytes, Intent intent);

  // Whether a write of bytes that another CTA wrote was met while both CTAs may have been about to
  // write: what the word held before and holds behind is then no proof.
  bool undecided() const { return undecided_.load(std::memory_order_relaxed); }

  // Once the values are written.
  void resolve_contested(Warp& warp, const Inst& inst, std::vector<ContestedWrite>& contested);

  // A strong access of global memory passes knowledge from CTA to CTA.
  void synchronise(Warp& warp, const Inst& inst, std::uint32_t lanes, const Pointers& pointers,
                   Intent intent);

 private:
  // Guards the marks of some of the words, when several workers run.
  struct Stripe {
    std::mutex mutex;
    std::unordered_map<const AccessMark*, std::vector<AccessMark>> crowds;
  };

  struct Access;

  // A load of read-only data (ld.global.nc): a finding where this launch has written it.
  void check_read_only(Warp& warp, const Access& access, const AccessMark& mark);
  // A volatile, relaxed or acquire load: a finding where another CTA wrote by a plain store and
  // nothing orders the two. It leaves no mark.
  void check_strong_load(Warp& warp, const Access& access, const AccessMark& mark);
  void note(Warp& warp, const Access& access, AccessMark& mark);
  void note_in_cta(Warp& warp, const Access& access, const AccessMark& mark);
  void note_in_crowd(Warp& warp, const Access& access, AccessMark& mark);
  bool ordered(Warp& warp, const Access& access, const AccessMark& earlier) const;
  static bool has_heard(const Warp& warp, const AccessMark& earlier);
  bool has_seen_all(std::uint64_t word, std::uint32_t cta) const;
  void note_strong(std::uint64_t word, std::uint32_t cta, Intent intent);
  void meet(Warp& warp, const Access& access, const AccessMark& other);
  void report(Warp& warp, const Inst& inst, int lane, std::uint64_t address,
              const AccessMark& other, const char* doing, const char* other_doing);
  Stripe& stripe_of(const AccessMark& mark);
  static std::unique_lock<std::mutex> hold(Stripe& stripe, std::unique_lock<std::mutex> held);

  const Launch& launch_;
  bool one_worker_;
  std::atomic<bool> undecided_ = false;
  std::array<Stripe, 64> stripes_;
  std::unordered_map<std::uint64_t, Horizon> published_;  // by address

  // By word: its strong writes so far, and how many of them a CTA has seen by a strong read. What a
  // CTA does with the word after it has seen all of them comes after them, as where the last block
  // resets a flag that it waited for.
  struct Observed {
    std::uint64_t writes = 0;
    std::unordered_map<std::uint32_t, std::uint64_t> seen;  // by AccessMark::cta
  };

  std::unordered_map<std::uint64_t, Observed> observed_;
};

}  // namespace plumbline::emulator
