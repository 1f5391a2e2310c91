// SPDX-License-Identifier: MIT
#include "harness/gpu/gpu_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "harness/gpu/context.h"
#include "harness/gpu/driver.h"
#include "harness/gpu/driver_codes.h"
#include "harness/gpu/encode_tensor_map.h"
#include "harness/gpu/gpu_module.h"

namespace plumbline {
namespace {

using namespace driver_codes;

constexpr std::size_t kGuardBytes = 4096;
constexpr std::byte kGuard{0xcb};

// A kernel that is running when a run is interrupted has so much time to end by itself: the GPU is
// free then, which it is not when the launch is given up.
constexpr std::chrono::milliseconds kGrace{500};

// What a kernel can do to its context. The driver's own words stand in the finding. __trap() is an
// illegal instruction to the driver.
constexpr std::array<std::pair<int, FindingKind>, 9> kFaults = {{
    {kIllegalAddress, FindingKind::out_of_bounds},
    {kInvalidAddressSpace, FindingKind::out_of_bounds},
    {kMisalignedAddress, FindingKind::misaligned},
    {kLaunchTimeout, FindingKind::endless_loop},
    {kAssert, FindingKind::trap},
    {kIllegalInstruction, FindingKind::trap},
    {kHardwareStackError, FindingKind::device_exception},
    {kInvalidPc, FindingKind::device_exception},
    {kLaunchFailed, FindingKind::device_exception},
}};

struct Allocation {
  Driver::Address base = 0;  // of the leading guard band
  std::size_t bytes = 0;
  std::string label;

  Driver::Address payload() const { return base + kGuardBytes; }
};

// Two events around a launch; destroyed with it, unless they would wait for a kernel that does not
// end or went with their context.
class LaunchEvents {
 public:
  explicit LaunchEvents(const GpuContext& context)
      : context_(context), made_in_(context.number()) {}

  LaunchEvents(const LaunchEvents&) = delete;
  LaunchEvents& operator=(const LaunchEvents&) = delete;

  ~LaunchEvents() {
    if (!gpu_is_usable() || made_in_ != context_.number()) return;
    for (const Driver::Handle event : events_)
      if (event) context_.driver().event_destroy(event);
  }

  Status create() {
    for (Driver::Handle& event : events_) {
      if (const int code = context_.driver().event_create(&event, 0); code != 0) {
        event = nullptr;
        return context_.driver().error("cuEventCreate", code);
      }
    }
    return {};
  }

  Driver::Handle before() const { return events_[0]; }

  Driver::Handle after() const { return events_[1]; }

 private:
  const GpuContext& context_;
  int made_in_;
  std::array<Driver::Handle, 2> events_{};
};

class GpuDevice : public Device {
 public:
  GpuDevice(std::shared_ptr<GpuContext> context, GpuInfo info, GpuOptions options)
      : context_(std::move(context)), info_(std::move(info)), options_(options) {}

  ~GpuDevice() override {
    const GpuContext::Turn turn = context_->turn();
    release_all();
  }

  std::string name() const override { return info_.name; }

  int sm() const override { return info_.sm; }

  bool is_gpu() const override { return true; }

  std::shared_ptr<void> turn() override {
    struct Turn {
      GpuDevice& device;
      GpuContext::Turn held;

      ~Turn() { device.release_all(); }
    };

    return std::shared_ptr<Turn>(new Turn{*this, context_->turn()});
  }

  using Device::load;

  // The driver compiles all entries.
  Result<std::unique_ptr<Module>> load(std::string_view image, std::string_view file,
                                       const EntryFilter&) override {
    return std::unique_ptr<Module>(
        std::make_unique<GpuModule>(context_->image(std::string(image), std::string(file))));
  }

