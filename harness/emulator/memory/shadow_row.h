// SPDX-License-Identifier: MIT
// The fast half of the shared-memory checks: one aligned access of 4, 8 or 16 bytes, its shadow
// words compared all at once. "False" means that the complete check (SharedMemory::explain_*) has
// to look; nothing is recorded then.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/emulator/memory/shared_memory.h"

namespace plumbline::emulator {

// Stamps and ticks are below 2^31, so signed comparison is right.
template <int Words>
struct ShadowWords;

template <>
struct ShadowWords<1> {
  using Type = std::int32_t;
};

template <>
struct ShadowWords<2> {
  using Type = std::int32_t __attribute__((vector_size(8)));
};

template <>
struct ShadowWords<4> {
  using Type = std::int32_t __attribute__((vector_size(16)));
};

// Reads of 16 bytes, one after the other, by a warp that knows of what it reads by something else
// than a barrier of its CTA: mostly of one tile, which was written together.
class KnownReads {
 public:
  KnownReads(SharedMemory& shared, const ShadowView& view) : shared_(shared), view_(view) {}

  bool read(const Accessor& who, std::uint64_t address);

 private:
  SharedMemory& shared_;
  ShadowView view_;
  std::uint32_t known_ = 0;  // the stamp of the write before
};

template <int Bytes>
class ShadowRow {
 public:
  using Row = typename ShadowWords<Bytes / 4>::Type;

  [[gnu::always_inline]] ShadowRow(const ShadowView& view, std::uint64_t offset)
      : view_(view), byte_(offset - view.start) {}

  [[gnu::always_inline]] bool read(std::int32_t lane) const {
    const Row stamp = load(view_.stamp + word());
    const Row bad = (load(view_.state + byte_) ^ 0x01010101) | ~ordered(stamp, lane);
    if (any(bad)) return false;
    record_read(lane);
    return true;
  }

  // The same of words that all have one stamp, of which the reader knows by something else than a
  // barrier.
  [[gnu::always_inline]] bool read_known(std::int32_t lane, std::uint32_t known) const {
    const Row other = load(view_.stamp + word()) ^ static_cast<std::int32_t>(known);
    if (any((load(view_.state + byte_) ^ 0x01010101) | other)) return false;
    record_read(lane);
    return true;
  }

  [[gnu::always_inline]] bool write(std::int32_t lane) const {
    if (!may_write(load(view_.state + byte_), lane)) return false;
    record_write(lane);
    return true;
  }

  // The destination of a cp.async is pending from here on; what held something before stays told
  // apart.
  [[gnu::always_inline]] bool copy(std::int32_t lane) const {
    const Row state = load(view_.state + byte_);
    if (!may_write(state, lane)) return false;
    store(view_.state + byte_, (state & 0x01010101 * kWritten) | 0x01010101 * kPending);
    stamp(lane);
    return true;
  }

  [[gnu::always_inline]] void record_write(std::int32_t lane) const {
    store(view_.state + byte_, Row{} + 0x01010101 * kWritten);
    stamp(lane);
  }

 private:
  [[gnu::always_inline]] void record_read(std::int32_t lane) const {
    const Row kept =
        load(view_.readers + word()) & ~less(load(view_.read_stamp + word()), view_.readers_kept);
    store(view_.readers + word(), kept | view_.own_reader);
    store(view_.read_stamp + word(), Row{} + (view_.now | view_.own_warp | lane));
  }

  [[gnu::always_inline]] bool may_write(Row state, std::int32_t lane) const {
    const Row stamp = load(view_.read_stamp + word());
    const Row reads =
        less(stamp, view_.floor) |
        (equal(load(view_.readers + word()), view_.own_reader) & ordered(stamp, lane));
    return !any((state & 0x06060606) | ~(ordered(load(view_.stamp + word()), lane) & reads));
  }

  [[gnu::always_inline]] void stamp(std::int32_t lane) const {
    store(view_.stamp + word(), Row{} + (view_.now | view_.own_warp | lane));
  }

  [[gnu::always_inline]] std::size_t word() const { return byte_ / 4; }

  // By a barrier of the CTA, by one of the warp, or because it is the same lane; but not of what is
  // split, whose stamp is later than all.
  [[gnu::always_inline]] Row ordered(Row stamp, std::int32_t lane) const {
    const Row same_warp = equal(stamp & 0x3e0, view_.own_warp);
    const Row same_lane = equal(stamp & 0x3ff, view_.own_warp | lane);
    return less(stamp, view_.floor) | (less(stamp, view_.lanes_floor) & same_warp) |
           (less(stamp, view_.behind_now) & same_lane);
  }

  [[gnu::always_inline]] static Row load(const void* from) {
    Row row;
    __builtin_memcpy(&row, from, sizeof row);
    return row;
  }

  [[gnu::always_inline]] static void store(void* to, Row row) {
    __builtin_memcpy(to, &row, sizeof row);
  }

  // All ones where it holds.
  [[gnu::always_inline]] static Row less(Row a, std::int32_t b) {
    if constexpr (Bytes == 4) {
      return a < b ? -1 : 0;
    } else {
      return a < b;
    }
  }

  [[gnu::always_inline]] static Row equal(Row a, std::int32_t b) {
    if constexpr (Bytes == 4) {
      return a == b ? -1 : 0;
    } else {
      return a == b;
    }
  }

  [[gnu::always_inline]] static bool any(Row row) {
    if constexpr (Bytes == 4) {
      return row != 0;
    } else {
      std::int64_t part[sizeof(Row) / 8], all = 0;
      __builtin_memcpy(part, &row, sizeof row);
      for (const std::int64_t one : part) all |= one;
      return all != 0;
    }
  }

  const ShadowView& view_;
  std::size_t byte_;
};

inline bool KnownReads::read(const Accessor& who, std::uint64_t address) {
  if (known_ != 0 && ShadowRow<16>(view_, address).read_known(who.lane, known_)) return true;
  const std::optional<std::uint32_t> stamp = shared_.read_known(who, address, 16);
  if (!stamp) return false;
  // What another lane of the own warp wrote, each lane knows by itself.
  const bool own = (*stamp & 0x3e0) == static_cast<std::uint32_t>(view_.own_warp);
  if (who.from == nullptr && !own) known_ = *stamp;
  return true;
}

}  // namespace plumbline::emulator
