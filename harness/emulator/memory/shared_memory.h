// SPDX-License-Identifier: MIT
// Shared memory of one CTA, and its shadow: for every byte whether it was written, and for every
// 4-byte word who wrote it last and who read it since, so that an access which no barrier orders is
// a race.
//
// - state, per byte: unwritten, written, pending (cp.async or a bulk copy issued, not waited for),
//   outside (the alignment gap), or an mbarrier's
// - stamp, per word: tick << 10 | warp << 5 | lane of the last write
// - reads, per word: tick << 10 | warp << 5 | lane of the last read, and the warps that have read
//   since the last barrier of the CTA, or only at that tick (AccessOrder::readers_since)
//
// A word that is accessed in pieces (1- and 2-byte accesses) is "split": its stamps are kept per
// byte, so that two warps that use different bytes of one word are not a race.
//
// Some readers are forgotten: with barriers of the whole CTA none that matters to other warps, with
// partial barriers those at an earlier tick than the last one, and of the lanes of one warp all but
// the last. A write-after-read race can be missed by that. There is no false alarm.
//
// In a cluster an address says in its upper bits whose shared memory it means (address_space.h).
// Words that threads of other CTAs access are split, and those accesses are kept by byte beside the
// stamps. A bulk copy that another CTA issued counts as issued here, by the warp with the same
// number: a warp that sees its mbarrier's phase end knows of it all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/device/finding.h"
#include "harness/emulator/memory/access_order.h"
#include "harness/emulator/memory/address_space.h"
#include "harness/emulator/memory/cta_clock.h"
#include "harness/emulator/memory/shared_trace.h"

namespace plumbline::emulator {

// Of a byte. kInBulk: pending, by a bulk copy; kStoring: by st.async. A pending byte that was
// written before has the bit kWritten too: it is refilled. kOutside: between the static and the
// dynamic part. kOpaque: of an mbarrier, which only its own instructions may use; the fast checks
// take it for outside.
enum ByteState : std::uint8_t {
  kUnwritten = 0,
  kWritten = 1,
  kPending = 2,
  kOutside = 4,
  kInBulk = kPending | 8,
  kStoring = kPending | 32,
  kOpaque = kOutside | 16
};

// Who accesses shared memory.
struct Accessor {
  int warp = 0;
  int lane = 0;
  const Inst* inst = nullptr;      // of accesses that are traced
  const CtaClock* from = nullptr;  // of a thread of another CTA: what that one knows
  // Of a store: the lanes that execute it, their addresses, and how many bytes each writes.
  std::uint32_t storing = 0;
  const std::uint64_t* addresses = nullptr;
  std::uint64_t bytes = 0;

  // Whether the other lane writes that byte by the same instruction.
  bool writes_with(int other, std::uint64_t address) const {
    return (storing >> other & 1) != 0 && address - addresses[other] < bytes;
  }
};

// What the fast checks need, loaded once for all lanes of an instruction.
struct ShadowView {
  std::uint8_t* state;
  std::uint32_t* stamp;
  std::uint32_t* read_stamp;
  std::uint32_t* readers;
  std::int32_t now;           // the present tick, as it stands in a stamp
  std::int32_t behind_now;    // more than all stamps so far
  std::int32_t floor;         // stamps below it are ordered
  std::int32_t lanes_floor;   // stamps of the own warp below it are ordered
  std::int32_t readers_kept;  // readers whose stamps are below it are forgotten
  std::int32_t own_warp;      // as it stands in a stamp
  std::int32_t own_reader;    // as it stands in readers
  std::uint64_t start;        // address of the first byte
};

// What is wrong with an access.
struct SharedProblem {
  FindingKind kind = FindingKind::race;
  std::string words;
  bool between_writes = false;  // none if the second one changes nothing
  // Of a problem between two accesses: the byte they meet in, and who made the earlier one.
  std::uint64_t address = 0;
  int other_warp = -1;  // -1: there is no other access
  bool other_reads = false;
  SharedAccess other = {};  // where the byte is traced
};

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Sizes are those of one launch; start_cta() is called for every CTA.
  void configure(std::int64_t static_bytes, std::int64_t dynamic_offset, std::int64_t dynamic_bytes,
                 bool check);
  // `garbage` is the byte that it is full of until it is written, `rank` that of the CTA in its
  // cluster.
  void start_cta(std::uint8_t garbage, std::uint64_t rank);

