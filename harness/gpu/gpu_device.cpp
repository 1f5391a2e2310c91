// SPDX-License-Identifier: MIT
#include "harness/gpu/gpu_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "harness/device/entry_name.h"
#include "harness/gpu/driver.h"
#include "harness/gpu/encode_tensor_map.h"

namespace plumbline {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::byte kGuard{0xcb};

// Driver API constants (cuda.h): device attributes, function attributes, results, launch extras.
constexpr int kComputeMajor = 75, kComputeMinor = 76;
constexpr int kMaxDynamicShared = 8;
constexpr int kNotReady = 600;
constexpr int kInvalidValue = 1, kOutOfMemory = 2;
// What a kernel can do to its context. The driver's own words stand in the finding.
constexpr std::array<std::pair<int, FindingKind>, 9> kFaults = {{
    {700, FindingKind::out_of_bounds},  // CUDA_ERROR_ILLEGAL_ADDRESS
    {717, FindingKind::out_of_bounds},  // CUDA_ERROR_INVALID_ADDRESS_SPACE
    {716, FindingKind::misaligned},     // CUDA_ERROR_MISALIGNED_ADDRESS
    {702, FindingKind::endless_loop},   // CUDA_ERROR_LAUNCH_TIMEOUT
    {710, FindingKind::trap},           // CUDA_ERROR_ASSERT
    {714, FindingKind::trap},           // CUDA_ERROR_HARDWARE_STACK_ERROR
    {715, FindingKind::trap},           // CUDA_ERROR_ILLEGAL_INSTRUCTION
    {718, FindingKind::trap},           // CUDA_ERROR_INVALID_PC
    {719, FindingKind::trap},           // CUDA_ERROR_LAUNCH_FAILED
}};

// A kernel that does not end holds the GPU until the process does; so may a fault that a new
// context does not mend. Every call of the driver would wait for it, of whatever device.
std::atomic<bool> gpu_is_lost{false};

Status usable() {
  if (!gpu_is_lost) return {};
  return Error{ErrorKind::cannot_run,
               "an earlier kernel never finished, or left the GPU unusable for this process", "",
               "start plumbline again"};
}

struct Allocation {
  Driver::Address base = 0;  // of the leading guard band
  std::size_t bytes = 0;
  std::string label;

  Driver::Address payload() const { return base + kGuardBytes; }
};

class GpuModule : public Module {
 public:
  GpuModule(std::shared_ptr<const Driver> driver, std::shared_ptr<const int> context,
            std::string image, std::string file)
      : driver_(std::move(driver)),
        context_(std::move(context)),
        image_(std::move(image)),
        file_(std::move(file)),
        entries_(entry_names(image_)) {}

  // The entry's function; the module is loaded again when the context was reset since.
  Result<Driver::Handle> function(std::string_view name) const {
    const Result<std::string> entry =
        entries_.empty() ? std::string(name) : find_entry(entries_, name, file_);
    if (!entry) return entry.error();
    if (loaded_in_ != *context_) {
      // Log buffers of the driver's JIT compiler, so that its message reaches the user.
      std::array<char, 4096> log{};
      std::array<int, 2> options = {
          5, 6};  // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
      std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size())};
      if (const int code =
              driver_->module_load(&module_, image_.c_str(), 2, options.data(), values.data());
          code != 0) {
        Error error = driver_->error("cuModuleLoadDataEx", code);
        error.where = file_;
        if (log[0] != 0) error.message += fmt::format("; {}", log.data());
        return error;
      }
      loaded_in_ = *context_;
    }
    Driver::Handle function = nullptr;
    if (const int code = driver_->module_function(&function, module_, entry->c_str()); code != 0) {
      Error error = driver_->error(fmt::format("cuModuleGetFunction({})", *entry), code);
      error.where = file_;
      return error;
    }
    return function;
  }

  Result<std::vector<ParameterSlot>> parameters(std::string_view entry) const override {
    if (const Status works = usable(); !works) return works.error();
    const Result<Driver::Handle> found = function(entry);
    if (!found) return found.error();
    std::vector<ParameterSlot> slots;
    std::size_t offset = 0, size = 0;
    for (std::size_t i = 0;; ++i) {
      const int code = driver_->function_parameter(*found, i, &offset, &size);
      if (code == kInvalidValue) return slots;  // past the last parameter
      if (code != 0) return driver_->error("cuFuncGetParamInfo", code);
      slots.push_back({static_cast<std::int64_t>(offset), static_cast<std::int64_t>(size)});
    }
  }

 private:
  std::shared_ptr<const Driver> driver_;
  std::shared_ptr<const int> context_;  // the number of the device's context
  std::string image_, file_;
  std::vector<std::string> entries_;  // of PTX; none that could be read of a cubin
  mutable Driver::Handle module_ = nullptr;
  mutable int loaded_in_ = -1;
};

