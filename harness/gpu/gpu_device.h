// SPDX-License-Identifier: MIT
// A real GPU as a Device: the CUDA driver through dlopen, nothing linked, so one program runs with
// and without a GPU. Every buffer has guard bands on both sides; they are checked after each
// launch.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "harness/device/device.h"

namespace plumbline {

struct GpuInfo {
  std::string name;        // "NVIDIA H200"
  int sm = 0;              // 90
  int driver_version = 0;  // 13000 for CUDA 13.0

  // "CUDA 13.0", and the kernel module's own version where the system tells it: "580.65.06, CUDA
  // 13.0".
  std::string driver() const;
};

// What GPU there is. Errors (cannot_run) say what is missing: the library, the driver, or a device.
// PLUMBLINE_LIBCUDA names another library (tests use a stand-in).
Result<GpuInfo> gpu_info();

struct GpuOptions {
  // A kernel that runs longer is taken to hang; no GPU can be used in this process then, and every
  // call says so.
  std::chrono::milliseconds patience = std::chrono::seconds(60);
  // Looked at while a kernel runs: once true, the kernel has half a second to end, and is given up
  // as one that hangs. Null: it runs until `patience` ends.
  const std::atomic<bool>* give_up = nullptr;
};

Result<std::unique_ptr<Device>> open_gpu(const GpuOptions& options = {});

// Whether a kernel holds the GPU that will not end, or a fault left it unusable. The driver would
// wait for that kernel when the process ends in the ordinary way: std::_Exit ends it.
bool gpu_is_lost();

}  // namespace plumbline
