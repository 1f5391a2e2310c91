// SPDX-License-Identifier: MIT
// The cp.async copies a warp has issued and not waited for. A copy is performed when its thread waits, not when it is
// issued: source bytes are read and destination bytes are written at cp.async.wait_group / wait_all. That is within what
// the ISA allows, and it makes a missing wait visible in the data as well as in the findings.
//
// Groups are per thread: commit_group closes the open group of each lane, wait_group N completes all but the N youngest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plumbline::emulator {

struct AsyncCopy {
  std::uint32_t lanes = 0;  // still to be done
  std::uint32_t index = 0;  // the instruction, in Program::code
  int bytes = 0;
  std::array<std::uint32_t, 32> to{};             // shared offset
  std::array<const std::byte*, 32> from{};        // host address
  std::array<std::uint8_t, 32> source_bytes{};    // the rest is filled with zeros
  std::array<std::uint32_t, 32> group{};
};

class AsyncCopies {
 public:
  void clear() {
    pending_.clear();
    group_.fill(0);
  }

  // A new copy in the open group of each lane; the caller fills in the addresses.
  AsyncCopy& add(std::uint32_t lanes) {
    AsyncCopy& copy = pending_.emplace_back();
    copy.lanes = lanes;
    copy.group = group_;
    return copy;
  }

  void commit(std::uint32_t lanes) {
    for (int lane = 0; lane < 32; ++lane) group_[lane] += lanes >> lane & 1;
  }

  // Calls perform(copy, lanes) for what `lanes` must have complete when at most `allowed` groups may be in flight.
  template <typename Perform>
  void wait(std::uint32_t lanes, std::uint32_t allowed, Perform&& perform) {
    finish(lanes, perform, [&](const AsyncCopy& copy, int lane) { return copy.group[lane] + allowed < group_[lane]; });
  }

  // The same for every copy, committed or not.
  template <typename Perform>
  void wait_all(std::uint32_t lanes, Perform&& perform) {
    finish(lanes, perform, [](const AsyncCopy&, int) { return true; });
  }

 private:
  template <typename Perform, typename Due>
  void finish(std::uint32_t lanes, Perform& perform, const Due& due) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      AsyncCopy& copy = pending_[i];
      std::uint32_t ready = 0;
      for (int lane = 0; lane < 32; ++lane) ready |= static_cast<std::uint32_t>(due(copy, lane)) << lane;
      ready &= copy.lanes & lanes;
      if (ready != 0) perform(copy, ready);
      copy.lanes &= ~ready;
      if (copy.lanes == 0) continue;
      if (kept != i) pending_[kept] = copy;
      ++kept;
    }
    pending_.resize(kept);
  }

  std::vector<AsyncCopy> pending_;
  std::array<std::uint32_t, 32> group_{};
};

}  // namespace plumbline::emulator