class GpuDevice : public Device {
 public:
  GpuDevice(std::shared_ptr<const Driver> driver, GpuInfo info, std::chrono::milliseconds patience)
      : driver_(std::move(driver)), info_(std::move(info)), patience_(patience) {}

  ~GpuDevice() override {
    if (gpu_is_lost) return;
    release_all();
    if (context_) driver_->context_release(0);
  }

  Status open() {
    if (const int code = driver_->context_retain(&context_, 0); code != 0) {
      return driver_->error("cuDevicePrimaryCtxRetain", code);
    }
    return make_current();
  }

  std::string name() const override { return info_.name; }

  int sm() const override { return info_.sm; }

  bool is_gpu() const override { return true; }

  using Device::load;

  // The driver compiles all entries.
  Result<std::unique_ptr<Module>> load(std::string_view image, std::string_view file,
                                       const EntryFilter&) override {
    auto module = std::make_unique<GpuModule>(driver_, context_number_, std::string(image),
                                              std::string(file));
    return std::unique_ptr<Module>(std::move(module));
  }

  Result<DeviceAddress> allocate(std::int64_t bytes, std::string_view label) override {
    Allocation allocation;
    allocation.bytes = static_cast<std::size_t>(bytes);
    allocation.label = label;
    if (const Status works = usable(); !works) return works.error();
    const Status current = make_current();
    if (!current) return current.error();
    if (const int code = driver_->allocate(&allocation.base, allocation.bytes + 2 * kGuardBytes);
        code != 0) {
      Error error =
          driver_->error(fmt::format("cuMemAlloc of {} bytes for {}", bytes, label), code);
      if (code == kOutOfMemory) error.kind = ErrorKind::out_of_memory;
      return error;
    }
    allocations_.push_back(allocation);
    const std::vector<std::byte> guard(kGuardBytes, kGuard);
    for (const Driver::Address band : {allocation.base, allocation.payload() + allocation.bytes}) {
      const Status written = write(band, guard);
      if (!written) return written.error();
    }
    return allocation.payload();
  }

  void release_all() override {
    if (!gpu_is_lost) {
      for (const Allocation& allocation : allocations_) driver_->release(allocation.base);
    }
    allocations_.clear();
  }

  Status write(DeviceAddress to, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return {};
    if (Status works = usable(); !works) return works;
    const int code = driver_->copy_in(to, bytes.data(), bytes.size());
    return code == 0 ? Status{} : driver_->error("cuMemcpyHtoD", code);
  }

  Status poison(DeviceAddress to, std::span<const std::byte> bytes) override {
    return write(to, bytes);
  }

  Status read(DeviceAddress from, std::span<std::byte> bytes) override {
    if (bytes.empty() || stopped_) return {};  // after a fault the memory is gone with its context
    if (Status works = usable(); !works) return works;
    const int code = driver_->copy_out(bytes.data(), from, bytes.size());
    return code == 0 ? Status{} : driver_->error("cuMemcpyDtoH", code);
  }

