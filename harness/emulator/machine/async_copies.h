// SPDX-License-Identifier: MIT
// The cp.async copies a warp has issued and not waited for. A copy is performed when its thread
// waits, not when it is issued: source bytes are read and destination bytes are written at
// cp.async.wait_group / wait_all. That is within what the ISA allows, and it makes a missing wait
// visible in the data as well as in the findings.
//
// Groups are per thread: commit_group closes the open group of each lane, wait_group N completes
// all but the N youngest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plumbline::emulator {

struct AsyncCopy {
  std::uint32_t lanes = 0;  // still to be done
  std::uint32_t index = 0;  // the instruction, in Program::code
  std::uint32_t group = 0;  // the same for all its lanes
  int bytes = 0;
  bool whole = false;  // every lane copies all bytes, none are filled with zeros
  // Filled in by the instruction.
  std::array<std::uint32_t, 32> to;           // shared offset
  std::array<const std::byte*, 32> from;      // host address
  std::array<std::uint8_t, 32> source_bytes;  // the rest is filled with zeros

  // Does not zero the arrays.
  AsyncCopy() {}
};

class AsyncCopies {
 public:
  void clear() {
    pending_.clear();
    first_ = 0;
    group_.fill(0);
    uniform_ = true;
  }

  // Calls fill(copy) for a new copy in the open group of the lanes: once, unless the lanes count
  // groups differently.
  template <typename Fill>
  void add(std::uint32_t lanes, Fill&& fill) {
    while (lanes != 0) {
      const std::uint32_t group = group_[static_cast<std::size_t>(__builtin_ctz(lanes))];
      const std::uint32_t together = uniform_ ? lanes : lanes & in_group(group);
      AsyncCopy& copy = pending_.emplace_back();
      copy.lanes = together;
      copy.group = group;
      fill(copy);
      lanes &= ~together;
    }
  }

  // `live` are the lanes that have not exited: the count stays uniform when all of them commit.
  void commit(std::uint32_t lanes, std::uint32_t live) {
    uniform_ = uniform_ && lanes == live;
    for (std::size_t lane = 0; lane < 32; ++lane) group_[lane] += uniform_ ? 1 : lanes >> lane & 1;
  }

  // Calls perform(copy, lanes) for what `lanes` must have complete when at most `allowed` groups
  // may be in flight.
  template <typename Perform>
  void wait(std::uint32_t lanes, std::uint32_t allowed, Perform&& perform) {
    finish(lanes, perform, [&](const AsyncCopy& copy) {
      if (uniform_) return copy.group + allowed < group_[0] ? ~std::uint32_t{0} : 0;
      std::uint32_t due = 0;
      for (std::size_t lane = 0; lane < 32; ++lane) {
        due |= static_cast<std::uint32_t>(copy.group + allowed < group_[lane]) << lane;
      }
      return due;
    });
  }

  // The same for every copy, committed or not.
  template <typename Perform>
  void wait_all(std::uint32_t lanes, Perform&& perform) {
    finish(lanes, perform, [](const AsyncCopy&) { return ~std::uint32_t{0}; });
  }

 private:
  std::uint32_t in_group(std::uint32_t group) const {
    std::uint32_t lanes = 0;
    for (std::size_t lane = 0; lane < 32; ++lane)
      lanes |= static_cast<std::uint32_t>(group_[lane] == group) << lane;
    return lanes;
  }

  template <typename Perform, typename Due>
  void finish(std::uint32_t lanes, Perform& perform, const Due& due) {
    for (std::size_t i = first_; i < pending_.size(); ++i) {
      AsyncCopy& copy = pending_[i];
      const std::uint32_t ready = copy.lanes & lanes & due(copy);
      if (ready != 0) perform(copy, ready);
      copy.lanes &= ~ready;
    }
    while (first_ < pending_.size() && pending_[first_].lanes == 0) ++first_;
    if (first_ > 64 || first_ == pending_.size()) {
      pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

  std::vector<AsyncCopy> pending_;
  std::size_t first_ = 0;  // copies before it are done
  bool uniform_ = true;    // all lanes have committed the same number of groups
  std::array<std::uint32_t, 32> group_{};
};

}  // namespace plumbline::emulator
