// SPDX-License-Identifier: MIT
// As much of PyTorch as the host code around SageAttention's kernels names. None of it runs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <vector>

#define TORCH_CHECK(...)

namespace at {
enum class ScalarType { Half, BFloat16 };
std::ostream& operator<<(std::ostream&, ScalarType);
}  // namespace at

namespace torch {
enum Dtype { kFloat32 };

struct Options {
  Options dtype(Dtype) const;
};

struct Tensor {
  Options options() const;
  int size(int) const;
  int stride(int) const;
  at::ScalarType scalar_type() const;
  void* data_ptr() const;
  template <typename T>
  T* data_ptr() const;
};

Tensor empty(std::vector<int>, Options = {});
}  // namespace torch
