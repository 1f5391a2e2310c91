// SPDX-License-Identifier: MIT
// What the warps of a CTA know of one another, and of other CTAs: vector clocks (PTX ISA 9.0
// section 8, causality order).
//
// Every access of a CTA carries the tick at which it was made (access_order.h). Inside the CTA a
// barrier passes on what its warps know. Between CTAs that communicate knowledge passes
//
// - through a place in global memory: a warp that writes it with .release, or with any strong write
//   after a fence, publishes what it knew then; a warp that reads it by .acquire learns that, and
//   one that reads it by another strong read does so at its next fence. A fence before a barrier,
//   and a read before one, count for all warps that meet there: more lenient than the manual
// - in a cluster, through barrier.cluster and the mbarriers of the others
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

// What passes from warp to warp: of accesses of the CTA that takes it, of other CTAs, of those
// when the giver fenced last, and of what it has read but not acquired.
struct Handover {
  Knowledge own{};
  Horizon known, fenced, heard;

  void add(const Handover& other);
};

class CtaClock {
 public:
  // `order` is that of the CTA's accesses, and outlives the clock.
  explicit CtaClock(AccessOrder& order) : order_(&order) {}

  void start(std::uint32_t cta);

  std::uint32_t cta() const { return cta_; }

  std::uint32_t tick() const { return order_->tick(); }

  // Warps met.
  void barrier(std::uint32_t warps);

  void fence(int warp);

  void learn(int warp, const Horizon& horizon);

  // By a read that is no acquire: known from the next fence on.
  void hear(int warp, const Horizon& horizon);

  // All the warp knows, what its CTA did so far included.
  Horizon release(int warp);

  // What it knew at its last fence.
  const Horizon& fenced(int warp) const { return warps_[static_cast<std::size_t>(warp)].fenced; }

  const Horizon& known(int warp) const { return warps_[static_cast<std::size_t>(warp)].known; }

  // For warps of its own CTA, and for those of another one.
  Handover give(int warp);
  Handover give_abroad(int warp);
  void take(int warp, const Handover& from);

  // Whether an access of a CTA, this one or another, is one that the warp knows of.
  bool knows(int warp, std::uint32_t cta, int other, std::uint32_t tick) const;

  // Whether the warp would know of it after a fence.
  bool has_heard(int warp, std::uint32_t cta, int other, std::uint32_t tick) const;

  // Whether the warp knows of anything that the other CTA did.
  bool has_met(int warp, const CtaClock& other) const;

 private:
  struct WarpKnowledge {
    Horizon known, fenced, heard;
    Horizon learned = {}, listened = {};  // what joined `known` and `heard` last
  };

  // What others know of this CTA's accesses, the warp knows then, too.
  void learn_of_own(int warp, const Horizon& horizon);

  std::uint32_t cta_ = 0;
  AccessOrder* order_;
  std::array<WarpKnowledge, kMaxWarps> warps_;
};

// Whether an access of a warp of a CTA is one of those.
bool holds(const Horizon& known, std::uint32_t cta, int warp, std::uint32_t tick);

}  // namespace plumbline::emulator
