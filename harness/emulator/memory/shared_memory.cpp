// SPDX-License-Identifier: MIT
#include "harness/emulator/memory/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace plumbline::emulator {
namespace {

int warp_of(std::uint32_t stamp) { return static_cast<int>(stamp >> 5 & 31); }

int lane_of(std::uint32_t stamp) { return static_cast<int>(stamp & 31); }

// Of a byte that the thread of the stamp wrote, or asked to be written.
SharedProblem problem_with_writer(FindingKind kind, std::uint64_t address, std::uint32_t stamp,
                                  std::string words) {
  SharedProblem problem;
  problem.kind = kind;
  problem.words = std::move(words);
  problem.address = address;
  problem.other_warp = warp_of(stamp);
  return problem;
}

// A race between two accesses, the earlier one by the thread of the stamp.
std::string race_words(const char* verb, std::uint64_t address, const Accessor& who,
                       std::uint32_t stamp, const char* other_verb) {
  if (who.from != nullptr) {
    return fmt::format(
        "{} shared memory at {:#x} of another CTA of the cluster, where warp {} lane {} {} it with "
        "nothing that orders the two",
        verb, address, warp_of(stamp), lane_of(stamp), other_verb);
  }
  if (warp_of(stamp) == who.warp) {
    return fmt::format(
        "{} shared memory at {:#x} that lane {} of the same warp {} with no __syncwarp() "
        "(bar.warp.sync) between: a race between lanes of a warp",
        verb, address, lane_of(stamp), other_verb);
  }
  return fmt::format("{} shared memory at {:#x} that warp {} lane {} {} with no barrier between",
                     verb, address, warp_of(stamp), lane_of(stamp), other_verb);
}

// What a pending byte waits for.
const char* copy_of(std::uint8_t state) {
  switch (state & ~kWritten) {
    case kInBulk:
      return "bulk copy";
    case kStoring:
      return "st.async";
    default:
      return "cp.async";
  }
}

SharedProblem opaque_problem(const char* verb, std::uint64_t address) {
  return {FindingKind::bad_operand,
          fmt::format("{} shared memory at {:#x}, where an mbarrier is; only mbarrier instructions "
                      "may before mbarrier.inval",
                      verb, address)};
}

}  // namespace

void SharedMemory::configure(std::int64_t static_bytes, std::int64_t dynamic_offset,
                             std::int64_t dynamic_bytes, bool check) {
  check_ = check;
  const auto static_end = kSharedStart + static_cast<std::uint64_t>(static_bytes);
  const auto dynamic_begin = static_cast<std::uint64_t>(dynamic_offset);
  start_ = kSharedStart;
  end_ = dynamic_bytes > 0 ? dynamic_begin + static_cast<std::uint64_t>(dynamic_bytes) : static_end;
  const bool has_gap = static_bytes > 0 && dynamic_bytes > 0 && dynamic_begin > static_end;
  gap_begin_ = has_gap ? static_end : 0;
  gap_end_ = has_gap ? dynamic_begin : 0;
  // Whole 16-byte rows, so that the vector checks may run over the end.
  const std::size_t bytes = (end_ - kSharedStart + 31) / 16 * 16;
  storage_.resize(bytes + 128);
  data_ = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(storage_.data()) + 127) &
                                       ~std::uintptr_t{127});
  if (!check_) return;
  state_.assign(bytes, kUnwritten);
  stamp_.assign(bytes / 4, 0);
  read_stamp_.assign(bytes / 4, 0);
  readers_.assign(bytes / 4, 0);
  bytes_.clear();
  order_ = AccessOrder();
}

void SharedMemory::start_cta(std::uint8_t garbage, std::uint64_t rank) {
  const std::uint64_t moved = shared_window(rank) + kSharedStart - start_;  // wraps around
  for (std::uint64_t* const address : {&start_, &end_, &gap_begin_, &gap_end_}) *address += moved;
  std::memset(data_, garbage, storage_.size() - 128);
  trace_.clear();
  visits_.clear();
  updates_.clear();
  if (!check_) return;
  std::fill(state_.begin(), state_.end(), static_cast<std::uint8_t>(kUnwritten));
  if (gap_end_ > gap_begin_) {
    std::memset(state_.data() + index(gap_begin_), kOutside, gap_end_ - gap_begin_);
  }
  const bool ticks_go_on = order_.start_cta();
  if (!ticks_go_on || !bytes_.empty()) {
    std::fill(stamp_.begin(), stamp_.end(), 0u);
    std::fill(read_stamp_.begin(), read_stamp_.end(), 0u);
    std::fill(readers_.begin(), readers_.end(), 0u);
    bytes_.clear();
  }
}