  Result<EncodedTensorMap> encode(const TensorMap& map) override {
    if (Status exist = check_tensor_maps_exist(info_.sm); !exist) return exist.error();
    if (Status possible = check_tensor_map(map); !possible) return possible.error();
    return encode_tensor_map(*driver_, map);
  }

  Result<LaunchOutcome> launch(const Module& module, const LaunchRequest& request) override {
    if (const Status works = usable(); !works) return works.error();
    const auto& gpu_module = static_cast<const GpuModule&>(module);
    const Result<Driver::Handle> function = gpu_module.function(request.entry);
    if (!function) return function.error();
    // Without it the most is 48 KiB less what the kernel has of its own.
    if (request.dynamic_shared_bytes > 0) {
      const int code = driver_->function_set(*function, kMaxDynamicShared,
                                             static_cast<int>(request.dynamic_shared_bytes));
      if (code != 0) return driver_->error("cuFuncSetAttribute", code);
    }
    std::array<Driver::Handle, 2> events{};
    for (Driver::Handle& event : events) {
      if (const int code = driver_->event_create(&event, 0); code != 0)
        return driver_->error("cuEventCreate", code);
    }
    driver_->event_record(events[0], nullptr);
    std::vector<std::byte> block = request.parameters;
    std::size_t size = block.size();
    // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
    void* extra[] = {reinterpret_cast<void*>(1), block.data(), reinterpret_cast<void*>(2), &size,
                     nullptr};
    const auto u = [](std::int64_t value) { return static_cast<unsigned>(value); };
    if (const int code =
            driver_->launch(*function, u(request.grid[0]), u(request.grid[1]), u(request.grid[2]),
                            u(request.block[0]), u(request.block[1]), u(request.block[2]),
                            u(request.dynamic_shared_bytes), nullptr, nullptr, extra);
        code != 0) {
      return driver_->error("cuLaunchKernel", code);
    }
    driver_->event_record(events[1], nullptr);
    LaunchOutcome outcome;
    const int code = wait(events[1]);
    if (code != 0) return faulted(request, code);
    float milliseconds = 0;
    if (driver_->event_elapsed(&milliseconds, events[0], events[1]) == 0)
      outcome.elapsed_ms = milliseconds;
    for (Driver::Handle event : events) driver_->event_destroy(event);
    const Status guards = check_guards(request, outcome);
    if (!guards) return guards.error();
    return outcome;
  }

 private:
  Status make_current() {
    stopped_ = false;
    const int code = driver_->context_set(context_);
    return code == 0 ? Status{} : driver_->error("cuCtxSetCurrent", code);
  }

  // Waits for an event; kNotReady when patience ran out.
  int wait(Driver::Handle event) const {
    const auto start = std::chrono::steady_clock::now();
    int code = kNotReady;
    while ((code = driver_->event_query(event)) == kNotReady &&
           std::chrono::steady_clock::now() - start < patience_) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return code;
  }

  // A fault kills the context: make a new one, so that the next case can run.
  Result<LaunchOutcome> faulted(const LaunchRequest& request, int code) {
    LaunchOutcome outcome;
    outcome.completed = false;
    Finding finding;
    finding.kernel = request.entry;
    finding.message = driver_->describe(code);
    stopped_ = true;
    if (code == kNotReady) {
      gpu_is_lost = true;
      finding.kind = FindingKind::endless_loop;
      finding.message = fmt::format("the kernel did not finish within {} s",
                                    std::chrono::duration<double>(patience_).count());
      outcome.findings.push_back(finding);
      return outcome;
    }
    const auto known = std::find_if(kFaults.begin(), kFaults.end(),
                                    [&](const auto& f) { return f.first == code; });
    if (known == kFaults.end()) return driver_->error("the kernel", code);
    finding.kind = known->second;
    outcome.findings.push_back(finding);
    renew_context();
    return outcome;
  }

