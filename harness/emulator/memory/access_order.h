// SPDX-License-Identifier: MIT
// Which accesses of a CTA are ordered by barriers. Every access carries the tick at which it was
// made; each barrier that completes starts a new tick. An access at tick t by warp q happened
// before warp w's present when
//   t < floor(w)        w passed a barrier of the whole CTA since, or
//   t < seen(w, q)      w and q (or a chain of warps between them) shared a partial barrier since.
// A warp is ordered with itself, except for lanes that diverged and have not met again.
//
// Plain accesses and those of asynchronous units (wgmma, bulk copies) take different ways to shared
// memory. What is written by the plain way is there for the other one only after a
// fence.proxy.async of a warp that knows of the write.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace plumbline::emulator {

constexpr int kMaxWarps = 32;

// What a warp may rely on: of each warp, the tick before which its accesses have happened.
using Knowledge = std::array<std::uint32_t, kMaxWarps>;

inline void join(Knowledge& into, const Knowledge& other) {
  for (int q = 0; q < kMaxWarps; ++q) into[q] = into[q] > other[q] ? into[q] : other[q];
}

class AccessOrder {
 public:
  static constexpr std::uint32_t kLastTick = (1u << 21) - 2;  // stamps stay below 2^31

  // A new CTA: everything stamped before counts as ordered. False when the ticks have run out and
  // the shadow that holds them has to be cleared.
  bool start_cta() {
    if (tick_ > kLastTick / 2) {
      tick_ = 0;
      fenced_.fill(0);
      asynchronous_.clear();
      enter_tick();
      return false;
    }
    enter_tick();
    return true;
  }

  // The barrier was for every warp of the CTA.
  void full_barrier() {
    if (tick_ < kLastTick) enter_tick();
  }

  // The barrier was for the warps in the mask.
  void partial_barrier(std::uint32_t warps) {
    if (tick_ >= kLastTick) return;
    enter_partial();
    Knowledge joined{};
    std::uint32_t floor = 0;
    for (int w = 0; w < kMaxWarps; ++w) {
      if ((warps >> w & 1) == 0) continue;
      floor = floor > floor_[w] ? floor : floor_[w];
      join(joined, seen_[w]);
    }
    ++tick_;
    used_ = false;
    for (int w = 0; w < kMaxWarps; ++w) {
      if ((warps >> w & 1) != 0) joined[w] = tick_;
    }
    for (int w = 0; w < kMaxWarps; ++w) {
      if ((warps >> w & 1) == 0) continue;
      floor_[w] = floor;
      seen_[w] = joined;
    }
  }

  // The warp read a flag (volatile, atomic) that others set: from here on it may rely on all they
  // did before.
  void acquire(int warp) {
    if (tick_ < kLastTick) floor_[warp] = next_tick();
  }

  // All that the warp knows, its own accesses so far included; what it does next is not.
  Knowledge release(int warp) {
    Knowledge known;
    for (int q = 0; q < kMaxWarps; ++q) known[q] = known_before(warp, q);
    known[warp] = next_tick();
    return known;
  }

  // The warp learns what others released.
  void acquire(int warp, const Knowledge& known) {
    if (tick_ >= kLastTick) return;
    enter_partial();
    join(seen_[warp], known);
  }

  // fence.proxy.async
  void fence_proxy(int warp) { join(fenced_, release(warp)); }

  // What an asynchronous unit writes needs no fence: all accesses between the two calls, and
  // nothing else.
  void begin_asynchronous() {
    if (used_) next_tick();
  }

  void end_asynchronous() {
    if (asynchronous_.size() <= tick_) asynchronous_.resize(tick_ + 1);
    asynchronous_[tick_] = true;
    next_tick();
  }

  // Of the accesses of the warp alone.
  Knowledge own(int warp) const {
    Knowledge known{};
    known[warp] = tick_;
    return known;
  }

  // Whether an access came before a fence, or needs none.
  bool fenced(int warp, std::uint32_t tick) const {
    return tick < fenced_[warp] || tick >= kLastTick ||
           (tick < asynchronous_.size() && asynchronous_[tick]);
  }

  // A new tick, so that what follows is told apart from what came before.
  std::uint32_t next_tick() {
    if (tick_ < kLastTick) ++tick_;
    used_ = false;
    return tick_;
  }

  // Lanes of the warp part, or go on apart after they have met.
  void diverge(int warp) {
    if (used_) next_tick();
    parted_[warp] = tick_;
  }

  void note_access() { used_ = true; }

  std::uint32_t tick() const { return tick_; }

  std::uint32_t floor(int warp) const { return floor_[warp]; }

  // The tick before which the accesses of the other warp happened before this one's present.
  std::uint32_t known_before(int warp, int other) const {
    return partial_ && seen_[warp][other] > floor_[warp] ? seen_[warp][other] : floor_[warp];
  }

  // Ticks beyond the last one are not told apart.
  bool ordered(int warp, int other, std::uint32_t tick) const {
    return tick < known_before(warp, other) || tick >= kLastTick;
  }

  // For two lanes of one diverged warp: whether the access came before they parted.
  bool before_parting(int warp, std::uint32_t tick) const { return tick < parted_[warp]; }

 private:
  void enter_tick() {
    ++tick_;
    used_ = false;
    partial_ = false;
    floor_.fill(tick_);
    parted_.fill(tick_);
  }

  void enter_partial() {
    if (partial_) return;
    seen_ = {};
    partial_ = true;
  }

  std::uint32_t tick_ = 0;
  bool used_ = false;     // an access was stamped with this tick
  bool partial_ = false;  // seen_ means something
  Knowledge floor_{};
  Knowledge parted_{};
  Knowledge fenced_{};              // by fence.proxy.async
  std::vector<bool> asynchronous_;  // by tick
  std::array<Knowledge, kMaxWarps> seen_{};
};

}  // namespace plumbline::emulator