std::string SharedMemory::extent() const {
  if (end_ == start_)
    return "the kernel has no shared memory: none in its code, and 0 in the manifest's `shared`";
  return fmt::format("shared memory is {} bytes at {:#x}..{:#x}", end_ - start_, start_, end_ - 1);
}

ShadowView SharedMemory::view(const Accessor& who) {
  order_.note_access(who.warp);
  ShadowView view;
  view.state = state_.data();
  view.stamp = stamp_.data();
  view.read_stamp = read_stamp_.data();
  view.readers = readers_.data();
  view.now = static_cast<std::int32_t>(order_.tick() << 10);
  view.behind_now = static_cast<std::int32_t>((order_.tick() + 1) << 10);
  view.floor = static_cast<std::int32_t>(order_.floor(who.warp) << 10);
  view.lanes_floor = static_cast<std::int32_t>(order_.lanes_floor(who.warp) << 10);
  view.readers_kept = static_cast<std::int32_t>(order_.readers_since() << 10);
  view.own_warp = who.warp << 5;
  view.own_reader = static_cast<std::int32_t>(1u << who.warp);
  view.start = start_;
  return view;
}

void SharedMemory::trace(std::uint64_t address) {
  if (!check_ || !holds(address, 1)) return;
  trace_.follow(address);
  split(index(address) / 4);
}

std::optional<SharedProblem> SharedMemory::traced(std::optional<SharedProblem> problem) const {
  if (problem && problem->other_warp >= 0) {
    problem->other = trace_.last(problem->address, problem->other_warp, problem->other_reads);
  }
  return problem;
}

std::uint32_t SharedMemory::stamp_at(std::uint64_t address) const {
  const std::size_t byte = index(address);
  return stamp_[byte / 4] == kSplit ? bytes_[byte].stamp : stamp_[byte / 4];
}

void SharedMemory::split(std::size_t word) {
  if (stamp_[word] == kSplit) return;
  if (bytes_.empty()) bytes_.resize(state_.size());
  const Record whole{stamp_[word], read_stamp_[word], readers_[word]};
  for (std::size_t byte = 4 * word; byte < 4 * word + 4; ++byte) bytes_[byte] = whole;
  stamp_[word] = kSplit;
  read_stamp_[word] = kSplit;
  readers_[word] = ~std::uint32_t{0};
}

// A copy that a barrier orders before the read is one that no thread waited for. Where no barrier
// does and the bytes held something before, the copy may as well have come too early: it refills
// what is still read.
SharedProblem SharedMemory::pending_read(const Accessor* who, std::uint64_t address) const {
  const std::uint8_t state = state_[index(address)];
  // All but cp.async count by an mbarrier.
  const bool refills = (state & kWritten) != 0, bulk = (state & ~kWritten) != kPending;
  const std::uint32_t stamp = stamp_at(address);
  const std::string copy =
      fmt::format("a {} of warp {} lane {}", copy_of(state), warp_of(stamp), lane_of(stamp));
  if (refills && who != nullptr && warp_of(stamp) != who->warp &&
      !order_.ordered(who->warp, warp_of(stamp), stamp >> 10)) {
    return problem_with_writer(
        FindingKind::race, address, stamp,
        fmt::format(
            "reads shared memory at {:#x} that {} already refills, with {}; {}", address, copy,
            bulk ? "nothing that orders the two" : "no barrier between",
            bulk ? "who reads the old contents has to arrive where the copying thread waits before "
                   "it copies, "
                   "who reads the new contents has to wait for the phase of the copy's mbarrier"
                 : "between reading the old contents and the copy a barrier is needed, and another "
                   "between "
                   "the copying thread's wait and reading the new contents"));
  }
  return problem_with_writer(
      FindingKind::missing_wait, address, stamp,
      fmt::format("reads shared memory at {:#x} that {} is still filling; {}", address, copy,
                  bulk ? "the copy is complete when the phase of its mbarrier is"
                       : "the copy is complete only after that thread's cp.async.wait_group, and "
                         "visible to others "
                         "after a barrier"));
}