  bool check() const { return check_; }

  // From here to the end of the CTA: problems in this byte name the other access. Its word never
  // takes the fast checks.
  void trace(std::uint64_t address);

  // A write without the complete checks made traced words whole.
  void keep_tracing() {
    trace_.each([&](std::uint64_t address) { split(index(address) / 4); });
  }

  // Address of the first byte.
  std::uint64_t start() const { return start_; }

  // Whether [offset, offset + bytes) lies inside. Offsets are .shared addresses (from start()).
  bool holds(std::uint64_t offset, std::uint64_t bytes) const {
    return offset >= start_ && offset <= end_ && end_ - offset >= bytes &&
           (gap_end_ == gap_begin_ || offset >= gap_end_ || offset + bytes <= gap_begin_);
  }

  // Whether every address between lowest and highest is inside: the check of a whole warp.
  bool holds_all(std::uint64_t lowest, std::uint64_t highest, std::uint64_t bytes) const {
    return lowest >= start_ && highest <= end_ && end_ - highest >= bytes && gap_end_ == gap_begin_;
  }

  std::byte* data(std::uint64_t offset) { return data_ + index(offset); }

  std::string extent() const;

  AccessOrder& order() { return order_; }

  // Of launches that communicate.
  CtaClock& clock() { return clock_; }

  const CtaClock& clock() const { return clock_; }

  // The fast checks (shadow_row.h) work on this; where one says no, explain_read / explain_write
  // look closer.
  ShadowView view(const Accessor& who);

  // Between the two: one write of words that were all written together, of which the reader knows
  // by something else than a barrier of the whole CTA. Records the read, and gives the stamp of the
  // write, when it says yes.
  std::optional<std::uint32_t> read_known(const Accessor& who, std::uint64_t offset, int bytes);

  // The complete checks, any size. They also record the access.
  std::optional<SharedProblem> explain_read(const Accessor& who, std::uint64_t offset, int bytes,
                                            std::uint32_t used = ~std::uint32_t{0});
  std::optional<SharedProblem> explain_write(const Accessor& who, std::uint64_t offset, int bytes);

  // An asynchronous copy: the destination is pending in one of three ways, from here to the wait.
  std::optional<SharedProblem> explain_copy(const Accessor& who, std::uint64_t offset, int bytes,
                                            ByteState pending);

  // What an asynchronous unit reads: as a read, and plain writes have to be fenced. Multiples of 4.
  std::optional<SharedProblem> explain_async_read(const Accessor& who, std::uint64_t offset,
                                                  int bytes);

  // Whether 16 bytes were last written, all of them, by the warp and at the tick of the stamp.
  bool stamped(std::uint64_t offset, std::uint32_t stamp) const {
    const std::uint32_t* const s = &stamp_[index(offset) / 4];
    return ((s[0] ^ stamp) | (s[1] ^ stamp) | (s[2] ^ stamp) | (s[3] ^ stamp)) < 32;
  }

  // Of the last write of a byte.
  std::uint32_t stamp_at(std::uint64_t address) const;

  // Whether what was written to the bytes is in order for a thread that has a unit read them later.
  // Nothing is recorded.
  std::optional<SharedProblem> explain_issue(const Accessor& who, std::uint64_t offset,
                                             int bytes) const;

  // Whether bytes that an asynchronous unit was to read from that tick on were written since.
  std::optional<SharedProblem> written_since(std::uint64_t offset, int bytes,
                                             std::uint32_t tick) const;

  // The last writes of the bytes, for an asynchronous unit that reads them: fences have to follow.
  std::optional<SharedProblem> fence_problem(std::uint64_t offset, int bytes) const;

