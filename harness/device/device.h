// SPDX-License-Identifier: MIT
// Device: load a module, allocate, copy, launch, read back, and report findings of its own. The
// emulator and the GPU implement it; nothing above knows which one runs. One Device serves one host
// thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/entry_name.h"
#include "harness/device/finding.h"
#include "harness/device/tensor_map.h"
#include "harness/device/traffic.h"
#include "oracles/base/result.h"

namespace plumbline {

using DeviceAddress = std::uint64_t;

struct MemoryRange {
  DeviceAddress first = 0;
  std::int64_t bytes = 0;
};

// A byte of the shared memory of a CTA.
struct SharedByte {
  std::array<std::int64_t, 3> cta{};
  std::uint64_t address = 0;  // as findings give it
};

// How results of approximate instructions (.approx, div.full) err. PTX documents how far off they
// may be; which of the results within that a chip gives is its own. Each is within it and the same
// for the same instruction and operands. docs/emulator.md says what is exact, and what scales.
struct ApproximationErrors {
  enum class Direction : std::uint8_t {
    mixed,    // never the correctly rounded result where there is another; `seed` chooses
    largest,  // as large in magnitude as is documented
    smallest,
    nearest,  // none: correctly rounded, as models of a kernel's stages have it
  };

  Direction direction = Direction::mixed;
  std::uint64_t seed = 0;  // of mixed

  bool operator==(const ApproximationErrors&) const = default;
};

struct LaunchRequest {
  std::string entry;  // .entry name in the module
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::array<std::int64_t, 3> block{1, 1, 1};
  std::array<std::int64_t, 3> cluster{};  // in blocks; zeros: as the PTX says (launch_shape.h)
  std::int64_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;  // the parameter block, laid out as the entry declares it
  // The order in which CTAs run: 0 increasing, 1 decreasing, others at random; all are legal. A GPU
  // has its own.
  std::uint64_t cta_order = 0;
  // Warp instructions one warp may execute in loops before the launch is stopped as endless; 0: the
  // device's own limit. A GPU has none.
  std::uint64_t instruction_budget = 0;
  // The byte that shared memory is full of before a kernel writes to it. A GPU has what it has.
  std::uint8_t shared_garbage = 0xff;
  // The same of registers, on the emulator.
  std::uint8_t register_garbage = 0;
  // Of a device that rounds at random (EmulatorOptions::random_rounding): where its bits come from.
  std::uint64_t rounding_seed = 0;
  // Of the emulator's approximate instructions, unless it rounds at random. A GPU has its own.
  ApproximationErrors approximation{};
  std::vector<MemoryRange> watched;  // whose writers are wanted (LaunchOutcome::writers)
  // Every access of them is followed, so that findings there name the other access
  // (Finding::other).
  std::vector<SharedByte> traced;
  // The emulator runs all CTAs on one worker: slower, and never undecided.
  bool one_worker = false;
  // On the emulator a strong load that nothing orders behind a strong store of another thread finds
  // once what was there before, as the memory model allows.
  bool older_values = false;
  bool count_traffic = false;  // LaunchOutcome::traffic, on the emulator
  // Of blocks that are alike by their addresses only some run, where that can be shown: outputs are
  // not those of the kernel then.
  bool count_representatives = false;
};

// How often one PTX instruction was executed, by warps.
struct InstructionCount {
  int ptx_line = 0;
  std::uint64_t executions = 0;
  std::uint64_t repeats = 0;  // of a branch backward: how often it was taken
};

// The thread that stored to a word of memory last.
struct Writer {
  std::array<std::int32_t, 3> cta{};
  std::int16_t warp = -1, lane = -1;  // -1: none, several CTAs, or not known
  std::int32_t ptx_line = 0;

