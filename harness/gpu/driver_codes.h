// SPDX-License-Identifier: MIT
// Numbers of the CUDA driver interface (cuda.h) that plumbline uses. A test holds them against the
// header where there is one.
#pragma once

#include <cstdint>

namespace plumbline::driver_codes {

// CUresult.
constexpr int kInvalidValue = 1, kOutOfMemory = 2;
constexpr int kNoBinaryForGpu = 209, kNoJitCompiler = 221;
constexpr int kUnsupportedPtxVersion = 222;
constexpr int kNotReady = 600;
constexpr int kIllegalAddress = 700, kLaunchTimeout = 702, kAssert = 710;
constexpr int kHardwareStackError = 714, kIllegalInstruction = 715, kMisalignedAddress = 716;
constexpr int kInvalidAddressSpace = 717, kInvalidPc = 718, kLaunchFailed = 719;

// CUdevice_attribute.
constexpr int kComputeMajor = 75, kComputeMinor = 76;

// CUfunction_attribute.
constexpr int kMaxDynamicShared = 8, kClusterMustBeSet = 10;
constexpr int kClusterWidth = 11, kClusterHeight = 12, kClusterDepth = 13;
constexpr int kLargeClusterAllowed = 14;

// CUlaunchAttributeID.
constexpr int kClusterDimension = 4;

// The `extra` of a launch: pairs of a kind and a pointer, up to a null pointer.
constexpr std::uintptr_t kParameterBuffer = 1, kParameterBufferSize = 2;

// CUjit_option: the buffer for the JIT compiler's message.
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;

}  // namespace plumbline::driver_codes