std::optional<SharedProblem> SharedMemory::state_problem(const Accessor* who, std::uint64_t offset,
                                                         int bytes, std::uint32_t used) const {
  const std::uint8_t* const states = state_.data() + index(offset);  // a bulk copy has many
  std::uint8_t differ = 0;
  for (int i = 0; i < bytes; ++i) differ |= states[i] ^ kWritten;
  if (differ == 0) return std::nullopt;
  for (int i = 0; i < bytes; ++i) {
    const std::uint64_t address = offset + static_cast<std::uint64_t>(i);
    const std::uint8_t state = state_[index(address)];
    const bool is_used = i >= 32 || (used >> i & 1) != 0;
    if (state == kWritten || !is_used) continue;
    if (state == kUnwritten) {
      return SharedProblem{
          FindingKind::read_of_unwritten,
          fmt::format("reads {} bytes of shared memory at {:#x}; nothing wrote byte {:#x}", bytes,
                      offset, address)};
    }
    if (state == kOpaque) return opaque_problem("reads", address);
    if ((state & kPending) != 0) return pending_read(who, address);
    return SharedProblem{
        FindingKind::out_of_bounds,
        fmt::format("reads shared memory at {:#x}, between the static and the dynamic part",
                    address)};
  }
  return std::nullopt;
}

bool SharedMemory::ordered(const Accessor& who, std::uint32_t stamp) const {
  const int warp = warp_of(stamp);
  if (warp == who.warp && who.from == nullptr)
    return order_.lanes_ordered(warp, who.lane, lane_of(stamp), stamp >> 10);
  return ordered(who, warp, stamp >> 10);
}

bool SharedMemory::ordered(const Accessor& who, int warp, std::uint32_t tick) const {
  if (who.from == nullptr) return order_.ordered(who.warp, warp, tick);
  return tick < order_.began() || who.from->knows(who.warp, clock_.cta(), warp, tick);
}

std::optional<SharedProblem> SharedMemory::check_read(const Accessor& who, std::uint64_t offset,
                                                      const Record& record) const {
  if (ordered(who, record.stamp)) return std::nullopt;
  return problem_with_writer(FindingKind::race, offset, record.stamp,
                             race_words("reads", offset, who, record.stamp, "wrote"));
}

std::optional<SharedProblem> SharedMemory::check_write(const Accessor& who, std::uint64_t offset,
                                                       const Record& record, bool copies) const {
  const char* const verb = copies ? "refills" : "writes";
  if (!ordered(who, record.stamp) &&
      !(warp_of(record.stamp) == who.warp && who.writes_with(lane_of(record.stamp), offset))) {
    SharedProblem problem =
        problem_with_writer(FindingKind::race, offset, record.stamp,
                            race_words("writes", offset, who, record.stamp, "wrote"));
    problem.between_writes = true;
    return problem;
  }
  SharedProblem problem;
  problem.address = offset;
  problem.other_reads = true;
  if (who.from == nullptr && warp_of(record.read_stamp) == who.warp &&
      (record.readers >> who.warp & 1) != 0 && !ordered(who, record.read_stamp)) {
    problem.words = race_words(verb, offset, who, record.read_stamp, "read");
    problem.other_warp = who.warp;
    return problem;
  }
  std::uint32_t others = record.readers;
  if (who.from == nullptr) others &= ~(1u << who.warp);
  for (int warp = 0; others != 0; ++warp, others >>= 1) {
    if ((others & 1) == 0 || ordered(who, warp, record.read_stamp >> 10)) continue;
    problem.words =
        fmt::format("{} shared memory at {:#x} that warp {} {} between", verb, offset, warp,
                    who.from != nullptr ? "of another CTA of the cluster read, with no barrier"
                                        : "read with no barrier");
    problem.other_warp = warp;
    return problem;
  }
  return std::nullopt;
}

std::optional<SharedProblem> SharedMemory::check_visits(const Accessor& who, std::uint64_t address,
                                                        bool writes) const {
  const auto found = visits_.find(address);
  if (found == visits_.end()) return std::nullopt;
  const CtaClock& clock = who.from != nullptr ? *who.from : clock_;
  const auto clashes = [&](const Visit& visit) {
    const bool same = visit.cta == clock.cta() && visit.warp == who.warp;
    return visit.inst != nullptr && !same &&
           !clock.knows(who.warp, visit.cta, visit.warp, visit.tick);
  };
  const auto problem = [&](const Visit& visit, const char* access_kind, const char* other_verb) {
    SharedProblem out;
    out.words = fmt::format(
        "{} shared memory at {:#x} that warp {} lane {} of another CTA of the cluster {}, with "
        "nothing that orders the two",
        writes ? "writes" : "reads", address, visit.warp, visit.lane, other_verb);
    out.address = address;
    out.other = {access_kind, visit.inst, visit.warp, visit.lane, visit.cta};
    return out;
  };
  const Visits& visits = found->second;
  if (clashes(visits.write)) {
    SharedProblem out = problem(visits.write, "write", "wrote");
    out.between_writes = writes;
    return out;
  }
  if (!writes) return std::nullopt;
  const auto read = std::ranges::find_if(visits.reads, clashes);
  if (read == visits.reads.end()) return std::nullopt;
  return problem(*read, "read", "read");
}

