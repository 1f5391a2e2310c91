// SPDX-License-Identifier: MIT
#include "harness/emulator/memory/cta_clock.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace plumbline::emulator {
namespace {

constexpr auto by_cta = [](const KnownCta& known, std::uint32_t cta) { return known.cta < cta; };

}  // namespace

Horizon join(const Horizon& a, const Horizon& b) {
  if (b == nullptr || a == b) return a;
  if (a == nullptr) return b;
  std::vector<KnownCta> joined = *a;
  for (const KnownCta& other : *b) {
    const auto at = std::lower_bound(joined.begin(), joined.end(), other.cta, by_cta);
    if (at == joined.end() || at->cta != other.cta) {
      joined.insert(at, other);
    } else {
      for (std::size_t w = 0; w < kMaxWarps; ++w)
        at->before[w] = std::max(at->before[w], other.before[w]);
    }
  }
  return std::make_shared<const std::vector<KnownCta>>(std::move(joined));
}

void CtaClock::start(std::uint32_t cta) {
  cta_ = cta;
  order_.start_cta();
  warps_.fill({});
}

void CtaClock::barrier(std::uint32_t warps, bool all) {
  if (all) {
    order_.full_barrier();
  } else {
    order_.partial_barrier(warps);
  }
  WarpKnowledge together;
  for (std::uint32_t left = warps; left != 0; left &= left - 1) {
    const WarpKnowledge& one = warps_[static_cast<std::size_t>(std::countr_zero(left))];
    together = {join(together.known, one.known), join(together.fenced, one.fenced)};
  }
  for (std::uint32_t left = warps; left != 0; left &= left - 1)
    warps_[static_cast<std::size_t>(std::countr_zero(left))] = together;
}

void CtaClock::learn(int warp, const Horizon& horizon) {
  WarpKnowledge& knowledge = warps_[static_cast<std::size_t>(warp)];
  // A loop that waits for a flag reads the same one over and over.
  if (horizon == knowledge.learned) return;
  knowledge.known = join(knowledge.known, horizon);
  knowledge.learned = horizon;
}

Horizon CtaClock::release(int warp) {
  const KnownCta own{cta_, order_.release(warp)};
  return join(warps_[static_cast<std::size_t>(warp)].known,
              std::make_shared<const std::vector<KnownCta>>(1, own));
}

void CtaClock::Passed::add(const Passed& other) {
  join(own, other.own);
  known = join(known, other.known);
  fenced = join(fenced, other.fenced);
}

void CtaClock::give(int warp, Passed& to) {
  const WarpKnowledge& knowledge = warps_[static_cast<std::size_t>(warp)];
  to.add({order_.release(warp), knowledge.known, knowledge.fenced});
}

void CtaClock::take(int warp, const Passed& from) {
  WarpKnowledge& knowledge = warps_[static_cast<std::size_t>(warp)];
  order_.acquire(warp, from.own);
  knowledge = {join(knowledge.known, from.known), join(knowledge.fenced, from.fenced)};
}

bool CtaClock::knows(int warp, std::uint32_t cta, int other, std::uint32_t tick) const {
  if (tick >= AccessOrder::kLastTick) return true;  // later ticks are not told apart
  const Horizon& known = warps_[static_cast<std::size_t>(warp)].known;
  if (known == nullptr) return false;
  const auto at = std::lower_bound(known->begin(), known->end(), cta, by_cta);
  return at != known->end() && at->cta == cta && tick < at->before[static_cast<std::size_t>(other)];
}

}  // namespace plumbline::emulator
