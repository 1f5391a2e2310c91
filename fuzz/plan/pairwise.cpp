// SPDX-License-Identifier: MIT
// The greedy algorithm of AETG (Cohen, Dalal, Fredman & Patton, 1997): each row starts from a pair
// not yet covered and adds, factor by factor, the level that covers most new pairs; the best of a
// few such rows is kept.
#include "fuzz/plan/pairwise.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "oracles/base/random.h"

namespace plumbline {

namespace {

constexpr int kCandidates = 6;
constexpr int kNone = -1;

using Row = std::vector<int>;

struct Pair {
  int first, a, second, b;
};

class Search {
 public:
  Search(std::span<const Factor> factors, const PairAllowed& allowed, std::uint64_t seed)
      : factors_(factors.begin(), factors.end()), offsets_(factors.size() + 1, 0), random_(seed) {
    for (const Factor& factor : factors) levels_.push_back(factor.levels);
    for (std::size_t f = 0; f < levels_.size(); ++f) offsets_[f + 1] = offsets_[f] + levels_[f];
    state_.assign(static_cast<std::size_t>(offsets_.back()) * offsets_.back(), State::done);
    for_each_pair([&](const Pair& pair) {
      at(pair) =
          allowed(pair.first, pair.a, pair.second, pair.b) ? State::wanted : State::forbidden;
      if (at(pair) == State::wanted) waiting_.push_back(pair);
    });
    for (std::size_t i = waiting_.size(); i > 1; --i)
      std::swap(waiting_[i - 1], waiting_[random_.below(i)]);
  }

  std::vector<Row> run() {
    std::vector<Row> rows;
    if (levels_.size() == 1) return single_factor();
    while (const std::optional<Pair> pair = next_wanted()) {
      Row best;
      int best_gain = 0;
      for (int candidate = 0; candidate < kCandidates; ++candidate) {
        const Row row = complete(*pair);
        const int gain = row.empty() ? 0 : new_pairs(row);
        if (gain > best_gain) {
          best = row;
          best_gain = gain;
        }
      }
      if (best.empty()) {  // no row can hold this pair beside its other constraints
        at(*pair) = State::done;
        continue;
      }
      cover(best);
      rows.push_back(std::move(best));
    }
    return rows;
  }

 private:
  enum class State : std::uint8_t { done, wanted, forbidden };

  std::vector<Row> single_factor() const {
    std::vector<Row> rows;
    for (int level = 0; level < levels_[0]; ++level) rows.push_back({level});
    return rows;
  }

  template <typename Visit>
  void for_each_pair(Visit visit) const {
    const int factors = static_cast<int>(levels_.size());
    for (int first = 0; first < factors; ++first) {
      for (int second = first + 1; second < factors; ++second) {
        for (int a = 0; a < levels_[static_cast<std::size_t>(first)]; ++a) {
          for (int b = 0; b < levels_[static_cast<std::size_t>(second)]; ++b)
            visit(Pair{first, a, second, b});
        }
      }
    }
  }

  State& at(const Pair& pair) {
    const int row = offsets_[static_cast<std::size_t>(pair.first)] + pair.a;
    const int column = offsets_[static_cast<std::size_t>(pair.second)] + pair.b;
    return state_[static_cast<std::size_t>(row) * offsets_.back() + column];
  }

  State state_of(int factor, int level, int other, int other_level) {
    return factor < other ? at({factor, level, other, other_level})
                          : at({other, other_level, factor, level});
  }

  std::optional<Pair> next_wanted() {
    while (!waiting_.empty() && at(waiting_.back()) != State::wanted) waiting_.pop_back();
    if (waiting_.empty()) return std::nullopt;
    return waiting_.back();
  }

  // New pairs that `level` of `factor` would cover beside the levels chosen so far; kNone where one
  // is forbidden.
  int gain_of(const Row& row, int factor, int level) {
    int gain = 0;
    for (int other = 0; other < static_cast<int>(row.size()); ++other) {
      const int other_level = row[static_cast<std::size_t>(other)];
      if (other == factor || other_level == kNone) continue;
      const State state = state_of(factor, level, other, other_level);
      if (state == State::forbidden) return kNone;
      gain += state == State::wanted ? 1 : 0;
    }
    return gain;
  }

  // A row around `pair`, the other factors in random order; empty when constraints leave some
  // factor no level.
  Row complete(const Pair& pair) {
    Row row(levels_.size(), kNone);
    row[static_cast<std::size_t>(pair.first)] = pair.a;
    row[static_cast<std::size_t>(pair.second)] = pair.b;
    std::vector<int> order(levels_.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    for (const int factor : order) {
      int& chosen = row[static_cast<std::size_t>(factor)];
      if (chosen != kNone) continue;
      const int count = levels_[static_cast<std::size_t>(factor)];
      const int start = static_cast<int>(random_.below(static_cast<std::uint64_t>(count)));
      int best = kNone, best_gain = kNone;
      if (factors_[static_cast<std::size_t>(factor)].prefer_first &&
          gain_of(row, factor, 0) != kNone) {
        best = 0;
        best_gain = gain_of(row, factor, 0);
      }
      for (int i = 0; i < count; ++i) {
        const int level = (start + i) % count;
        const int gain = gain_of(row, factor, level);
        if (gain > best_gain) {
          best = level;
          best_gain = gain;
        }
      }
      if (best == kNone) return {};
      chosen = best;
    }
    return row;
  }

  template <typename Visit>
  void for_each_pair_of(const Row& row, Visit visit) {
    for (int first = 0; first < static_cast<int>(row.size()); ++first) {
      for (int second = first + 1; second < static_cast<int>(row.size()); ++second) {
        visit(at({first, row[static_cast<std::size_t>(first)], second,
                  row[static_cast<std::size_t>(second)]}));
      }
    }
  }

  int new_pairs(const Row& row) {
    int count = 0;
    for_each_pair_of(row, [&](State& state) { count += state == State::wanted ? 1 : 0; });
    return count;
  }

  void cover(const Row& row) {
    for_each_pair_of(row, [](State& state) { state = State::done; });
  }

  std::vector<Factor> factors_;
  std::vector<int> levels_;
  std::vector<int> offsets_;
  Random random_;
  std::vector<State> state_;
  std::vector<Pair> waiting_;  // in random order; those covered meanwhile are skipped
};

}  // namespace

std::vector<std::vector<int>> pairwise_rows(std::span<const Factor> factors,
                                            const PairAllowed& allowed, std::uint64_t seed) {
  if (factors.empty()) return {};
  return Search(factors, allowed, seed).run();
}

}  // namespace plumbline