  // Some faults are said to end the process's use of the GPU: whether this one did, an allocation
  // tells.
  void renew_context() {
    allocations_.clear();
    ++*context_number_;
    driver_->context_release(0);
    driver_->context_reset(0);
    Driver::Address trial = 0;
    gpu_is_lost = driver_->context_retain(&context_, 0) != 0 ||
                  driver_->context_set(context_) != 0 || driver_->allocate(&trial, 1) != 0;
    if (!gpu_is_lost) driver_->release(trial);
  }

  Status check_guards(const LaunchRequest& request, LaunchOutcome& outcome) {
    std::vector<std::byte> band(kGuardBytes);
    for (const Allocation& allocation : allocations_) {
      const std::array<std::pair<Driver::Address, std::string_view>, 2> bands = {{
          {allocation.base, "before"},
          {allocation.payload() + allocation.bytes, "after"},
      }};
      for (const auto& [address, side] : bands) {
        const Status read_back = read(address, band);
        if (!read_back) return read_back;
        const auto changed =
            std::find_if(band.begin(), band.end(), [](std::byte b) { return b != kGuard; });
        if (changed == band.end()) continue;
        Finding finding;
        finding.kind = FindingKind::write_outside_output;
        finding.kernel = request.entry;
        finding.message = fmt::format("byte {} of the guard band {} {} was written",
                                      changed - band.begin(), side, allocation.label);
        outcome.findings.push_back(finding);
        // The next launch is not to blame.
        const std::vector<std::byte> guard(kGuardBytes, kGuard);
        if (Status written = write(address, guard); !written) return written;
      }
    }
    return {};
  }

  std::shared_ptr<const Driver> driver_;
  GpuInfo info_;
  std::chrono::milliseconds patience_;
  Driver::Handle context_ = nullptr;
  std::shared_ptr<int> context_number_ = std::make_shared<int>(0);
  bool stopped_ = false;  // the last launch faulted
  std::vector<Allocation> allocations_;
};

Result<GpuInfo> describe_gpu(const Driver& driver) {
  GpuInfo info;
  int count = 0, device = 0, major = 0, minor = 0;
  std::array<char, 256> name{};
  if (const int code = driver.driver_version(&info.driver_version); code != 0) {
    return driver.error("cuDriverGetVersion", code);
  }
  if (const int code = driver.device_count(&count); code != 0)
    return driver.error("cuDeviceGetCount", code);
  if (count == 0)
    return Error{ErrorKind::cannot_run, "the driver works but there is no GPU", "",
                 "use --on emulator"};
  if (const int code = driver.device_get(&device, 0); code != 0)
    return driver.error("cuDeviceGet", code);
  if (const int code = driver.device_name(name.data(), static_cast<int>(name.size()), device);
      code != 0) {
    return driver.error("cuDeviceGetName", code);
  }
  for (const auto& [attribute, value] :
       {std::pair{kComputeMajor, &major}, std::pair{kComputeMinor, &minor}}) {
    if (const int code = driver.device_attribute(value, attribute, device); code != 0) {
      return driver.error("cuDeviceGetAttribute", code);
    }
  }
  info.name = name.data();
  info.sm = 10 * major + minor;
  return info;
}

}  // namespace

Result<GpuInfo> gpu_info() {
  const Result<std::shared_ptr<const Driver>> driver = load_driver();
  if (!driver) return driver.error();
  return describe_gpu(**driver);
}

Result<std::unique_ptr<Device>> open_gpu(std::chrono::milliseconds patience) {
  if (const Status works = usable(); !works) return works.error();
  const Result<std::shared_ptr<const Driver>> driver = load_driver();
  if (!driver) return driver.error();
  const Result<GpuInfo> info = describe_gpu(**driver);
  if (!info) return info.error();
  auto device = std::make_unique<GpuDevice>(*driver, *info, patience);
  const Status opened = device->open();
  if (!opened) return opened.error();
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace plumbline
