// SPDX-License-Identifier: MIT
// What driver.h and driver_codes.h restate of the driver's interface, held against cuda.h where a
// CUDA toolkit is installed.
#include "harness/gpu/driver_codes.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "harness/gpu/driver.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace plumbline {
namespace {

using namespace driver_codes;

TEST(DriverCodes, AreThoseOfTheHeader) {
  EXPECT_EQ(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(kNoJitCompiler, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_EQ(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(kNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(kAssert, CUDA_ERROR_ASSERT);
  EXPECT_EQ(kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
  EXPECT_EQ(kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_EQ(kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
  EXPECT_EQ(kInvalidPc, CUDA_ERROR_INVALID_PC);
  EXPECT_EQ(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(kMaxDynamicShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(kClusterMustBeSet, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
  EXPECT_EQ(kClusterWidth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
  EXPECT_EQ(kClusterHeight, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
  EXPECT_EQ(kClusterDepth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
  EXPECT_EQ(kLargeClusterAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  EXPECT_EQ(kClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(kJitErrorLog, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(kJitErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(reinterpret_cast<void*>(kParameterBuffer), CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(reinterpret_cast<void*>(kParameterBufferSize), CU_LAUNCH_PARAM_BUFFER_SIZE);
}

TEST(DriverLaunchConfig, LiesInMemoryAsTheHeadersDoes) {
  EXPECT_EQ(sizeof(DriverLaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(DriverLaunchConfig, grid), offsetof(CUlaunchConfig, gridDimX));
  EXPECT_EQ(offsetof(DriverLaunchConfig, block), offsetof(CUlaunchConfig, blockDimX));
  EXPECT_EQ(offsetof(DriverLaunchConfig, dynamic_shared_bytes),
            offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(DriverLaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(DriverLaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(DriverLaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(sizeof(DriverLaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(DriverLaunchAttribute, value), offsetof(CUlaunchAttribute, value));
}

}  // namespace
}  // namespace plumbline

#else

TEST(DriverCodes, AreThoseOfTheHeader) { GTEST_SKIP() << "no cuda.h here"; }

#endif
