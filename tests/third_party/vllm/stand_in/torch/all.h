// SPDX-License-Identifier: MIT
// As much of PyTorch as vLLM's kernels for one row a block name: their number formats, with
// PyTorch's arithmetic (each operation in f32, rounded to nearest even), and what the host code
// around them needs to be compiled. None of it runs.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cub/cub.cuh>
#include <cuda/functional>
#include <limits>
#include <optional>

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_ALWAYS_INLINE __forceinline__
#define TORCH_CHECK(...)
#define AT_DISPATCH_CASE(...)
#define AT_PRIVATE_CASE_TYPE_USING_HINT(...)
#define AT_DISPATCH_SWITCH(...)

// Of CUB before CUDA 13.
namespace cub {
using Sum = ::cuda::std::plus<>;
using Max = ::cuda::maximum<>;
}  // namespace cub

namespace c10 {

template <typename Storage>
struct Rounded {
  Storage value;

  Rounded() = default;

  __host__ __device__ Rounded(float x) : value(x) {}

  __host__ __device__ operator float() const { return static_cast<float>(value); }
};

struct Half : Rounded<__half> {
  using Rounded::Rounded;
};

struct BFloat16 : Rounded<__nv_bfloat16> {
  using Rounded::Rounded;
};

__host__ __device__ inline BFloat16 operator*(const BFloat16& a, const BFloat16& b) {
  return static_cast<float>(a) * static_cast<float>(b);
}

__host__ __device__ inline BFloat16& operator+=(BFloat16& a, const BFloat16& b) {
  return a = static_cast<float>(a) + static_cast<float>(b);
}

struct Float8_e4m3fn {
  std::uint8_t x;

  struct from_bits_t {};

  static constexpr from_bits_t from_bits() { return {}; }

  Float8_e4m3fn() = default;

  __host__ __device__ constexpr Float8_e4m3fn(std::uint8_t bits, from_bits_t) : x(bits) {}

  __host__ __device__ Float8_e4m3fn(float value)
      : x(__nv_cvt_float_to_fp8(value, __NV_NOSAT, __NV_E4M3)) {}

  // 448 is all that is ever asked for at compile time.
  __host__ __device__ constexpr operator float() const { return 448.0f; }
};

struct Float8_e4m3fnuz : Float8_e4m3fn {
  using Float8_e4m3fn::Float8_e4m3fn;
};

}  // namespace c10

template <>
struct std::numeric_limits<c10::Float8_e4m3fn> {
  static constexpr c10::Float8_e4m3fn max() { return {0x7e, c10::Float8_e4m3fn::from_bits()}; }
};

namespace at {
enum class ScalarType { Float, Half, BFloat16, Char, Float8_e4m3fn };
}  // namespace at

namespace torch {

struct Tensor {
  int size(int) const { return 1; }

  int numel() const { return 1; }

  int stride(int) const { return 1; }

  bool is_contiguous() const { return true; }

  at::ScalarType scalar_type() const { return {}; }

  at::ScalarType dtype() const { return {}; }

  template <typename T = void>
  T* data_ptr() const {
    return nullptr;
  }
};

}  // namespace torch

namespace at {
using torch::Tensor;

namespace cuda {
struct OptionalCUDAGuard {
  template <typename T>
  explicit OptionalCUDAGuard(const T&) {}
};

inline cudaStream_t getCurrentCUDAStream() { return nullptr; }
}  // namespace cuda
}  // namespace at

inline int device_of(const torch::Tensor&) { return 0; }
