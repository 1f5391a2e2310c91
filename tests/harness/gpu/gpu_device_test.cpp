// SPDX-License-Identifier: MIT
// The GPU device against a stand-in driver: every call fails in turn, and every failure is an error
// that names it.
#include "harness/gpu/gpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

namespace plumbline {
namespace {

using ::testing::HasSubstr;

class GpuDevice : public testing::Test {
 protected:
  void SetUp() override { setenv("PLUMBLINE_LIBCUDA", PLUMBLINE_STAND_IN_DRIVER, 1); }

  void TearDown() override {
    for (const char* name : {"PLUMBLINE_LIBCUDA", "PLUMBLINE_STAND_IN_FAIL",
                             "PLUMBLINE_STAND_IN_DEVICES", "PLUMBLINE_STAND_IN_MAJOR"})
      unsetenv(name);
  }

  // Allocates 64 bytes and launches an entry that fills them.
  static Result<LaunchOutcome> run(Device& device, const char* entry,
                                   std::vector<std::byte>* got = nullptr,
                                   std::int64_t dynamic_shared_bytes = 0,
                                   std::array<std::int64_t, 3> grid = {1, 1, 1}) {
    const Result<std::unique_ptr<Module>> module = device.load("not really PTX", "k.ptx");
    if (!module) return module.error();
    const Result<DeviceAddress> address = device.allocate(64, "d");
    if (!address) return address.error();
    const std::vector<std::byte> poison(64, std::byte{0xa5});
    const Status poisoned = device.poison(*address, poison);
    if (!poisoned) return poisoned.error();
    LaunchRequest request;
    request.entry = entry;
    request.dynamic_shared_bytes = dynamic_shared_bytes;
    request.grid = grid;
    request.parameters.resize(12);
    const std::int32_t count = 64;
    std::memcpy(request.parameters.data(), &*address, 8);
    std::memcpy(request.parameters.data() + 8, &count, 4);
    Result<LaunchOutcome> outcome = device.launch(**module, request);
    if (outcome && got) {
      got->resize(64);
      const Status read = device.read(*address, *got);
      if (!read) return read.error();
    }
    return outcome;
  }

  // What the stand-in counts: "allocations", "events", "modules", "stale", "contexts", "cluster".
  static int count(const char* what) {
    void* library = dlopen(PLUMBLINE_STAND_IN_DRIVER, RTLD_NOW | RTLD_LOCAL);
    const auto counter =
        reinterpret_cast<int (*)(const char*)>(dlsym(library, "plumbline_stand_in_count"));
    return counter(what);
  }
};

TEST_F(GpuDevice, SaysWhatTheGpuIs) {
  const Result<GpuInfo> info = gpu_info();
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->name, "Stand-in GPU");
  EXPECT_EQ(info->sm, 90);
  EXPECT_THAT(info->driver(), HasSubstr("CUDA 13.0"));
}

TEST_F(GpuDevice, WithoutADriverTheErrorSaysSo) {
  setenv("PLUMBLINE_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
  const Result<GpuInfo> info = gpu_info();
  ASSERT_FALSE(info);
  EXPECT_THAT(info.error().text(), HasSubstr("/nonexistent/libcuda.so.1 cannot be loaded"));
  EXPECT_THAT(info.error().text(), HasSubstr("--on emulator"));
}

TEST_F(GpuDevice, AnotherLibraryIsRecognisedByWhatItLacks) {
  setenv("PLUMBLINE_LIBCUDA", "libm.so.6", 1);
  const Result<GpuInfo> info = gpu_info();
  ASSERT_FALSE(info);
  EXPECT_THAT(info.error().text(), HasSubstr("has no cuInit"));
}

TEST_F(GpuDevice, ADriverWithoutGpuIsAnError) {
  setenv("PLUMBLINE_STAND_IN_DEVICES", "0", 1);
  const Result<GpuInfo> info = gpu_info();
  ASSERT_FALSE(info);
  EXPECT_THAT(info.error().text(), HasSubstr("there is no GPU"));
}

TEST_F(GpuDevice, LaunchesAndReadsBack) {
  Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device) << device.error().text();
  std::vector<std::byte> got;
  const Result<LaunchOutcome> outcome = run(**device, "fill", &got);
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_TRUE(outcome->findings.empty());
  EXPECT_EQ(got, std::vector<std::byte>(64, std::byte{1}));
  EXPECT_DOUBLE_EQ(outcome->elapsed_ms, 0.5);
}

TEST_F(GpuDevice, AWriteBehindTheBufferIsFoundInTheGuardBand) {
  Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const Result<LaunchOutcome> outcome = run(**device, "overrun");
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->findings.size(), 1u);
  EXPECT_EQ(outcome->findings[0].kind, FindingKind::write_outside_output);
  EXPECT_THAT(outcome->findings[0].message, HasSubstr("byte 0 of the guard band after d"));
}

