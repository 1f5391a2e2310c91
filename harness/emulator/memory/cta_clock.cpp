// SPDX-License-Identifier: MIT
#include "harness/emulator/memory/cta_clock.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace plumbline::emulator {
namespace {

constexpr auto by_cta = [](const KnownCta& known, std::uint32_t cta) { return known.cta < cta; };

// Null: nothing is known of the CTA.
const KnownCta* find(const Horizon& known, std::uint32_t cta) {
  if (known == nullptr) return nullptr;
  const auto at = std::lower_bound(known->begin(), known->end(), cta, by_cta);
  return at != known->end() && at->cta == cta ? &*at : nullptr;
}

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
      join(at->before, other.before);
    }
  }
  return std::make_shared<const std::vector<KnownCta>>(std::move(joined));
}

bool holds(const Horizon& known, std::uint32_t cta, int warp, std::uint32_t tick) {
  const KnownCta* const found = find(known, cta);
  return found != nullptr && tick < found->before[static_cast<std::size_t>(warp)];
}

void Handover::add(const Handover& other) {
  join(own, other.own);
  known = join(known, other.known);
  fenced = join(fenced, other.fenced);
  heard = join(heard, other.heard);
}

void CtaClock::start(std::uint32_t cta) {
  cta_ = cta;
  warps_.fill({});
}

void CtaClock::barrier(std::uint32_t warps) {
  WarpKnowledge together;
  for (std::uint32_t left = warps; left != 0; left &= left - 1) {
    const WarpKnowledge& one = warps_[static_cast<std::size_t>(std::countr_zero(left))];
    together = {join(together.known, one.known), join(together.fenced, one.fenced),
                join(together.heard, one.heard)};
  }
  for (std::uint32_t left = warps; left != 0; left &= left - 1)
    warps_[static_cast<std::size_t>(std::countr_zero(left))] = together;
}

void CtaClock::learn_of_own(int warp, const Horizon& horizon) {
  if (const KnownCta* const own = find(horizon, cta_)) order_->acquire(warp, own->before);
}

void CtaClock::learn(int warp, const Horizon& horizon) {
  WarpKnowledge& knowledge = warps_[static_cast<std::size_t>(warp)];
  // A loop that waits for a flag reads the same one over and over.
  if (horizon == knowledge.learned) return;
  learn_of_own(warp, horizon);
  knowledge.known = join(knowledge.known, horizon);
  knowledge.learned = horizon;
}

void CtaClock::hear(int warp, const Horizon& horizon) {
  WarpKnowledge& knowledge = warps_[static_cast<std::size_t>(warp)];
  if (horizon == knowledge.listened) return;  // as in learn()
  knowledge.heard = join(knowledge.heard, horizon);
  knowledge.listened = horizon;
}

void CtaClock::fence(int warp) {
  WarpKnowledge& knowledge = warps_[static_cast<std::size_t>(warp)];
  if (knowledge.heard != nullptr) learn(warp, knowledge.heard);
  knowledge.heard = knowledge.listened = nullptr;
  knowledge.fenced = release(warp);
}

Horizon CtaClock::release(int warp) {
  const KnownCta own{cta_, order_->release(warp)};
  return join(known(warp), std::make_shared<const std::vector<KnownCta>>(1, own));
}

Handover CtaClock::give(int warp) {
  const WarpKnowledge& knowledge = warps_[static_cast<std::size_t>(warp)];
  return {order_->release(warp), knowledge.known, knowledge.fenced, knowledge.heard};
}

Handover CtaClock::give_abroad(int warp) {
  const WarpKnowledge& knowledge = warps_[static_cast<std::size_t>(warp)];
  return {{}, release(warp), knowledge.fenced, knowledge.heard};
}

void CtaClock::take(int warp, const Handover& from) {
  WarpKnowledge& knowledge = warps_[static_cast<std::size_t>(warp)];
  order_->acquire(warp, from.own);
  learn_of_own(warp, from.known);
  knowledge = {join(knowledge.known, from.known), join(knowledge.fenced, from.fenced),
               join(knowledge.heard, from.heard)};
}

bool CtaClock::knows(int warp, std::uint32_t cta, int other, std::uint32_t tick) const {
  if (cta == cta_) return order_->ordered(warp, other, tick);
  return tick >= AccessOrder::kLastTick ||  // later ticks are not told apart
         holds(known(warp), cta, other, tick);
}

bool CtaClock::has_heard(int warp, std::uint32_t cta, int other, std::uint32_t tick) const {
  return holds(warps_[static_cast<std::size_t>(warp)].heard, cta, other, tick);
}

bool CtaClock::has_met(int warp, const CtaClock& other) const {
  return find(known(warp), other.cta_) != nullptr;
}

}  // namespace plumbline::emulator