void SharedMemory::record_visit(const Accessor& who, std::uint64_t address, bool writes) {
  Visits& visits = visits_[address];
  const Visit visit{who.from->cta(), who.from->tick(), who.warp, who.lane, who.inst};
  if (writes) {
    visits.write = visit;
    return;
  }
  const auto by_the_same = [&](const Visit& one) {
    return one.cta == visit.cta && one.warp == visit.warp;
  };
  std::erase_if(visits.reads, by_the_same);
  visits.reads.push_back(visit);
}

void SharedMemory::record_read(const Accessor& who, Record& record) const {
  if (record.read_stamp >> 10 < order_.readers_since()) record.readers = 0;
  record.read_stamp = stamp_of(who);
  record.readers |= 1u << who.warp;
}

std::size_t SharedMemory::equal_records(std::size_t word, std::size_t end) const {
  std::size_t next = word + 1;
  while (next < end && stamp_[next] == stamp_[word] && read_stamp_[next] == read_stamp_[word] &&
         readers_[next] == readers_[word])
    ++next;
  return next - word;
}

std::optional<std::uint32_t> SharedMemory::read_known(const Accessor& who, std::uint64_t offset,
                                                      int bytes) {
  if (bytes % 4 != 0) return std::nullopt;
  const std::size_t first = index(offset) / 4;
  const std::size_t end = first + static_cast<std::size_t>(bytes) / 4;
  const std::uint32_t stamp = stamp_[first];
  bool same = stamp != kSplit;
  for (std::size_t word = first; word < end; ++word) {
    std::uint32_t states;
    std::memcpy(&states, &state_[4 * word], sizeof states);
    same = same && stamp_[word] == stamp && states == 0x01010101u * kWritten;
  }
  if (!same || !ordered(who, stamp)) return std::nullopt;
  for (std::size_t word = first; word < end; ++word) {
    Record record{stamp, read_stamp_[word], readers_[word]};
    record_read(who, record);
    read_stamp_[word] = record.read_stamp;
    readers_[word] = record.readers;
  }
  return stamp;
}

std::optional<SharedProblem> SharedMemory::explain_read(const Accessor& who, std::uint64_t offset,
                                                        int bytes, std::uint32_t used) {
  order_.note_access(who.warp);
  std::optional<SharedProblem> problem = state_problem(&who, offset, bytes, used);
  if (problem && problem->other_warp >= 0) return traced(std::move(problem));
  std::uint32_t fine = 0;  // the last stamp that was
  const std::size_t first = index(offset);
  const std::size_t end = first + static_cast<std::size_t>(bytes);
  for (std::size_t byte = first; byte < end;) {
    const std::size_t word = byte / 4;
    const bool whole = byte % 4 == 0 && end - byte >= 4;
    if (!whole || who.from != nullptr) split(word);
    if (stamp_[word] == kSplit) {
      if (!problem) problem = check_read(who, byte + start_, bytes_[byte]);
      if (!problem) problem = check_visits(who, byte + start_, false);
      if (who.from != nullptr) {
        record_visit(who, byte + start_, false);
      } else {
        record_read(who, bytes_[byte]);
      }
      ++byte;
      continue;
    }
    Record record{stamp_[word], read_stamp_[word], readers_[word]};
    if (!problem && record.stamp != fine) problem = check_read(who, byte + start_, record);
    fine = record.stamp;
    record_read(who, record);
    const std::size_t run = equal_records(word, end / 4);
    std::fill_n(&read_stamp_[word], run, record.read_stamp);
    std::fill_n(&readers_[word], run, record.readers);
    byte += 4 * run;
  }
  problem = traced(std::move(problem));
  if (!trace_.empty())
    trace_.note_read({"read", who.inst, who.warp, who.lane}, offset,
                     static_cast<std::uint64_t>(bytes));
  return problem;
}