TEST_F(GpuDevice, AFaultIsAFindingAndTheNextLaunchWorks) {
  Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const Result<LaunchOutcome> outcome = run(**device, "fault");
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_FALSE(outcome->completed);
  ASSERT_EQ(outcome->findings.size(), 1u);
  EXPECT_EQ(outcome->findings[0].kind, FindingKind::out_of_bounds);
  const Result<LaunchOutcome> next = run(**device, "fill");
  ASSERT_TRUE(next) << next.error().text();
  EXPECT_TRUE(next->completed);
}

TEST_F(GpuDevice, AModuleIsLoadedAgainInANewContext) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const Result<std::unique_ptr<Module>> module = (*device)->load("not really PTX", "k.ptx");
  ASSERT_TRUE((*module)->parameters("fill"));
  ASSERT_FALSE(run(**device, "fault")->completed);
  const auto again = (*module)->parameters("fill");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->size(), 2u);
}

TEST_F(GpuDevice, AnIllegalInstructionIsAFindingAndTheNextLaunchWorks) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const Result<LaunchOutcome> outcome = run(**device, "illegal");
  ASSERT_TRUE(outcome) << outcome.error().text();
  ASSERT_EQ(outcome->findings.size(), 1u);
  EXPECT_EQ(outcome->findings[0].kind, FindingKind::trap);
  EXPECT_TRUE(run(**device, "fill")->completed);
}

// What a process can lose of its GPU it has lost for good: in a process of their own.
using GpuDeviceDeathTest = GpuDevice;

TEST_F(GpuDeviceDeathTest, AFaultThatANewContextDoesNotMendEndsTheUseOfTheGpu) {
  const auto rest = [] {
    setenv("PLUMBLINE_STAND_IN_FAIL", "cuDevicePrimaryCtxReset_v2", 1);
    const Result<std::unique_ptr<Device>> device = open_gpu();
    if (!run(**device, "illegal")) std::exit(1);
    std::fputs(run(**device, "fill").error().text().c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(rest(), testing::ExitedWithCode(0), "start plumbline again");
}

TEST_F(GpuDeviceDeathTest, NothingWaitsForAKernelThatDoesNotEnd) {
  const auto rest = [] {
    Result<std::unique_ptr<Device>> device = open_gpu({.patience = std::chrono::milliseconds(10)});
    const Result<LaunchOutcome> outcome = run(**device, "hang");
    if (outcome->findings.at(0).kind != FindingKind::endless_loop) std::exit(1);
    (*device)->release_all();
    std::fputs(run(**device, "fill").error().text().c_str(), stderr);
    if (open_gpu()) std::exit(2);
    device->reset();
    std::exit(0);
  };
  EXPECT_EXIT(rest(), testing::ExitedWithCode(0), "start plumbline again");
}

TEST_F(GpuDeviceDeathTest, AnInterruptGivesUpAKernelThatDoesNotEnd) {
  const auto rest = [] {
    const std::atomic<bool> give_up{true};
    const Result<std::unique_ptr<Device>> device = open_gpu({.give_up = &give_up});
    const Result<LaunchOutcome> outcome = run(**device, "hang");
    if (outcome || !gpu_is_lost()) std::exit(1);
    std::fputs(outcome.error().text().c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(rest(), testing::ExitedWithCode(0), "hang was still running when the run was");
}

TEST_F(GpuDevice, AnInterruptWaitsForAKernelThatIsAboutToEnd) {
  const std::atomic<bool> give_up{true};
  const Result<std::unique_ptr<Device>> device = open_gpu({.give_up = &give_up});
  ASSERT_TRUE(device);
  const Result<LaunchOutcome> outcome = run(**device, "short");
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_TRUE(outcome->completed);
  EXPECT_FALSE(gpu_is_lost());
}

TEST_F(GpuDevice, AFailureWithoutACauseIsNoTrap) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const Result<LaunchOutcome> outcome = run(**device, "failed");
  ASSERT_TRUE(outcome) << outcome.error().text();
  ASSERT_EQ(outcome->findings.size(), 1u);
  EXPECT_EQ(outcome->findings[0].kind, FindingKind::device_exception);
  EXPECT_TRUE(run(**device, "fill")->completed);
}

TEST_F(GpuDevice, ACodeOutsideTheTableOfFaultsMakesANewContext) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const int before = count("contexts");
  const Result<LaunchOutcome> outcome = run(**device, "unknown");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("the kernel failed"));
  EXPECT_EQ(count("contexts"), before + 1);
  EXPECT_TRUE(run(**device, "fill")->completed);
}

TEST_F(GpuDevice, WhatTheDriverRefusesLeavesTheContext) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const int before = count("contexts");
  setenv("PLUMBLINE_STAND_IN_FAIL", "cuLaunchKernel", 1);
  EXPECT_FALSE(run(**device, "fill"));
  EXPECT_EQ(count("contexts"), before);
}

