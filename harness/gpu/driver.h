// SPDX-License-Identifier: MIT
// The part of the CUDA driver interface plumbline uses, found at run time with dlopen. The
// declarations restate the driver's stable C ABI (CUDA Driver API reference, 12.4 and later), so
// that neither a toolkit header nor a library is needed to build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "oracles/base/result.h"

namespace plumbline {

// CUlaunchAttribute and CUlaunchConfig, as far as a cluster needs them: the value is the cluster's
// three dimensions, in 64 bytes.
struct DriverLaunchAttribute {
  int id = 0;
  alignas(8) std::array<unsigned, 16> value{};
};

struct DriverLaunchConfig {
  std::array<unsigned, 3> grid{}, block{};
  unsigned dynamic_shared_bytes = 0;
  void* stream = nullptr;
  DriverLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct Driver {
  using Handle = void*;  // CUcontext, CUmodule, CUfunction, CUevent, CUstream
  using Address = std::uint64_t;

  int (*init)(unsigned) = nullptr;
  int (*driver_version)(int*) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*context_retain)(Handle*, int) = nullptr;
  int (*context_reset)(int) = nullptr;
  int (*context_release)(int) = nullptr;
  int (*context_set)(Handle) = nullptr;
  int (*module_load)(Handle*, const void*, unsigned, int*, void**) = nullptr;
  int (*module_unload)(Handle) = nullptr;
  int (*module_function)(Handle*, Handle, const char*) = nullptr;
  int (*function_parameter)(Handle, std::size_t, std::size_t*, std::size_t*) = nullptr;
  int (*function_get)(int*, int, Handle) = nullptr;
  int (*function_set)(Handle, int, int) = nullptr;
  int (*allocate)(Address*, std::size_t) = nullptr;
  int (*release)(Address) = nullptr;
  int (*copy_in)(Address, const void*, std::size_t) = nullptr;
  int (*copy_out)(void*, Address, std::size_t) = nullptr;
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                Handle, void**, void**) = nullptr;
  int (*launch_with_attributes)(const DriverLaunchConfig*, Handle, void**, void**) = nullptr;
  int (*event_create)(Handle*, unsigned) = nullptr;
  int (*event_record)(Handle, Handle) = nullptr;
  int (*event_query)(Handle) = nullptr;
  int (*event_elapsed)(float*, Handle, Handle) = nullptr;
  int (*event_destroy)(Handle) = nullptr;
  // Null where the driver lacks it: only kernels with tensor maps need it.
  int (*tensor_map_encode)(void*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*,
                           const unsigned*, const unsigned*, int, int, int, int) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*error_text)(int, const char**) = nullptr;

  // "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
  std::string describe(int code) const;

  // A failed call as an Error of kind cannot_run: "cuMemAlloc failed: ...".
  Error error(std::string_view call, int code) const;
};

// Loads libcuda.so.1 (or PLUMBLINE_LIBCUDA) and initialises it. Errors say what is missing. The
// library stays loaded.
Result<std::shared_ptr<const Driver>> load_driver();

}  // namespace plumbline
