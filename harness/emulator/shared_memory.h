// SPDX-License-Identifier: MIT
// Shared memory of one CTA, and its shadow: for every byte whether it was written, and for every
// 4-byte word who wrote it last and who read it since, so that an access which no barrier orders is
// a race.
//
//   state   per byte: unwritten, written, pending (cp.async issued, not waited for), outside
//   (alignment gap) stamp   per word: tick << 10 | warp << 5 | lane of the last write reads   per
//   word: tick of the last read, and the warps that read at that tick
// A word that is accessed in pieces (1- and 2-byte accesses) is "split": its stamps are kept per
// byte, so that two warps that use different bytes of one word are not a race.
//
// Readers at an earlier tick than the last one are forgotten. With barriers of the whole CTA
// nothing is lost by that; with partial barriers a write-after-read race can be missed. There is no
// false alarm either way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/finding.h"
#include "harness/emulator/access_order.h"
#include "harness/emulator/address_space.h"

namespace plumbline::emulator {

// Who accesses shared memory.
struct Accessor {
  int warp = 0;
  int lane = 0;
  std::uint32_t active = ~0u;  // lanes that run together now
  bool diverged = false;
};

// What is wrong with an access.
struct SharedProblem {
  FindingKind kind = FindingKind::race;
  std::string words;
};

class SharedMemory {
 public:
  // Sizes are those of one launch; start_cta() is called for every CTA.
  void configure(std::int64_t static_bytes, std::int64_t dynamic_offset, std::int64_t dynamic_bytes,
                 bool check);
  void start_cta();

  bool check() const { return check_; }

  // Whether [offset, offset + bytes) lies inside. Offsets are .shared addresses (from
  // kSharedStart).
  bool holds(std::uint64_t offset, std::uint64_t bytes) const {
    return offset >= kSharedStart && offset <= end_ && end_ - offset >= bytes &&
           (gap_end_ == gap_begin_ || offset >= gap_end_ || offset + bytes <= gap_begin_);
  }

  // Whether every address between lowest and highest is inside: the check of a whole warp.
  bool holds_all(std::uint64_t lowest, std::uint64_t highest, std::uint64_t bytes) const {
    return lowest >= kSharedStart && highest + bytes <= end_ && gap_end_ == gap_begin_;
  }

  std::byte* data(std::uint64_t offset) { return data_ + (offset - kSharedStart); }

  std::string extent() const;

  AccessOrder& order() { return order_; }

  // The fast checks: aligned accesses of whole words. False means "look closer" with explain_read /
  // explain_write.
  template <int Bytes>
  [[gnu::always_inline]] bool read(const Accessor& who, std::uint64_t offset);
  template <int Bytes>
  [[gnu::always_inline]] bool write(const Accessor& who, std::uint64_t offset);

  // The complete checks, any size. They also record the access.
  std::optional<SharedProblem> explain_read(const Accessor& who, std::uint64_t offset, int bytes);
  std::optional<SharedProblem> explain_write(const Accessor& who, std::uint64_t offset, int bytes);

  // cp.async: the destination from issue to wait, and at the wait.
  std::optional<SharedProblem> begin_copy(const Accessor& who, std::uint64_t offset, int bytes);
  void end_copy(const Accessor& who, std::uint64_t offset, int bytes);

  // Atomic and volatile accesses take no part in race checks; written bytes count as written.
  void mark_written(std::uint64_t offset, int bytes);
  std::optional<SharedProblem> explain_synchronising_read(std::uint64_t offset, int bytes) const;

 private:
  enum State : std::uint8_t { kUnwritten = 0, kWritten = 1, kPending = 2, kOutside = 4 };

  static constexpr std::uint32_t kSplit = 0xffffffff;

  // The record of one word or, in a split word, of one byte.
  struct Record {
    std::uint32_t stamp = 0;
    std::uint32_t read_tick = 0;
    std::uint32_t readers = 0;
  };

  std::uint32_t stamp_of(const Accessor& who) const {
    return order_.tick() << 10 | static_cast<std::uint32_t>(who.warp) << 5 |
           static_cast<std::uint32_t>(who.lane);
  }

  void split(std::size_t word);

  Record& record_of_byte(std::size_t byte) { return bytes_[byte]; }