  Result<DeviceAddress> allocate(std::int64_t bytes, std::string_view label) override {
    Allocation allocation;
    allocation.bytes = static_cast<std::size_t>(bytes);
    allocation.label = label;
    if (const Status current = context_->make_current(); !current) return current.error();
    if (context_is_new()) allocations_.clear();
    number_ = context_->number();
    stopped_ = false;
    if (const int code = driver().allocate(&allocation.base, allocation.bytes + 2 * kGuardBytes);
        code != 0) {
      Error error =
          driver().error(fmt::format("cuMemAlloc of {} bytes for {}", bytes, label), code);
      if (code == kOutOfMemory) {
        error.kind = ErrorKind::out_of_memory;
      } else {
        context_->mend();
      }
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
    if (!allocations_.empty() && !context_is_new() && context_->make_current()) {
      for (const Allocation& allocation : allocations_) driver().release(allocation.base);
    }
    allocations_.clear();
  }

  Status write(DeviceAddress to, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return {};
    if (Status there = memory_is_there(); !there) return there;
    const int code = driver().copy_in(to, bytes.data(), bytes.size());
    return code == 0 ? Status{} : driver().error("cuMemcpyHtoD", code);
  }

  Status poison(DeviceAddress to, std::span<const std::byte> bytes) override {
    return write(to, bytes);
  }

  Status read(DeviceAddress from, std::span<std::byte> bytes) override {
    if (bytes.empty() || stopped_) return {};  // after a fault the memory is gone with its context
    if (Status there = memory_is_there(); !there) return there;
    const int code = driver().copy_out(bytes.data(), from, bytes.size());
    return code == 0 ? Status{} : driver().error("cuMemcpyDtoH", code);
  }

  Result<EncodedTensorMap> encode(const TensorMap& map) override {
    if (Status exist = check_tensor_maps_exist(info_.sm); !exist) return exist.error();
    if (Status possible = check_tensor_map(map); !possible) return possible.error();
    return encode_tensor_map(driver(), map);
  }

  Result<LaunchOutcome> launch(const Module& module, const LaunchRequest& request) override {
    if (const Status there = memory_is_there(); !there) return there.error();
    LaunchEvents events(*context_);
    Result<int> code = start(static_cast<const GpuModule&>(module).image(), request, events);
    if (!code) {
      context_->mend();  // what the driver refuses leaves it as it was; a fault of others does not
      return code.error();
    }
    if (*code == 0) code = wait(events.after());
    if (*code != 0) return faulted(request, *code);
    LaunchOutcome outcome;
    float milliseconds = 0;
    if (driver().event_elapsed(&milliseconds, events.before(), events.after()) == 0)
      outcome.elapsed_ms = milliseconds;
    const Status guards = check_guards(request, outcome);
    if (!guards) return guards.error();
    return outcome;
  }

 private:
  const Driver& driver() const { return context_->driver(); }

  // A fault, of this device or another, made a context in which this device has nothing yet.
  bool context_is_new() const { return number_ != context_->number(); }

  Status memory_is_there() const {
    if (Status current = context_->make_current(); !current) return current;
    if (!context_is_new()) return {};
    return Error{ErrorKind::cannot_run,
                 "the memory of this case is gone: a fault of another kernel took its context", "",
                 "run the case again"};
  }

  // Starts the kernel with an event on either side. An Error where the driver refuses; a number
  // other than 0 where what it says is a fault of the kernel.
  Result<int> start(const GpuImage& image, const LaunchRequest& request, LaunchEvents& events) {
    // Its sizes become numbers of 32 bits below.
    if (const Status good = check_dimensions(request); !good) return good.error();
    const Result<Driver::Handle> function = image.function(request.entry);
    if (!function) return function.error();
    // Without it the most is 48 KiB less what the kernel has of its own.
    if (request.dynamic_shared_bytes > 0) {
      const int code = driver().function_set(*function, kMaxDynamicShared,
                                             static_cast<int>(request.dynamic_shared_bytes));
      if (code != 0) {
        return driver().error(fmt::format("cuFuncSetAttribute for {} bytes of shared memory",
                                          request.dynamic_shared_bytes),
                              code);
      }
    }
    if (const Status made = events.create(); !made) return made.error();
    if (const int code = driver().event_record(events.before(), nullptr); code != 0)
      return driver().error("cuEventRecord", code);
    const Status started = start(image, *function, request);
    if (!started) return started.error();
    return driver().event_record(events.after(), nullptr);
  }

  Status start(const GpuImage& image, Driver::Handle function, const LaunchRequest& request) {
    const Result<DeclaredCluster> declared = image.cluster(request.entry);
    if (!declared) return declared.error();
    const Result<std::array<std::int64_t, 3>> cluster = cluster_of(request, *declared);
    if (!cluster) return cluster.error();
    const auto u = [](std::int64_t value) { return static_cast<unsigned>(value); };
    DriverLaunchConfig config;
    for (std::size_t d = 0; d < config.grid.size(); ++d) {
      config.grid[d] = u(request.grid[d]);
      config.block[d] = u(request.block[d]);
    }
    config.dynamic_shared_bytes = u(request.dynamic_shared_bytes);
    std::vector<std::byte> block = request.parameters;
    std::size_t size = block.size();
    void* extra[] = {reinterpret_cast<void*>(kParameterBuffer), block.data(),
                     reinterpret_cast<void*>(kParameterBufferSize), &size, nullptr};
    if ((*cluster)[0] > 0) return start_cluster(function, *cluster, config, extra);
    const int code = driver().launch(function, config.grid[0], config.grid[1], config.grid[2],
                                     config.block[0], config.block[1], config.block[2],
                                     config.dynamic_shared_bytes, nullptr, nullptr, extra);
    return code == 0 ? Status{} : driver().error("cuLaunchKernel", code);
  }

  Status start_cluster(Driver::Handle function, const std::array<std::int64_t, 3>& cluster,
                       DriverLaunchConfig& config, void** extra) {
    DriverLaunchAttribute attribute;
    attribute.id = kClusterDimension;
    std::int64_t blocks = 1;
    for (std::size_t d = 0; d < cluster.size(); ++d) {
      attribute.value[d] = static_cast<unsigned>(cluster[d]);
      blocks *= cluster[d];
    }
    if (blocks > kPortableCluster) {
      const int code = driver().function_set(function, kLargeClusterAllowed, 1);
      if (code != 0) {
        return driver().error(fmt::format("cuFuncSetAttribute for a cluster of {} blocks", blocks),
                              code);
      }
    }
    config.attributes = &attribute;
    config.attribute_count = 1;
    const int code = driver().launch_with_attributes(&config, function, nullptr, extra);
    return code == 0 ? Status{} : driver().error("cuLaunchKernelEx", code);
  }

  bool interrupted() const { return options_.give_up != nullptr && *options_.give_up; }

  // Waits for an event. kNotReady when the patience ran out, or the shorter one after an interrupt.
  int wait(Driver::Handle event) const {
    using Clock = std::chrono::steady_clock;
    Clock::time_point end = Clock::now() + options_.patience;
    bool hurried = false;
    int code = kNotReady;
    while ((code = driver().event_query(event)) == kNotReady && Clock::now() < end) {
      if (!hurried && interrupted()) {
        hurried = true;
        end = std::min(end, Clock::now() + kGrace);
      }
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
    finding.message = driver().describe(code);
    stopped_ = true;
    if (code == kNotReady) {
      lose_gpu();
      if (interrupted()) {
        return Error{
            ErrorKind::cannot_run,
            fmt::format("{} was still running when the run was interrupted", request.entry), "",
            ""};
      }
      finding.kind = FindingKind::endless_loop;
      finding.message = fmt::format("the kernel did not finish within {} s",
                                    std::chrono::duration<double>(options_.patience).count());
      outcome.findings.push_back(finding);
      return outcome;
    }
    allocations_.clear();
    context_->renew();
    const auto known = std::find_if(kFaults.begin(), kFaults.end(),
                                    [&](const auto& f) { return f.first == code; });
    if (known == kFaults.end()) return driver().error("the kernel", code);
    finding.kind = known->second;
    outcome.findings.push_back(finding);
    return outcome;
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

  std::shared_ptr<GpuContext> context_;
  GpuInfo info_;
  GpuOptions options_;
  int number_ = 0;        // of the context that has the allocations
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

std::string GpuInfo::driver() const {
  std::string text = fmt::format("CUDA {}.{}", driver_version / 1000, driver_version % 1000 / 10);
  std::ifstream module("/sys/module/nvidia/version");
  if (std::string version; module >> version) text = version + ", " + text;
  return text;
}

Result<GpuInfo> gpu_info() {
  const Result<std::shared_ptr<const Driver>> driver = load_driver();
  if (!driver) return driver.error();
  return describe_gpu(**driver);
}

Result<std::unique_ptr<Device>> open_gpu(const GpuOptions& options) {
  if (const Status works = gpu_is_usable(); !works) return works.error();
  const Result<std::shared_ptr<const Driver>> driver = load_driver();
  if (!driver) return driver.error();
  const Result<GpuInfo> info = describe_gpu(**driver);
  if (!info) return info.error();
  const Result<std::shared_ptr<GpuContext>> context = GpuContext::open(*driver);
  if (!context) return context.error();
  // Another thread's fault may replace the context meanwhile.
  const GpuContext::Turn turn = (*context)->turn();
  if (const Status current = (*context)->make_current(); !current) return current.error();
  return std::unique_ptr<Device>(std::make_unique<GpuDevice>(*context, *info, options));
}

}  // namespace plumbline
