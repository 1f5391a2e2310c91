// SPDX-License-Identifier: MIT
// One function per space, access size and intent. They are apart from the loads and stores that use
// them: element types would otherwise multiply with spaces.
#include "harness/emulator/machine/access.h"
#include "harness/emulator/machine/cluster.h"
#include "harness/emulator/machine/flags.h"

namespace plumbline::emulator {
namespace {

constexpr Access access_of(Intent intent) {
  if (intent == Intent::update) return Access::atomic;
  return reads(intent) ? Access::load : Access::store;
}

template <Space S, int Bytes, Intent I>
[[gnu::always_inline]] inline void run(Warp& warp, const Inst& inst, std::uint32_t mask) {
  constexpr bool kStrong = I != Intent::read && I != Intent::write;
  if constexpr (kStrong) {
    if (reads_flag(warp, inst, mask, S, Bytes, I)) {
      warp.cta().shared().order().acquire(warp.index());
      if constexpr (S == Space::shared || S == Space::generic) {
        if (warp.cta().in_cluster()) warp.cta().cluster().learn_all(warp);
      }
    }
  }
  warp.scratch() = resolve<S, Bytes>(warp, inst, mask, warp.pointers(), I) ? 1 : 0;
  [[maybe_unused]] std::uint32_t older = 0;
  if constexpr (kStrong && (S == Space::global || S == Space::shared || S == Space::generic)) {
    const Cta& cta = warp.cta();
    if (cta.launch().older_values && cta.worker().races != nullptr && warp.scratch() != 0)
      older = find_older_values(warp, inst, mask, S, Bytes, I);
  }
  if constexpr (S != Space::param && S != Space::constant) {
    if (warp.counts_traffic())
      count_access(warp, inst, mask, warp.pointers().address, S, Bytes, access_of(I));
  }
  if constexpr (kStrong && (S == Space::global || S == Space::generic)) {
    CtaRaces* races = warp.cta().worker().races;
    if (races != nullptr && (inst.flags & kCtaScope) == 0)
      races->synchronise(warp, inst, mask & ~older, warp.pointers(), I);
  }
}

template <Space S, Intent I>
constexpr HandlerSet by_size(int bytes) {
  // Only the frequent combinations are worth vector code.
  constexpr bool kFrequent =
      (S == Space::global || S == Space::shared) && (I == Intent::read || I == Intent::write);
  const auto one = []<int Bytes>() -> HandlerSet {
    if constexpr (kFrequent) {
      return handlers_of<&run<S, Bytes, I>>;
    } else {
      return plain<&on_base<&run<S, Bytes, I>>>;
    }
  };
  switch (bytes) {
    case 1:
      return one.template operator()<1>();
    case 2:
      return one.template operator()<2>();
    case 4:
      return one.template operator()<4>();
    case 8:
      return one.template operator()<8>();
    case 16:
      return one.template operator()<16>();
    case 32:
      if constexpr (S == Space::global || S == Space::generic) return one.template operator()<32>();
      return {};
    default:
      return {};
  }
}

template <Space S>
HandlerSet by_intent(int bytes, Intent intent) {
  switch (intent) {
    case Intent::read:
      return by_size<S, Intent::read>(bytes);
    case Intent::write:
      return by_size<S, Intent::write>(bytes);
    case Intent::synchronise:
      return by_size<S, Intent::synchronise>(bytes);
    case Intent::publish:
      return by_size<S, Intent::publish>(bytes);
    case Intent::update:
      return by_size<S, Intent::update>(bytes);
  }
  return {};
}

}  // namespace

Resolver resolver(Space space, int bytes, Intent intent) {
  const HandlerSet set = [&]() -> HandlerSet {
    switch (space) {
      case Space::global:
        return by_intent<Space::global>(bytes, intent);
      case Space::shared:
        return by_intent<Space::shared>(bytes, intent);
      case Space::local:
        return by_intent<Space::local>(bytes, intent);
      case Space::param:
        return by_intent<Space::param>(bytes, intent);
      case Space::constant:
        return by_intent<Space::constant>(bytes, intent);
      default:
        return by_intent<Space::generic>(bytes, intent);
    }
  }();
  return set ? pick(set) : nullptr;
}

}  // namespace plumbline::emulator
