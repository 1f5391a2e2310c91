// SPDX-License-Identifier: MIT
#include "harness/gpu/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace plumbline {
namespace {

constexpr std::string_view kHint = "the NVIDIA driver provides it; without a GPU use --on emulator";

template <typename Function>
bool bind(void* library, const char* symbol, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (!function && missing.empty()) missing = symbol;
  return function != nullptr;
}

// Returns the first symbol the library lacks of those that must be there, or an empty string.
std::string bind_all(void* library, Driver& d) {
  std::string missing;
  bind(library, "cuInit", d.init, missing);
  bind(library, "cuDriverGetVersion", d.driver_version, missing);
  bind(library, "cuDeviceGetCount", d.device_count, missing);
  bind(library, "cuDeviceGet", d.device_get, missing);
  bind(library, "cuDeviceGetName", d.device_name, missing);
  bind(library, "cuDeviceGetAttribute", d.device_attribute, missing);
  bind(library, "cuDevicePrimaryCtxRetain", d.context_retain, missing);
  bind(library, "cuDevicePrimaryCtxReset_v2", d.context_reset, missing);
  bind(library, "cuDevicePrimaryCtxRelease_v2", d.context_release, missing);
  bind(library, "cuCtxSetCurrent", d.context_set, missing);
  bind(library, "cuModuleLoadDataEx", d.module_load, missing);
  bind(library, "cuModuleUnload", d.module_unload, missing);
  bind(library, "cuModuleGetFunction", d.module_function, missing);
  bind(library, "cuFuncGetParamInfo", d.function_parameter, missing);
  bind(library, "cuFuncGetAttribute", d.function_get, missing);
  bind(library, "cuFuncSetAttribute", d.function_set, missing);
  bind(library, "cuMemAlloc_v2", d.allocate, missing);
  bind(library, "cuMemFree_v2", d.release, missing);
  bind(library, "cuMemcpyHtoD_v2", d.copy_in, missing);
  bind(library, "cuMemcpyDtoH_v2", d.copy_out, missing);
  bind(library, "cuLaunchKernel", d.launch, missing);
  bind(library, "cuLaunchKernelEx", d.launch_with_attributes, missing);
  bind(library, "cuEventCreate", d.event_create, missing);
  bind(library, "cuEventRecord", d.event_record, missing);
  bind(library, "cuEventQuery", d.event_query, missing);
  bind(library, "cuEventElapsedTime", d.event_elapsed, missing);
  bind(library, "cuEventDestroy_v2", d.event_destroy, missing);
  bind(library, "cuGetErrorName", d.error_name, missing);
  bind(library, "cuGetErrorString", d.error_text, missing);
  std::string may_be_missing;
  bind(library, "cuTensorMapEncodeTiled", d.tensor_map_encode, may_be_missing);
  return missing;
}

}  // namespace

std::string Driver::describe(int code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (error_name(code, &name) != 0 || !name) return fmt::format("error {}", code);
  if (error_text(code, &text) != 0 || !text) return name;
  return fmt::format("{}: {}", name, text);
}

Error Driver::error(std::string_view call, int code) const {
  return Error{ErrorKind::cannot_run, fmt::format("{} failed: {}", call, describe(code)), "", ""};
}

Result<std::shared_ptr<const Driver>> load_driver() {
  const char* named = std::getenv("PLUMBLINE_LIBCUDA");
  const std::string path = named && *named ? named : "libcuda.so.1";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return Error{ErrorKind::cannot_run,
                 fmt::format("{} cannot be loaded: no NVIDIA driver here", path), "",
                 std::string(kHint)};
  }
  auto driver = std::make_shared<Driver>();
  const std::string missing = bind_all(library, *driver);
  if (!missing.empty()) {
    return Error{ErrorKind::cannot_run,
                 fmt::format("{} has no {}: the driver is older than CUDA 12.4", path, missing), "",
                 "update the driver"};
  }
  if (const int code = driver->init(0); code != 0) return driver->error("cuInit", code);
  return std::shared_ptr<const Driver>(std::move(driver));
}

}  // namespace plumbline