TEST_F(GpuDevice, LaunchesThatFailLeaveNoEvents) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const int before = count("events");
  for (const char* call : {"cuLaunchKernel", "cuEventRecord"}) {
    setenv("PLUMBLINE_STAND_IN_FAIL", call, 1);
    EXPECT_FALSE(run(**device, "fill")) << call;
    EXPECT_EQ(count("events"), before) << call;
  }
  unsetenv("PLUMBLINE_STAND_IN_FAIL");
  EXPECT_TRUE(run(**device, "fill"));
  EXPECT_EQ(count("events"), before);
}

TEST_F(GpuDevice, ModulesAreUnloaded) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const int before = count("modules");
  {
    const Result<std::unique_ptr<Module>> module = (*device)->load("not really PTX", "k.ptx");
    ASSERT_TRUE((*module)->parameters("fill"));
    EXPECT_EQ(count("modules"), before + 1);
  }
  EXPECT_EQ(count("modules"), before);
}

TEST_F(GpuDevice, AModuleOfAnOldContextIsNotUnloadedFromTheNewOne) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const int stale = count("stale");
  {
    const Result<std::unique_ptr<Module>> module = (*device)->load("not really PTX", "k.ptx");
    ASSERT_TRUE((*module)->parameters("fill"));
    ASSERT_FALSE(run(**device, "fault")->completed);
  }
  EXPECT_EQ(count("stale"), stale);
}

TEST_F(GpuDevice, AFaultOfOneDeviceReachesTheOthers) {
  const Result<std::unique_ptr<Device>> one = open_gpu(), other = open_gpu();
  ASSERT_TRUE(one);
  ASSERT_TRUE(other);
  const int stale = count("stale");
  const Result<std::unique_ptr<Module>> module = (*other)->load("not really PTX", "k.ptx");
  ASSERT_TRUE((*module)->parameters("fill"));
  const Result<DeviceAddress> address = (*other)->allocate(64, "d");
  ASSERT_TRUE(address);
  ASSERT_FALSE(run(**one, "fault")->completed);
  std::array<std::byte, 64> bytes{};
  const Status read = (*other)->read(*address, bytes);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text(), HasSubstr("a fault of another kernel"));
  (*other)->release_all();
  const auto again = (*module)->parameters("fill");
  EXPECT_TRUE(again) << again.error().text();
  EXPECT_TRUE(run(**other, "fill"));
  EXPECT_TRUE(run(**one, "fill"));
  EXPECT_EQ(count("stale"), stale);
}

TEST_F(GpuDevice, DevicesShareWhatTheDriverCompiled) {
  const Result<std::unique_ptr<Device>> one = open_gpu(), other = open_gpu();
  ASSERT_TRUE(one);
  ASSERT_TRUE(other);
  const int before = count("modules");
  const auto a = (*one)->load("not really PTX", "k.ptx");
  const auto b = (*other)->load("not really PTX", "k.ptx");
  const auto changed = (*other)->load("other PTX", "k.ptx");
  ASSERT_TRUE((*a)->parameters("fill"));
  ASSERT_TRUE((*b)->parameters("fill"));
  EXPECT_EQ(count("modules"), before + 1);
  ASSERT_TRUE((*changed)->parameters("fill"));
  EXPECT_EQ(count("modules"), before + 2);
}

