// SPDX-License-Identifier: MIT
// PerfRecord: what kernels moved in their launches, by source line, as perf.json holds it. The same
// bytes for the same kernels, problems and compilers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/launch/launch_result.h"
#include "harness/perf/compiled.h"
#include "harness/perf/counters.h"
#include "harness/perf/occupancy.h"
#include "oracles/base/result.h"

namespace plumbline {

// All instructions of one spelling at one source line.
struct PerfLine {
  std::string at;           // "tile.cuh:57", or "k.ptx:118" where the PTX has no source lines
  std::string inlined_at;   // "gemm.cu:40" of the call; empty: not inlined
  std::string instruction;  // "ld.global.v4.u32"
  Access access = Access::none;
  int bytes = 0;     // of a lane in one access
  int ptx_line = 0;  // of the first one
  Counts counts;
  // The whole path of `at` and its line, of a launch that was counted here: perf.json has no paths.
  std::string file{};
  int file_line = 0;

  // "ldmatrix.sync.aligned.m8n8.x4.shared.b16 at tile.cuh:31 (inlined at gemm.cu:40)"
  std::string text() const;

  bool same_place(const PerfLine& other) const {
    return at == other.at && inlined_at == other.inlined_at && instruction == other.instruction;
  }
};

struct PerfLaunch {
  std::string entry;
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::int64_t shared_bytes = 0;                             // of a block, static and dynamic
  std::uint64_t sectors_only_read = 0, sectors_written = 0;  // of the launch, each once
  int tensor_columns = 0;                                    // of tensor memory, of a block
  std::optional<CompiledEntry> compiled;
  Counts totals;
  std::array<std::uint64_t, kInstructionClasses> classes{};  // warp instructions, of each
  std::vector<PerfLine> lines;                               // those that move something, by place
  // As in LaunchTraffic, of a launch that was counted here.
  std::int64_t representatives = 0;
  std::string all_ran_because{};

  std::int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }

  std::int64_t threads() const { return block[0] * block[1] * block[2]; }

  // What a block takes of its multiprocessor.
  BlockNeeds needs() const {
    return {threads(), compiled ? compiled->registers : 0, shared_bytes, tensor_columns};
  }

  // What has to cross the memory bus if caches begin empty and outputs leave them: a sector that is
  // read and written counts once.
  std::uint64_t least_memory_bytes() const { return 32 * (sectors_only_read + sectors_written); }
};

// One kernel on one problem.
struct PerfEntry {
  std::string kernel;
  int sm = 0;
  std::string problem;  // "m=256 n=256 k=256"
  // As the PTX says: "Cuda compilation tools, release 13.0, V13.0.88"; empty where it does not.
  std::string compiler = {};
  // Multiply-accumulates of the problem, where the operation is made of products.
  std::optional<double> useful_macs;
  std::vector<PerfLaunch> launches;

  std::string text() const;  // "gemm_bf16 sm_90 m=256 n=256 k=256"
  std::uint64_t total(Counter counter) const;
};

struct PerfRecord {
  std::vector<PerfEntry> entries;
};

// What made a PTX text, from its first lines.
std::string compiler_of(std::string_view ptx);

PerfLaunch perf_launch(const CountedLaunch& launch);

std::string perf_json(const PerfRecord& record);

// Errors (bad_input) name the file and what is wrong: no JSON, another version, an entry that lacks
// something.
Result<PerfRecord> read_perf(const std::string& path);

}  // namespace plumbline