std::optional<SharedProblem> SharedMemory::pending_problem(std::uint64_t offset, int bytes) const {
  std::size_t byte = index(offset);
  for (int i = 0; i < bytes && (state_[byte] & kPending) == 0; ++i) ++byte;
  const std::uint32_t stamp = stamp_at(byte + start_);
  return problem_with_writer(
      FindingKind::race, byte + start_, stamp,
      fmt::format("writes shared memory at {:#x} that a {} of warp {} lane {} is still filling",
                  byte + start_, copy_of(state_[byte]), warp_of(stamp), lane_of(stamp)));
}

std::optional<SharedProblem> SharedMemory::explain_write(const Accessor& who, std::uint64_t offset,
                                                         int bytes) {
  std::optional<SharedProblem> problem = check_and_write(who, offset, bytes, kWritten);
  if (!trace_.empty())
    trace_.note_write({"write", who.inst, who.warp, who.lane}, offset,
                      static_cast<std::uint64_t>(bytes));
  return problem;
}

std::optional<SharedProblem> SharedMemory::check_and_write(const Accessor& who,
                                                           std::uint64_t offset, int bytes,
                                                           ByteState state) {
  const bool copies = state != kWritten;
  order_.note_access(who.warp);
  std::optional<SharedProblem> problem;
  const std::size_t first = index(offset);
  const std::size_t end = first + static_cast<std::size_t>(bytes);
  std::uint8_t states = 0;
  for (std::size_t byte = first; byte < end; ++byte) states |= state_[byte];
  if ((states & kPending) != 0) problem = pending_problem(offset, bytes);
  if ((states & kOpaque) == kOpaque) {
    std::size_t byte = first;
    while (state_[byte] != kOpaque) ++byte;
    problem = opaque_problem("writes", byte + start_);
  }
  if (copies) {
    std::uint8_t* const held = state_.data() + first;  // a bulk copy has many
    const auto pending = static_cast<std::uint8_t>(state);
    for (std::size_t i = 0; i < end - first; ++i) {
      held[i] = static_cast<std::uint8_t>((held[i] & kWritten) | pending);
    }
  } else {
    std::memset(state_.data() + first, kWritten, end - first);
  }
  // The stamps of a visit say only that no other access has to be ordered with it.
  const bool visits = who.from != nullptr && !copies;
  const std::uint32_t stamp = visits ? 0 : stamp_of(who);
  for (std::size_t byte = first; byte < end;) {
    const std::size_t word = byte / 4;
    const bool whole = byte % 4 == 0 && end - byte >= 4;
    if (!whole || visits) split(word);
    if (stamp_[word] == kSplit) {
      const std::size_t count = whole ? 4 : 1;
      for (std::size_t i = byte; i < byte + count; ++i) {
        if (!problem) problem = check_write(who, i + start_, bytes_[i], copies);
        if (!problem) problem = check_visits(who, i + start_, true);
        bytes_[i] = Record{stamp, 0, 0};
        visits_.erase(i + start_);
        if (visits) record_visit(who, i + start_, true);
      }
      if (whole && !visits && !trace_.follows(byte + start_, 4)) {  // one owner again
        stamp_[word] = stamp;
        read_stamp_[word] = 0;
        readers_[word] = 0;
      }
      byte += count;
      continue;
    }
    const Record before{stamp_[word], read_stamp_[word], readers_[word]};
    if (!problem) problem = check_write(who, byte + start_, before, copies);
    const std::size_t run = equal_records(word, end / 4);
    std::fill_n(&stamp_[word], run, stamp);
    std::fill_n(&read_stamp_[word], run, 0u);
    std::fill_n(&readers_[word], run, 0u);
    byte += 4 * run;
  }
  return traced(std::move(problem));
}

std::optional<SharedProblem> SharedMemory::explain_copy(const Accessor& who, std::uint64_t offset,
                                                        int bytes, ByteState pending) {
  std::optional<SharedProblem> problem = check_and_write(who, offset, bytes, pending);
  if (!trace_.empty()) {
    trace_.note_write({copy_of(pending), who.inst, who.warp, who.lane}, offset,
                      static_cast<std::uint64_t>(bytes));
  }
  return problem;
}

std::optional<SharedProblem> SharedMemory::explain_async_read(const Accessor& who,
                                                              std::uint64_t offset, int bytes) {
  std::optional<SharedProblem> problem = explain_read(who, offset, bytes);
  return problem ? problem : fence_problem(offset, bytes);
}