TEST_F(GpuDevice, ThreadsTakeTurns) {
  const int stale = count("stale");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, t] {
      const Result<std::unique_ptr<Device>> device = open_gpu();
      const Result<std::unique_ptr<Module>> module = (*device)->load("not really PTX", "k.ptx");
      for (int i = 0; i < 200; ++i) {
        const bool faults = (t + i) % 5 == 0;
        const std::shared_ptr<void> turn = (*device)->turn();
        std::vector<std::byte> got;
        const Result<LaunchOutcome> outcome = run(**device, faults ? "fault" : "fill", &got);
        const bool right = outcome && outcome->completed != faults &&
                           outcome->findings.size() == (faults ? 1u : 0u) &&
                           (faults || got == std::vector<std::byte>(64, std::byte{1}));
        wrong += right ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(count("stale"), stale);
  EXPECT_EQ(count("modules"), 0);
}

TEST_F(GpuDevice, ATurnEndsWithoutMemory) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const int before = count("allocations");
  {
    const std::shared_ptr<void> turn = (*device)->turn();
    ASSERT_TRUE(run(**device, "fill"));
    EXPECT_EQ(count("allocations"), before + 1);
  }
  EXPECT_EQ(count("allocations"), before);
}

TEST_F(GpuDevice, AKernelThatNeedsAClusterIsLaunchedWithIt) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  std::vector<std::byte> got;
  const Result<LaunchOutcome> outcome = run(**device, "cluster", &got, 0, {4, 1, 1});
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(count("cluster"), 211);
  EXPECT_EQ(got, std::vector<std::byte>(64, std::byte{1}));
}

TEST_F(GpuDevice, LargeClustersAreAllowedFirst) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const Result<LaunchOutcome> outcome = run(**device, "large_cluster", nullptr, 0, {4, 4, 1});
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(count("cluster"), 441);
}

TEST_F(GpuDevice, AGridThatIsNoMultipleOfTheClusterIsRefused) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const Result<LaunchOutcome> outcome = run(**device, "cluster", nullptr, 0, {3, 1, 1});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("clusters of 2 x 1 x 1 blocks, and its grid of 3"));
}

TEST_F(GpuDevice, AClusterOfUnknownSizeIsRefused) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const Result<LaunchOutcome> outcome = run(**device, "explicit_cluster");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("has to be launched with a cluster"));
  EXPECT_THAT(outcome.error().text(), HasSubstr("__cluster_dims__"));
}

TEST_F(GpuDevice, SharedMemoryIsAskedForBesideTheKernelsOwn) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const Result<LaunchOutcome> outcome = run(**device, "fill", nullptr, 40 * 1024);
  ASSERT_TRUE(outcome) << outcome.error().text();
}

TEST_F(GpuDevice, ABrokenGuardBandIsToldOnce) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  EXPECT_EQ(run(**device, "overrun")->findings.size(), 1u);
  EXPECT_EQ(run(**device, "fill")->findings.size(), 0u);
}

class EveryCall : public GpuDevice, public testing::WithParamInterface<const char*> {};

TEST_P(EveryCall, FailsWithAnErrorThatNamesIt) {
  setenv("PLUMBLINE_STAND_IN_FAIL", GetParam(), 1);
  Result<std::unique_ptr<Device>> device = open_gpu();
  std::string message;
  if (!device) {
    message = device.error().text();
  } else {
    std::vector<std::byte> got;
    const Result<LaunchOutcome> outcome = run(**device, "fill", &got);
    ASSERT_FALSE(outcome) << GetParam() << " failed without an error";
    message = outcome.error().text();
  }
  std::string call = GetParam();
  if (call.ends_with("_v2")) call.resize(call.size() - 3);
  EXPECT_THAT(message, HasSubstr(call));
}

INSTANTIATE_TEST_SUITE_P(Driver, EveryCall,
                         testing::Values("cuInit", "cuDriverGetVersion", "cuDeviceGetCount",
                                         "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute",
                                         "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",
                                         "cuModuleLoadDataEx", "cuModuleGetFunction",
                                         "cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
                                         "cuLaunchKernel", "cuEventCreate", "cuEventRecord",
                                         "cuFuncGetAttribute"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(GpuDevice, TheJitCompilersMessageReachesTheUser) {
  setenv("PLUMBLINE_STAND_IN_FAIL", "cuModuleLoadDataEx", 1);
  Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device);
  const Result<LaunchOutcome> outcome = run(**device, "fill");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().text(), HasSubstr("k.ptx"));
  EXPECT_THAT(outcome.error().text(), HasSubstr("ptxas: line 3: no such instruction"));
}

// Tiles of 64 x 32 of a bf16 matrix.
TensorMap usual_map() {
  TensorMap map;
  map.address = 0x123450;
  map.rank = 2;
  map.dims = {4096, 1000};
  map.strides = {2, 8192};
  map.box = {64, 32};
  map.swizzle = TensorSwizzle::bytes_128;
  return map;
}