  bool known() const { return lane >= 0; }
};

struct LaunchOutcome {
  std::vector<Finding> findings;  // empty for a well-behaved launch
  bool completed = true;          // false when a finding stopped the launch
  bool communicates =
      false;  // its CTAs exchange data, so that their order may matter; false on a GPU
  // CTAs wrote over each other's bytes while several workers ran: which of these writes changed
  // something, and so whether there is a race, is certain only on one worker.
  bool undecided = false;
  // Reads that ran of registers and of local memory that nothing may have written, and shuffles from
  // lanes that took no part: findings only where something depends on what is in them
  // (LaunchRequest::register_garbage).
  std::vector<Finding> unwritten_registers;
  // Loads that found an older value (LaunchRequest::older_values) and were not made again: findings
  // only where something depends on them.
  std::vector<Finding> older_values;
  double elapsed_ms = 0;           // kernel time only; not part of any verdict
  std::uint64_t instructions = 0;  // warp instructions executed; 0 where the device cannot count
  std::vector<InstructionCount>
      executions;  // one per instruction of the kernel; empty where the device cannot count
  // Of every 4 bytes of each watched range; empty where the device cannot tell.
  std::vector<std::vector<Writer>> writers;
  std::vector<CodePlace> stores;  // the instructions that writers name
  LaunchTraffic traffic;          // where it was asked for and the device can count
};

// Offset and size of each parameter of an entry, in declaration order.
struct ParameterSlot {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

class Module {
 public:
  virtual ~Module() = default;
  virtual Result<std::vector<ParameterSlot>> parameters(std::string_view entry) const = 0;

  // All instructions of the wanted entries in the order of their lines, where the device can tell.
  virtual std::vector<CodePlace> code() const { return {}; }
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;  // "emulator sm_90", "NVIDIA H200"
  virtual int sm() const = 0;            // 80, 89, 90, ...
  virtual bool is_gpu() const = 0;

  // Held by a thread from its first allocation to its last read where other threads use the same
  // GPU. Its end releases the memory. The emulator is each thread's own.
  virtual std::shared_ptr<void> turn() { return nullptr; }

  // PTX text (or a cubin, on a GPU). `file` names it in messages. Entries that are not wanted need
  // not be launchable: the emulator does not look into them.
  virtual Result<std::unique_ptr<Module>> load(std::string_view image, std::string_view file,
                                               const EntryFilter& wanted) = 0;

  Result<std::unique_ptr<Module>> load(std::string_view image, std::string_view file) {
    return load(image, file, {});
  }

  // Memory that counts as never written, aligned to 256 bytes, with guard bands or exact bounds
  // around it. `label` names it in findings ("a", "d").
  virtual Result<DeviceAddress> allocate(std::int64_t bytes, std::string_view label) = 0;

  // `bytes` of it in pieces of `kept` bytes, the last one what is left, each beginning `apart`
  // bytes behind the one before, and nothing between them: the address of the first one. Only the
  // emulator has address space without memory.
  virtual Result<DeviceAddress> allocate_pieces(std::int64_t /*bytes*/, std::int64_t /*kept*/,
                                                std::int64_t /*apart*/, std::string_view label) {
    return Error{ErrorKind::cannot_run, "rows of " + std::string(label) + " lie too far apart", "",
                 "use --on emulator"};
  }

  // On the emulator, variables of modules have their initial values again.
  virtual void release_all() = 0;

  // The same, but variables of modules keep what launches left in them, as from one call of a
  // library to the next.
  virtual void release_buffers() { release_all(); }

  // Whether launches since release_all() left another value in a variable of a module than its
  // initial one. False where the device cannot tell.
  virtual bool has_changed_variables() const { return false; }

  // Writes bytes and marks them as written.
  virtual Status write(DeviceAddress to, std::span<const std::byte> bytes) = 0;
  // Writes bytes that a kernel must not rely on: they still count as never written.
  virtual Status poison(DeviceAddress to, std::span<const std::byte> bytes) = 0;

  // The allocation that was written there is one that kernels write over: who uses it is watched as
  // for an output.
  virtual void will_change(DeviceAddress) {}

  virtual Status read(DeviceAddress from, std::span<std::byte> bytes) = 0;

  // For each byte from there on 1 where something was written since it was poisoned, else 0. False
  // where the device cannot tell.
  virtual bool read_written(DeviceAddress /*from*/, std::span<std::byte> /*written*/) const {
    return false;
  }

  // What a kernel of this device gets for a tensor map, to be passed as a parameter. An Error
  // (cannot_run) says why there is none: the map (check_tensor_map), the chip, or the driver.
  virtual Result<EncodedTensorMap> encode(const TensorMap& map) = 0;

  // Runs to completion or to the first finding that stops it. An Error is for what could not be
  // launched at all, or was given up before its end.
  virtual Result<LaunchOutcome> launch(const Module& module, const LaunchRequest& request) = 0;
};

}  // namespace plumbline
