// SPDX-License-Identifier: MIT
// What a launch moved, counted by instruction: requests, sectors, wavefronts, tensor-core products.
// Functions of the code, the launch and the addresses alone, so the same in every run. What each
// counter means on a chip is in harness/perf/counters.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Between the calls of CodePlace::inlined_at.
inline constexpr std::string_view kInlinedAt = ", inlined at ";

// An instruction of a module.
struct CodePlace {
  std::string ptx_file;  // as given to Device::load
  int ptx_line = 0;
  std::string source_file;  // empty where not known
  int source_line = 0;
  // "tile.cuh:31, inlined at gemm.cu:40": the calls by which the source line was inlined.
  std::string inlined_at;
  // A branch backward, which repeats a loop. Not of a loop that waits for others: it may never have
  // to.
  bool repeats_loop = false;
};

enum class Counter : std::uint8_t {
  warp_instructions,
  thread_instructions,      // of these, the lanes that took part
  global_requests,          // warp instructions with a lane that reads or writes global memory
  global_sectors,           // of 32 bytes, that a request touches
  global_least_sectors,     // that would hold the bytes it asks for
  global_bytes,             // which it asks for, each once
  global_repeated_sectors,  // that the same instruction had touched before in the same CTA
  local_requests,
  local_sectors,
  shared_requests,
  shared_wavefronts,
  shared_least_wavefronts,  // without bank conflicts
  split_accesses,   // all bytes of which lie right behind those of the access before: one of twice
                    // the width would do for both
  bulk_bytes,       // of bulk and tensor copies, between global and shared memory
  bulk_fill_bytes,  // that a tensor copy fills, since they lie outside the tensor
  tensor_macs,      // m * n * k
  tensor_memory_bytes,  // that tcgen05.ld and tcgen05.st move
  barriers,             // of the CTA that all its warps passed
  idle_barriers,        // with no access of memory since the barrier before
  copy_waits,           // for cp.async copies that were in flight
  exposed_copy_waits    // of these, the ones that follow the copies without a product between
};
constexpr std::size_t kCounters = 21;

class Counts {
 public:
  std::uint64_t& operator[](Counter counter) { return value_[static_cast<std::size_t>(counter)]; }

  std::uint64_t operator[](Counter counter) const {
    return value_[static_cast<std::size_t>(counter)];
  }

  void add(const Counts& other, std::uint64_t times = 1) {
    for (std::size_t i = 0; i < kCounters; ++i) value_[i] += times * other.value_[i];
  }

  bool operator==(const Counts&) const = default;

 private:
  std::array<std::uint64_t, kCounters> value_{};
};

// How an instruction uses memory.
enum class Access : std::uint8_t { none, load, store, atomic, copy };

constexpr std::string_view name(Access access) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "load", "store", "atomic", "copy"};
  return kNames[static_cast<std::size_t>(access)];
}

// One instruction that was executed.
struct InstructionTraffic {
  CodePlace place;
  std::string instruction;  // "ld.global.v4.u32"
  Access access = Access::none;
  int bytes = 0;  // of a lane in one access
  Counts counts;
};

struct LaunchTraffic {
  std::string entry;                             // its name in the PTX
  std::vector<InstructionTraffic> instructions;  // by PTX line; empty where nothing was counted
  std::uint64_t sectors_only_read = 0;           // of global memory, each once in the launch
  std::uint64_t sectors_written = 0;
  std::int64_t static_shared_bytes = 0;
  int tensor_columns = 0;  // of tensor memory, the most that a CTA held at once
  // Blocks that ran, where they stand for all others, and why all did where they do not
  // (LaunchRequest::count_representatives).
  std::int64_t representatives = 0;
  std::string all_ran_because;
};

}  // namespace plumbline
