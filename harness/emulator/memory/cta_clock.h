// SPDX-License-Identifier: MIT
// What the warps of a CTA know of other CTAs, in launches whose CTAs communicate: vector clocks
// (PTX ISA 9.0 section 8, causality order).
//
// Every access of a CTA carries the tick at which it was made (access_order.h). Inside the CTA a
// barrier passes on what its warps know. Between CTAs knowledge passes through a place in global
// memory: a warp that writes it with .release, or with any strong write after a fence, publishes
// what it knew then; whoever reads it by a strong read learns that. No fence is asked of the
// reader, and a fence before a barrier counts for all warps that meet there: with both, this is
// more lenient than the manual.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/emulator/memory/access_order.h"

namespace plumbline::emulator {

// Of each CTA in it, in increasing order, the tick before which a warp's accesses are known. Null:
// of none.
struct KnownCta {
  std::uint32_t cta = 0;
  Knowledge before{};
};

using Horizon = std::shared_ptr<const std::vector<KnownCta>>;

Horizon join(const Horizon& a, const Horizon& b);

class CtaClock {
 public:
  void start(std::uint32_t cta);

  std::uint32_t tick() const { return order_.tick(); }

  // Warps met; `all` when these are all of the CTA.
  void barrier(std::uint32_t warps, bool all);

  void fence(int warp) { warps_[static_cast<std::size_t>(warp)].fenced = release(warp); }

  void learn(int warp, const Horizon& horizon);

  // All the warp knows, what its CTA did so far included.
  Horizon release(int warp);

  // What it knew at its last fence.
  const Horizon& fenced(int warp) const { return warps_[static_cast<std::size_t>(warp)].fenced; }

  // What passes from warp to warp through an mbarrier.
  struct Passed {
    Knowledge own{};
    Horizon known, fenced;

    void add(const Passed& other);
  };

  void give(int warp, Passed& to);
  void take(int warp, const Passed& from);

  // Whether another CTA's access is one that the warp knows of.
  bool knows(int warp, std::uint32_t cta, int other, std::uint32_t tick) const;

 private:
  struct WarpKnowledge {
    Horizon known, fenced;
    Horizon learned = {};  // what joined `known` last
  };

  std::uint32_t cta_ = 0;
  AccessOrder order_;
  std::array<WarpKnowledge, kMaxWarps> warps_;
};

}  // namespace plumbline::emulator