  // Atomic and volatile accesses take no part in race checks; written bytes count as written.
  void mark_written(std::uint64_t offset, int bytes);

  // An mbarrier begins, or ends and leaves nothing.
  void mark_mbarrier(std::uint64_t offset, bool begins);
  std::optional<SharedProblem> explain_synchronising_read(std::uint64_t offset, int bytes) const;

  // An atomic of this CTA: a race with plain accesses that nothing orders, earlier and later ones,
  // and none with other atomics.
  std::optional<SharedProblem> explain_update(const Accessor& who, std::uint64_t offset, int bytes);

 private:
  static constexpr std::uint32_t kSplit = 0x7fffffff;  // a stamp and tick later than all others

  // The record of one word or, in a split word, of one byte.
  struct Record {
    std::uint32_t stamp = 0;
    std::uint32_t read_stamp = 0;
    std::uint32_t readers = 0;
  };

  // An access by a thread of another CTA.
  struct Visit {
    std::uint32_t cta = 0, tick = 0;
    int warp = 0, lane = 0;
    const Inst* inst = nullptr;  // null: there was none
  };

  struct Visits {
    Visit write;
    std::vector<Visit> reads;  // since then
  };

  std::size_t index(std::uint64_t address) const { return address - start_; }

  std::uint32_t stamp_of(const Accessor& who) const {
    return order_.tick() << 10 | static_cast<std::uint32_t>(who.warp) << 5 |
           static_cast<std::uint32_t>(who.lane);
  }

  // How many words from this one on have its record.
  std::size_t equal_records(std::size_t word, std::size_t end) const;
  // What is wrong and, where the byte is traced, with which access.
  std::optional<SharedProblem> traced(std::optional<SharedProblem> problem) const;
  // Leaves the bytes written, or pending.
  std::optional<SharedProblem> check_and_write(const Accessor& who, std::uint64_t offset, int bytes,
                                               ByteState state);
  SharedProblem pending_read(const Accessor* who, std::uint64_t address) const;
  void split(std::size_t word);

  std::optional<SharedProblem> pending_problem(std::uint64_t offset, int bytes) const;
  // `who` is null for accesses that take no part in the search for races.
  std::optional<SharedProblem> state_problem(const Accessor* who, std::uint64_t offset, int bytes,
                                             std::uint32_t used = ~std::uint32_t{0}) const;
  // Whether the access of a stamp happened before; or of any lane of a warp.
  bool ordered(const Accessor& who, std::uint32_t stamp) const;
  bool ordered(const Accessor& who, int warp, std::uint32_t tick) const;
  // Of a byte that other CTAs access.
  std::optional<SharedProblem> check_visits(const Accessor& who, std::uint64_t address,
                                            bool writes) const;
  void record_visit(const Accessor& who, std::uint64_t address, bool writes);
  std::optional<SharedProblem> check_read(const Accessor& who, std::uint64_t offset,
                                          const Record& record) const;
  std::optional<SharedProblem> check_write(const Accessor& who, std::uint64_t offset,
                                           const Record& record, bool copies) const;
  void record_read(const Accessor& who, Record& record) const;

  bool check_ = true;
  std::byte* data_ = nullptr;
  std::uint64_t start_ = kSharedStart, end_ = kSharedStart;
  std::uint64_t gap_begin_ = 0, gap_end_ = 0;
  AccessOrder order_;
  CtaClock clock_{order_};
  std::vector<std::byte> storage_;
  std::vector<std::uint8_t> state_;
  std::vector<std::uint32_t> stamp_, read_stamp_, readers_;

  // The last atomic of a byte, and the plain write before all of them.
  struct Update {
    std::uint32_t stamp = 0, write = 0;
  };

  std::unordered_map<std::uint64_t, Update> updates_;  // by address
  std::vector<Record> bytes_;  // of split words; allocated when the first word is split
  std::unordered_map<std::uint64_t, Visits> visits_;  // by address
  SharedTrace trace_;
};

}  // namespace plumbline::emulator