std::optional<SharedProblem> SharedMemory::explain_issue(const Accessor& who, std::uint64_t offset,
                                                         int bytes) const {
  std::uint32_t fine = 0;  // the last stamp that was
  const std::uint64_t end = offset + static_cast<std::uint64_t>(bytes);
  std::uint64_t step = 1;
  for (std::uint64_t address = offset; address < end; address += step) {
    const std::size_t word = index(address) / 4;
    step = stamp_[word] == kSplit ? 1 : 4 - address % 4;
    const std::uint32_t stamp = stamp_at(address);
    if (stamp == fine) continue;
    if (auto problem = check_read(who, address, {stamp, 0, 0})) return traced(std::move(problem));
    fine = stamp;
  }
  return std::nullopt;
}

std::optional<SharedProblem> SharedMemory::written_since(std::uint64_t offset, int bytes,
                                                         std::uint32_t tick) const {
  const std::uint64_t end = offset + static_cast<std::uint64_t>(bytes);
  for (std::uint64_t address = offset; address < end; ++address) {
    const std::uint32_t stamp = stamp_at(address);
    if (stamp >> 10 < tick || tick >= AccessOrder::kLastTick) continue;
    return traced(problem_with_writer(
        FindingKind::race, address, stamp,
        fmt::format("copies shared memory at {:#x}, which warp {} lane {} writes again before "
                    "cp.async.bulk.wait_group has waited for the copy: it may read either",
                    address, warp_of(stamp), lane_of(stamp))));
  }
  return std::nullopt;
}

std::optional<SharedProblem> SharedMemory::fence_problem(std::uint64_t offset, int bytes) const {
  const std::uint64_t end = offset + static_cast<std::uint64_t>(bytes);
  std::uint32_t fine = 0;  // the last stamp of a whole word that was
  for (std::uint64_t address = offset; address < end; address += 4) {
    const std::uint32_t whole = stamp_[index(address) / 4];
    if (whole == fine) continue;
    const bool split = whole == kSplit;
    fine = split ? fine : whole;
    for (std::uint64_t byte = address; byte < address + (split ? 4 : 1); ++byte) {
      const std::uint32_t stamp = stamp_at(byte);
      // What threads of other CTAs wrote is not held to a fence.
      if (stamp >> 10 >= order_.began() && !order_.fenced(warp_of(stamp), stamp >> 10)) {
        return traced(problem_with_writer(
            FindingKind::missing_fence, byte, stamp,
            fmt::format("reads shared memory at {:#x}, which warp {} lane {} wrote, as an "
                        "asynchronous unit does; no fence.proxy.async lies between",
                        byte, warp_of(stamp), lane_of(stamp))));
      }
    }
  }
  return std::nullopt;
}

void SharedMemory::mark_mbarrier(std::uint64_t offset, bool begins) {
  if (check_) std::memset(state_.data() + index(offset), begins ? kOpaque : kUnwritten, 8);
}

void SharedMemory::mark_written(std::uint64_t offset, int bytes) {
  if (check_) std::memset(state_.data() + index(offset), kWritten, static_cast<std::size_t>(bytes));
}

std::optional<SharedProblem> SharedMemory::explain_synchronising_read(std::uint64_t offset,
                                                                      int bytes) const {
  return check_ ? state_problem(nullptr, offset, bytes) : std::nullopt;
}

std::optional<SharedProblem> SharedMemory::explain_update(const Accessor& who, std::uint64_t offset,
                                                          int bytes) {
  std::optional<SharedProblem> problem = explain_synchronising_read(offset, bytes);
  if (!check_ || who.from != nullptr) return problem;
  const std::size_t first = index(offset);
  for (std::size_t byte = first; byte < first + static_cast<std::size_t>(bytes);) {
    const std::size_t word = byte / 4;
    if (bytes % 4 != 0) split(word);
    const bool whole = stamp_[word] != kSplit;
    Record record = whole ? Record{stamp_[word], read_stamp_[word], readers_[word]} : bytes_[byte];
    const std::uint64_t address = byte + start_;
    Update& last = updates_[address];
    if (last.stamp != record.stamp) last.write = record.stamp;
    record.stamp = last.write;  // atomics are no race with one another
    if (!problem) problem = check_write(who, address, record, false);
    // What comes later is held against this one, as against a write.
    last.stamp = stamp_of(who);
    (whole ? stamp_[word] : bytes_[byte].stamp) = last.stamp;
    byte += whole ? 4 : 1;
  }
  problem = traced(std::move(problem));
  if (!trace_.empty())
    trace_.note_write({"atomic", who.inst, who.warp, who.lane}, offset,
                      static_cast<std::uint64_t>(bytes));
  return problem;
}

}  // namespace plumbline::emulator
