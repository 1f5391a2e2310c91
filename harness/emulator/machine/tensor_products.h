// SPDX-License-Identifier: MIT
// The tcgen05.mma and tcgen05.cp that threads of a CTA have issued and no thread has waited for.
// Like all asynchronous operations here, a product is computed as late as possible: when a thread
// asks the mbarrier of a tcgen05.commit behind it, by the thread that issued it, for the phase that
// the commit's arrival ends.
// Products follow one another in the order in which they were issued.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string_view>

#include "oracles/formats/format.h"

namespace plumbline {
class MmaPlan;
}  // namespace plumbline

namespace plumbline::emulator {

class Cta;
class Warp;
struct Inst;

// One of a pair of CTAs (.cta_group::2) is two of these, of 128 rows each.
struct TensorProduct {
  const Inst* at = nullptr;
  Warp* warp = nullptr;  // that issued it
  int lane = 0;
  // In whose memory D and A are, and the CTAs that have the columns of B, one half each; without a
  // pair twice the same.
  Cta* cta = nullptr;
  std::array<Cta*, 2> b_of{};
  const MmaPlan* plan = nullptr;  // of a piece of m16n8
  int m = 0, n = 0;
  // A tcgen05.cp instead: 32 rows of 16 bytes of shared memory (`b`) to every quarter of four
  // columns (n) of D.
  bool copies = false;
  bool adds = true;  // to what D holds, else to zero
  bool a_in_tensor_memory = false;
  std::uint64_t a = 0, b = 0;  // descriptors of shared memory, or A's address
  int d = 0;                   // column
  int upper = 0;               // of m = 64: 16 where D has the upper half of each quarter
  bool a_by_columns = false, b_by_rows = false;  // m, or n, is what lies side by side
  std::uint32_t flip_a = 0, flip_b = 0;          // sign bits of a word, where negated

  // Of block scales: the first column of those of A and of B, and the byte of a word that a step of
  // k begins with.
  struct Scales {
    int column = 0, byte = 0;
  };

  // A bit for each lane of D that keeps what it holds, lane 0 first.
  std::array<std::uint32_t, 4> disabled{};

  bool scaled = false;
  Scales scales_a{}, scales_b{};

  std::string_view what() const { return copies ? "copy" : "product"; }

  // Whether D has any of the columns.
  bool writes(int column, int columns) const { return column < d + n && d < column + columns; }
};

class TensorProducts {
 public:
  void clear() { pending_.clear(); }

  void add(const TensorProduct& product) {
    pending_.push_back(product);
    ++issued_;
  }

  const std::deque<TensorProduct>& pending() const { return pending_; }

  // Behind the last product of a thread that is still to come; 0 where it has none. Those of others
  // that were issued before it come before it, too.
  std::uint64_t behind_last_of(const Warp& warp, int lane) const {
    const auto last = std::find_if(
        pending_.rbegin(), pending_.rend(),
        [&](const TensorProduct& one) { return one.warp == &warp && one.lane == lane; });
    return last == pending_.rend() ? 0
                                   : issued_ - static_cast<std::uint64_t>(last - pending_.rbegin());
  }

  // Calls perform(product) for the products before number `end` that are still to come.
  template <typename Perform>
  void wait(std::uint64_t end, Perform&& perform) {
    while (!pending_.empty() && issued_ - pending_.size() < end) {
      const TensorProduct product = pending_.front();
      pending_.pop_front();
      perform(product);
    }
  }

 private:
  std::deque<TensorProduct> pending_;
  std::uint64_t issued_ = 0;
};

// A tcgen05.commit, kept by its mbarrier until a thread asks for the phase.
struct TensorCommit {
  const Inst* at = nullptr;
  Warp* warp = nullptr;
  int lane = 0;
  std::uint64_t end = 0;  // TensorProducts::behind_last_of() then
  bool pair = false;      // of products for a pair
};

// How many bits of a byte a code of FP4 or FP6 has; 8 for other formats.
constexpr int narrow_bits(FormatId id) {
  if (id == FormatId::e2m1) return 4;
  return id == FormatId::e2m3 || id == FormatId::e3m2 ? 6 : 8;
}

// D is computed, or copied.
void perform(const TensorProduct& product);

}  // namespace plumbline::emulator
