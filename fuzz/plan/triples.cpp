// SPDX-License-Identifier: MIT
#include "fuzz/plan/triples.h"

#include <array>
#include <numeric>
#include <unordered_set>

#include "oracles/base/random.h"

namespace plumbline {

namespace {

constexpr int kNone = -1;

using Row = std::vector<int>;

class TripleSearch {
 public:
  TripleSearch(std::span<const Factor> factors, int first, const PairAllowed& allowed,
               std::uint64_t seed)
      : factors_(factors),
        first_(first),
        count_(static_cast<int>(factors.size())),
        allowed_(allowed),
        random_(seed) {}

  std::vector<Row> run(std::span<const Row> known) {
    for (const Row& row : known) cover(row);
    std::vector<Row> rows;
    std::vector<std::array<int, 6>> waiting = all_triples();
    for (std::size_t i = waiting.size(); i > 1; --i)
      std::swap(waiting[i - 1], waiting[random_.below(i)]);
    for (const auto& [a, level_a, b, level_b, c, level_c] : waiting) {
      if (covered_.contains(code(a, level_a, b, level_b, c, level_c))) continue;
      Row row(factors_.size(), kNone);
      at(row, a) = level_a, at(row, b) = level_b, at(row, c) = level_c;
      fill_features(row);
      fill_others(row);
      cover(row);
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  static int& at(Row& row, int factor) { return row[static_cast<std::size_t>(factor)]; }

  static int at(const Row& row, int factor) { return row[static_cast<std::size_t>(factor)]; }

  int levels(int factor) const { return factors_[static_cast<std::size_t>(factor)].levels; }

  // 10 bits each for factor and level would be plenty: no kernel has so many.
  static std::uint64_t code(int a, int level_a, int b, int level_b, int c, int level_c) {
    std::uint64_t word = 0;
    for (const int part : {a, level_a, b, level_b, c, level_c})
      word = word << 10 | static_cast<std::uint64_t>(part);
    return word;
  }

  std::vector<std::array<int, 6>> all_triples() const {
    std::vector<std::array<int, 6>> all;
    for (int a = first_; a < count_; ++a) {
      for (int b = a + 1; b < count_; ++b) {
        for (int c = b + 1; c < count_; ++c) {
          for (int i = 0; i < levels(a); ++i) {
            for (int j = 0; j < levels(b); ++j) {
              for (int k = 0; k < levels(c); ++k) all.push_back({a, i, b, j, c, k});
            }
          }
        }
      }
    }
    return all;
  }

  // Triples of a level with two of those chosen that no row has yet.
  int gain_of(const Row& row, int factor, int level) const {
    int gain = 0;
    for (int a = first_; a < count_; ++a) {
      if (a == factor || at(row, a) == kNone) continue;
      for (int b = a + 1; b < count_; ++b) {
        if (b == factor || at(row, b) == kNone) continue;
        gain += !covered_.contains(sorted_code({a, b, factor}, {at(row, a), at(row, b), level}));
      }
    }
    return gain;
  }

  // `factors` [0] and [1] in order, [2] anywhere.
  static std::uint64_t sorted_code(std::array<int, 3> factors, std::array<int, 3> levels) {
    for (std::size_t i = 2; i > 0 && factors[i - 1] > factors[i]; --i) {
      std::swap(factors[i - 1], factors[i]);
      std::swap(levels[i - 1], levels[i]);
    }
    return code(factors[0], levels[0], factors[1], levels[1], factors[2], levels[2]);
  }

  std::vector<int> shuffled(int from, int to) {
    std::vector<int> order(static_cast<std::size_t>(to - from));
    std::iota(order.begin(), order.end(), from);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    return order;
  }

  void fill_features(Row& row) {
    for (const int factor : shuffled(first_, count_)) {
      if (at(row, factor) != kNone) continue;
      const int start = static_cast<int>(random_.below(static_cast<std::uint64_t>(levels(factor))));
      const bool neutral = factors_[static_cast<std::size_t>(factor)].prefer_first;
      int best = neutral ? 0 : start, best_gain = gain_of(row, factor, best);
      for (int i = 0; i < levels(factor); ++i) {
        const int level = (start + i) % levels(factor);
        const int gain = gain_of(row, factor, level);
        if (gain > best_gain) best = level, best_gain = gain;
      }
      at(row, factor) = best;
    }
  }

  void fill_others(Row& row) {
    for (const int factor : shuffled(0, first_)) {
      const int start = static_cast<int>(random_.below(static_cast<std::uint64_t>(levels(factor))));
      at(row, factor) = start;
      for (int i = 0; i < levels(factor); ++i) {
        const int level = (start + i) % levels(factor);
        if (!fits(row, factor, level)) continue;
        at(row, factor) = level;
        break;
      }
    }
  }

  bool fits(const Row& row, int factor, int level) const {
    for (int other = 0; other < count_; ++other) {
      if (other == factor || at(row, other) == kNone) continue;
      const bool allowed = other < factor ? allowed_(other, at(row, other), factor, level)
                                          : allowed_(factor, level, other, at(row, other));
      if (!allowed) return false;
    }
    return true;
  }

  void cover(const Row& row) {
    for (int a = first_; a < count_; ++a) {
      for (int b = a + 1; b < count_; ++b) {
        for (int c = b + 1; c < count_; ++c)
          covered_.insert(code(a, at(row, a), b, at(row, b), c, at(row, c)));
      }
    }
  }

  std::span<const Factor> factors_;
  int first_, count_;
  const PairAllowed& allowed_;
  Random random_;
  std::unordered_set<std::uint64_t> covered_;
};

}  // namespace

std::vector<std::vector<int>> triple_rows(std::span<const Factor> factors, int first,
                                          std::span<const std::vector<int>> known,
                                          const PairAllowed& allowed, std::uint64_t seed) {
  return TripleSearch(factors, first, allowed, seed).run(known);
}

}  // namespace plumbline
