// SPDX-License-Identifier: MIT
// The GPU device against a stand-in driver: every call fails in turn, and every failure is an error
// that names it.
#include "harness/gpu/gpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace plumbline {
namespace {

using ::testing::HasSubstr;

class GpuDevice : public testing::Test {
 protected:
  void SetUp() override { setenv("PLUMBLINE_LIBCUDA", PLUMBLINE_STAND_IN_DRIVER, 1); }

  void TearDown() override {
    for (const char* name :
         {"PLUMBLINE_LIBCUDA", "PLUMBLINE_STAND_IN_FAIL", "PLUMBLINE_STAND_IN_DEVICES"})
      unsetenv(name);
  }

  // Allocates 64 bytes and launches an entry that fills them.
  static Result<LaunchOutcome> run(Device& device, const char* entry,
                                   std::vector<std::byte>* got = nullptr) {
    const Result<std::unique_ptr<Module>> module = device.load("not really PTX", "k.ptx");
    if (!module) return module.error();
    const Result<DeviceAddress> address = device.allocate(64, "d");
    if (!address) return address.error();
    const std::vector<std::byte> poison(64, std::byte{0xa5});
    const Status poisoned = device.poison(*address, poison);
    if (!poisoned) return poisoned.error();
    LaunchRequest request;
    request.entry = entry;
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
};

TEST_F(GpuDevice, SaysWhatTheGpuIs) {
  const Result<GpuInfo> info = gpu_info();
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->name, "Stand-in GPU");
  EXPECT_EQ(info->sm, 90);
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
    ASSERT_FALSE(outcome) << GetParam() << " failed and nobody noticed";
    message = outcome.error().text();
  }
  std::string call = GetParam();
  if (call.ends_with("_v2")) call.resize(call.size() - 3);
  EXPECT_THAT(message, HasSubstr(call));
}

INSTANTIATE_TEST_SUITE_P(Driver, EveryCall,
                         testing::Values("cuInit", "cuDriverGetVersion", "cuDeviceGetCount",
                                         "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute",
                                         "cuDeviceTotalMem_v2", "cuDevicePrimaryCtxRetain",
                                         "cuCtxSetCurrent", "cuModuleLoadDataEx",
                                         "cuModuleGetFunction", "cuMemAlloc_v2", "cuMemcpyHtoD_v2",
                                         "cuMemcpyDtoH_v2", "cuLaunchKernel", "cuEventCreate"),
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

}  // namespace
}  // namespace plumbline