// What the stand-in's driver was asked for, as it packs it.
std::array<std::uint64_t, 16> asked(const TensorMap& map) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  if (!device) throw std::runtime_error(device.error().text());
  const Result<EncodedTensorMap> encoded = (*device)->encode(map);
  if (!encoded) throw std::runtime_error(encoded.error().text());
  return std::bit_cast<std::array<std::uint64_t, 16>>(*encoded);
}

std::string refusal(const TensorMap& map) {
  const Result<std::unique_ptr<Device>> device = open_gpu();
  if (!device) return "no device: " + device.error().text();
  const Result<EncodedTensorMap> encoded = (*device)->encode(map);
  return encoded ? "encoded" : encoded.error().text();
}

TEST_F(GpuDevice, AsksTheDriverForTheMap) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 32;
  // BFLOAT16, rank 2, no interleaving, 128B, no promotion, zeros.
  const std::array<std::uint64_t, 16> numbers = asked(usual_map());
  EXPECT_THAT(numbers, testing::ElementsAre(0x03'00'02'09, 0x123450, 4096, 1000, 0, 0, 0, 8192, 0,
                                            0, 0, kStep | 64, kStep | 32, 0, 0, 0));
  TensorMap map = usual_map();
  map.rank = 5;
  map.format = FormatId::f32;
  map.dims = {std::int64_t{1} << 32, 5, 6, 7, 8};
  map.strides = {4, 16, 32, 48, 64};
  map.box = {8, 1, 2, 3, 256};
  map.swizzle = TensorSwizzle::bytes_32;
  map.fill_nan = true;
  EXPECT_THAT(asked(map),
              testing::ElementsAre(0x01'00'01'00'05'07, 0x123450, kStep, 5, 6, 7, 8, 16, 32, 48, 64,
                                   kStep | 8, kStep | 1, kStep | 2, kStep | 3, kStep | 256));
}

TEST_F(GpuDevice, MapsHaveTheDriversNamesOfFormatsAndSwizzles) {
  const auto option = [](const TensorMap& map, int at) {
    return static_cast<int>(asked(map)[0] >> (8 * at) & 0xff);
  };
  const std::map<FormatId, int> types = {
      {FormatId::e2m1, 13}, {FormatId::e2m3, 0},  {FormatId::e3m2, 0}, {FormatId::e4m3, 0},
      {FormatId::e5m2, 0},  {FormatId::ue8m0, 0}, {FormatId::f16, 6},  {FormatId::bf16, 9},
      {FormatId::tf32, 7},  {FormatId::f32, 7},   {FormatId::f64, 8},  {FormatId::s8, 0},
      {FormatId::u8, 0},    {FormatId::s32, 3},   {FormatId::s64, 5}};
  for (const Format& format : all_formats()) {
    TensorMap map = usual_map();
    map.format = format.id;
    map.box[0] = is_packed(format.id) ? 32 : 16;
    EXPECT_EQ(option(map, 0), types.at(format.id)) << format.name;
  }
  int swizzle = 0;
  for (const int bytes : {0, 32, 64, 128}) {
    TensorMap map = usual_map();
    map.box[0] = 16;
    map.swizzle = static_cast<TensorSwizzle>(bytes);
    EXPECT_EQ(option(map, 3), swizzle++);
  }
}

TEST_F(GpuDevice, RefusesMapsInPlumblinesOwnWords) {
  TensorMap map = usual_map();
  map.strides[1] = 100;
  EXPECT_EQ(refusal(map), check_tensor_map(map).error().text());
  setenv("PLUMBLINE_STAND_IN_MAJOR", "8", 1);
  EXPECT_EQ(refusal(usual_map()), check_tensor_maps_exist(80).error().text());
}

TEST_F(GpuDevice, AMapTheDriverRefusesIsAnErrorThatNamesTheCall) {
  setenv("PLUMBLINE_STAND_IN_FAIL", "cuTensorMapEncodeTiled", 1);
  EXPECT_THAT(refusal(usual_map()), HasSubstr("cuTensorMapEncodeTiled failed"));
}

TEST_F(GpuDevice, ADriverWithoutTensorMapsRunsEverythingElse) {
  setenv("PLUMBLINE_LIBCUDA", PLUMBLINE_STAND_IN_DRIVER_WITHOUT_MAPS, 1);
  EXPECT_THAT(refusal(usual_map()), HasSubstr("the driver has no cuTensorMapEncodeTiled"));
  Result<std::unique_ptr<Device>> device = open_gpu();
  ASSERT_TRUE(device) << device.error().text();
  const Result<LaunchOutcome> outcome = run(**device, "fill");
  EXPECT_TRUE(outcome) << outcome.error().text();
}

}  // namespace
}  // namespace plumbline
