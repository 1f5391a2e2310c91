// SPDX-License-Identifier: MIT
// A real GPU as a Device: the CUDA driver through dlopen, nothing linked, so one program runs with
// and without a GPU. Every buffer has guard bands on both sides; they are checked after each
// launch.
#pragma once

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
};

// What GPU there is. Errors (cannot_run) say what is missing: the library, the driver, or a device.
// PLUMBLINE_LIBCUDA names another library (tests use a stand-in).
Result<GpuInfo> gpu_info();

// A kernel that runs longer than `patience` is taken to hang; no GPU can be used in this process
// then, and every call says so.
Result<std::unique_ptr<Device>> open_gpu(
    std::chrono::milliseconds patience = std::chrono::seconds(60));

}  // namespace plumbline
