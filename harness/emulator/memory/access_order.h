// SPDX-License-Identifier: MIT
// Which accesses of a CTA are ordered by barriers. Every access carries the tick at which it was
// made; each barrier that completes starts a new tick. An access at tick t by warp q happened
// before warp w's present when
//   t < floor(w)        w passed a barrier of the whole CTA since, or
//   t < seen(w, q)      w and q (or a chain of warps between them) shared a partial barrier since.
//
// The lanes of one warp are threads like all others. An access at tick t by lane m happened before
// the present of lane l of the same warp when l is m, when a barrier orders the warp with itself,
//   t < lanes_floor(w)  all lanes of the warp have met since, or
//   t < known(l, m)     l and m (or a chain of lanes between them) met since, others did not.
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

// What a warp may rely on: of each warp, the tick before which its accesses have happened. Or what
// a lane may rely on, of each lane of its warp.
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
      began_ = tick_;
      return false;
    }
    enter_tick();
    began_ = tick_;
    return true;
  }

  // The barrier was for every warp of the CTA.
  void full_barrier() {
    ++barriers_;
    if (tick_ < kLastTick) enter_tick();
  }

  // The barrier was for the warps in the mask.
  void partial_barrier(std::uint32_t warps) {
    ++barriers_;
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
    used_ = 0;
    for (int w = 0; w < kMaxWarps; ++w) {
      if ((warps >> w & 1) != 0) joined[w] = tick_;
    }
    for (int w = 0; w < kMaxWarps; ++w) {
      if ((warps >> w & 1) == 0) continue;
      floor_[w] = floor;
      seen_[w] = joined;
    }
  }

  // The warp read a flag that others set (machine/flags.h): from here on it may rely on all they
  // did before.
  void acquire(int warp) {
    uneven_ = true;
    if (tick_ < kLastTick) floor_[warp] = next_tick();
  }

  // All that the warp knows, its own accesses so far included; what it does next is not.
  Knowledge release(int warp) {
    uneven_ = true;
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
    if (used_ != 0) next_tick();
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
    used_ = 0;
    return tick_;
  }

  // All lanes of the warp have waited for one another.
  void lanes_met(int warp) {
    ++meetings_[warp];
    lanes_floor_[warp] = tick_behind(warp);
    lanes_apart_ &= ~(1u << warp);
  }

  // Some of its lanes have.
  void lanes_met(int warp, std::uint32_t lanes) {
    ++meetings_[warp];
    if (lanes_known_.empty()) lanes_known_.resize(kMaxWarps);
    LaneKnowledge& known = lanes_known_[static_cast<std::size_t>(warp)];
    if ((lanes_apart_ >> warp & 1) == 0) known = {};
    lanes_apart_ |= 1u << warp;
    Knowledge together{};
    const std::uint32_t now = tick_behind(warp);
    for (int lane = 0; lane < kLanesOfAWarp; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      join(together, known[lane]);
      together[lane] = now;
    }
    for (int lane = 0; lane < kLanesOfAWarp; ++lane) {
      if ((lanes >> lane & 1) != 0) known[lane] = together;
    }
  }

  // How often lanes of the warp have met, or any warps. Flags do not count.
  std::uint32_t meetings(int warp) const { return meetings_[warp] + barriers_; }

  void note_access(int warp) { used_ |= 1u << warp; }

  std::uint32_t tick() const { return tick_; }

  // The first tick of this CTA.
  std::uint32_t began() const { return began_; }

  std::uint32_t floor(int warp) const { return floor_[warp]; }

  // The tick before which the accesses of the other warp happened before this one's present.
  std::uint32_t known_before(int warp, int other) const {
    return partial_ && seen_[warp][other] > floor_[warp] ? seen_[warp][other] : floor_[warp];
  }

  // Ticks beyond the last one are not told apart.
  bool ordered(int warp, int other, std::uint32_t tick) const {
    return tick < known_before(warp, other) || tick >= kLastTick;
  }

  // The tick before which all accesses of the warp happened before those of any of its lanes now.
  std::uint32_t lanes_floor(int warp) const {
    const std::uint32_t known = known_before(warp, warp);
    return known > lanes_floor_[warp] ? known : lanes_floor_[warp];
  }

  // The same for an access of one lane and the present of another.
  bool lanes_ordered(int warp, int lane, int other, std::uint32_t tick) const {
    if (lane == other || tick < lanes_floor(warp) || tick >= kLastTick) return true;
    return (lanes_apart_ >> warp & 1) != 0 &&
           tick < lanes_known_[static_cast<std::size_t>(warp)][lane][other];
  }

  // Readers of a word since this tick may be kept as one set with one tick, that of the last of
  // them: what orders a warp with one of them orders it with all. Once warps know different things
  // of one another, that holds for the present tick alone.
  std::uint32_t readers_since() const { return uneven_ ? tick_ : even_since_; }

 private:
  static constexpr int kLanesOfAWarp = 32;

  // Of each lane of a warp, the tick before which accesses of each other one are known.
  using LaneKnowledge = std::array<Knowledge, kLanesOfAWarp>;

  void enter_tick() {
    ++tick_;
    used_ = 0;
    partial_ = false;
    uneven_ = false;
    even_since_ = tick_;
    lanes_apart_ = 0;
    floor_.fill(tick_);
    lanes_floor_.fill(tick_);
  }

  // A tick behind all accesses of the warp so far.
  std::uint32_t tick_behind(int warp) { return (used_ >> warp & 1) != 0 ? next_tick() : tick_; }

  void enter_partial() {
    uneven_ = true;
    if (partial_) return;
    seen_ = {};
    partial_ = true;
  }

  std::uint32_t tick_ = 0;
  std::uint32_t began_ = 0;
  std::uint32_t used_ = 0;        // the warps of which an access was stamped with this tick
  bool partial_ = false;          // seen_ means something
  bool uneven_ = false;           // warps know different things of one another
  std::uint32_t even_since_ = 0;  // the tick of the last barrier of the whole CTA
  Knowledge floor_{};
  Knowledge lanes_floor_{};
  std::uint32_t lanes_apart_ = 0;  // the warps whose lanes_known_ means something
  std::vector<LaneKnowledge> lanes_known_;
  Knowledge meetings_{};
  std::uint32_t barriers_ = 0;
  Knowledge fenced_{};              // by fence.proxy.async
  std::vector<bool> asynchronous_;  // by tick
  std::array<Knowledge, kMaxWarps> seen_{};
};

}  // namespace plumbline::emulator