  std::optional<SharedProblem> state_problem(std::uint64_t offset, int bytes) const;
  bool write_ordered(const Accessor& who, std::uint32_t stamp) const;
  std::optional<SharedProblem> check_read(const Accessor& who, std::uint64_t offset,
                                          const Record& record) const;
  std::optional<SharedProblem> check_write(const Accessor& who, std::uint64_t offset,
                                           const Record& record) const;
  void record_read(const Accessor& who, Record& record) const;

  bool check_ = true;
  std::byte* data_ = nullptr;
  std::uint64_t end_ = kSharedStart;
  std::uint64_t gap_begin_ = 0, gap_end_ = 0;
  AccessOrder order_;
  std::vector<std::byte> storage_;
  std::vector<std::uint8_t> state_;
  std::vector<std::uint32_t> stamp_, read_tick_, readers_;
  std::vector<Record> bytes_;  // of split words; allocated when the first word is split
};

template <int Bytes>
bool SharedMemory::read(const Accessor& who, std::uint64_t offset) {
  static_assert(Bytes % 4 == 0);
  const std::size_t byte = offset - kSharedStart;
  const std::size_t word = byte / 4;
  const std::uint32_t floor = order_.floor(who.warp) << 10;
  const std::uint32_t now = (order_.tick() + 1) << 10;
  const std::uint32_t mine = static_cast<std::uint32_t>(who.warp) << 5;
  const std::uint32_t own_limit = who.diverged ? 0 : now;
  std::uint32_t bad = 0;
  for (int i = 0; i < Bytes / 4; ++i) {
    std::uint32_t state;
    __builtin_memcpy(&state, state_.data() + byte + 4 * i, 4);
    const std::uint32_t stamp = stamp_[word + i];
    const std::uint32_t is_ordered = stamp < floor;
    const std::uint32_t is_own = static_cast<std::uint32_t>(stamp < own_limit) &
                                 static_cast<std::uint32_t>((stamp & 0x3e0) == mine);
    bad |= (state ^ 0x01010101u) | ((is_ordered | is_own) ^ 1u);
  }
  if (bad != 0) return false;
  const std::uint32_t tick = order_.tick();
  const std::uint32_t me = 1u << who.warp;
  for (int i = 0; i < Bytes / 4; ++i) {
    const std::uint32_t keep = 0u - static_cast<std::uint32_t>(read_tick_[word + i] == tick);
    readers_[word + i] = (readers_[word + i] & keep) | me;
    read_tick_[word + i] = tick;
  }
  return true;
}

template <int Bytes>
bool SharedMemory::write(const Accessor& who, std::uint64_t offset) {
  static_assert(Bytes % 4 == 0);
  const std::size_t byte = offset - kSharedStart;
  const std::size_t word = byte / 4;
  const std::uint32_t floor_tick = order_.floor(who.warp);
  const std::uint32_t floor = floor_tick << 10;
  const std::uint32_t now = (order_.tick() + 1) << 10;
  const std::uint32_t mine = static_cast<std::uint32_t>(who.warp) << 5;
  const std::uint32_t own_limit = who.diverged ? 0 : now;
  const std::uint32_t me = 1u << who.warp;
  std::uint32_t bad = 0;
  for (int i = 0; i < Bytes / 4; ++i) {
    std::uint32_t state;
    __builtin_memcpy(&state, state_.data() + byte + 4 * i, 4);
    const std::uint32_t stamp = stamp_[word + i];
    const std::uint32_t is_ordered = stamp < floor;
    const std::uint32_t is_own = static_cast<std::uint32_t>(stamp < own_limit) &
                                 static_cast<std::uint32_t>((stamp & 0x3e0) == mine);
    const std::uint32_t reads_ordered =
        static_cast<std::uint32_t>(read_tick_[word + i] < floor_tick) |
        static_cast<std::uint32_t>(readers_[word + i] == me);
    bad |= (state & 0x06060606u) | (((is_ordered | is_own) & reads_ordered) ^ 1u);
  }
  if (bad != 0) return false;
  const std::uint32_t stamp = stamp_of(who);
  constexpr std::uint32_t written = 0x01010101u;
  for (int i = 0; i < Bytes / 4; ++i) {
    __builtin_memcpy(state_.data() + byte + 4 * i, &written, 4);
    stamp_[word + i] = stamp;
  }
  return true;
}

}  // namespace plumbline::emulator
