// SPDX-License-Identifier: MIT
// Which accesses of a CTA are ordered by barriers. Every access carries the tick at which it was
// made; each barrier that completes starts a new tick. An access at tick t by warp q happened
// before warp w's present when
//   t < floor(w)        w passed a barrier of the whole CTA since, or
//   t < seen(w, q)      w and q (or a chain of warps between them) shared a partial barrier since.
// A warp is ordered with itself, except for lanes that diverged and have not met again.
#pragma once

#include <array>
#include <cstdint>

namespace plumbline::emulator {

constexpr int kMaxWarps = 32;

class AccessOrder {
 public:
  static constexpr std::uint32_t kLastTick = (1u << 21) - 2;  // stamps stay below 2^31

  // A new CTA: everything stamped before counts as ordered. False when the ticks have run out and
  // the shadow that holds them has to be cleared.
  bool start_cta() {
    if (tick_ > kLastTick / 2) {
      tick_ = 0;
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
    if (!partial_) {
      seen_ = {};
      partial_ = true;
    }
    std::array<std::uint32_t, kMaxWarps> joined{};
    std::uint32_t floor = 0;
    for (int w = 0; w < kMaxWarps; ++w) {
      if ((warps >> w & 1) == 0) continue;
      floor = floor > floor_[w] ? floor : floor_[w];
      for (int q = 0; q < kMaxWarps; ++q)
        joined[q] = joined[q] > seen_[w][q] ? joined[q] : seen_[w][q];
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

  // A new tick, so that what follows is told apart from what came before.
  std::uint32_t next_tick() {
    if (tick_ < kLastTick) ++tick_;
    used_ = false;
    return tick_;
  }

  // Lanes of the warp part.
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

  bool ordered(int warp, int other, std::uint32_t tick) const {
    return tick < known_before(warp, other);
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

  std::uint32_t tick_ = 0;
  bool used_ = false;     // an access was stamped with this tick
  bool partial_ = false;  // seen_ means something
  std::array<std::uint32_t, kMaxWarps> floor_{};
  std::array<std::uint32_t, kMaxWarps> parted_{};
  std::array<std::array<std::uint32_t, kMaxWarps>, kMaxWarps> seen_{};
};

}  // namespace plumbline::emulator
