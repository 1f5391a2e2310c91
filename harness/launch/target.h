// SPDX-License-Identifier: MIT
// A Target: where a case runs, and which chip's arithmetic it is held to.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/case/case.h"
#include "harness/device/device.h"
#include "kernels/manifest/manifest.h"
#include "oracles/base/result.h"

namespace plumbline {

enum class On : std::uint8_t { automatic, emulator, gpu, both };  // --on auto|emulator|gpu|both

std::optional<On> on_by_name(std::string_view word);

struct Target {
  int sm = 80;
  bool on_gpu = false;
  bool compare = false;     // GPU, and the emulator of the same chip beside it, bit for bit
  std::string gpu_name;     // "NVIDIA H200"
  std::string driver = {};  // of the GPU: "580.65.06, CUDA 13.0"

  std::string name() const;  // "emulator sm_90", "NVIDIA H200 (sm_90)"
};

// The targets of one kernel: on the emulator, every chip its manifest lists (or only `sm_filter`);
// on a GPU, that GPU if the manifest has a build it can run and it is no other chip than
// `sm_filter` (then `auto` means the emulator). Empty when the kernel cannot run there:
// `skip_reason` says why.
std::vector<Target> kernel_targets(const Manifest& kernel, On on, std::optional<int> sm_filter,
                                   const std::optional<Target>& gpu, std::string& skip_reason);

// Where a case of a kernel with this target runs: on the emulator, where its rows lie too far apart
// for the memory of a GPU (kernels/manifest/pieces.h).
Target target_for(const Case& test_case, const Target& target);

// The manifest's newest build that a chip can run; empty when all are newer than the chip, or for
// others alone.
std::optional<int> best_build(const Manifest& kernel, int sm);

// The GPU of this machine as a target; an Error that says what is missing.
Result<Target> probe_gpu();

// The GPU that `on` means: none for the emulator, and none where `auto` finds none. An Error where
// a GPU was asked for and there is none.
Result<std::optional<Target>> find_gpu(On on);

// A device for a target. `threads` is for the emulator. Launches are given up once `give_up` is
// true.
Result<std::unique_ptr<Device>> open_device(const Target& target, int threads,
                                            const std::atomic<bool>& give_up);

}  // namespace plumbline
