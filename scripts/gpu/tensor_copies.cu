// SPDX-License-Identifier: MIT
// Which bytes a tensor copy (TMA) writes where its box ends outside the tensor, and what it gives
// for elements outside. A line per element size, number of elements in a row, and direction:
//   store 2 bytes n=3 swizzle=0 x=0: row 0 changed 0-15 6-15=0708090a0b0c0d0e0f10
// that is, bytes 0 to 15 were written, of which 6 to 15 are outside the tensor, with these values.
// Usage: tensor_copies store|or|load X, where X is the byte of a row that the box begins
// at. A copy that the chip refuses ends the process.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.cuh"

namespace {

constexpr int kRows = 4, kRowBytes = 64;  // of the box, and of the tensor's stride
constexpr std::uint8_t kBefore = 0xcb;

__device__ std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

// Byte b of row r of the box is 16 r + b % 16 + 1 where nothing is swizzled.
__global__ void store(const __grid_constant__ CUtensorMap map, int x, int y, int reduce) {
  __shared__ alignas(1024) std::uint8_t tile[kRows * kRowBytes];
  for (int i = threadIdx.x; i < kRows * kRowBytes; i += blockDim.x)
    tile[i] = static_cast<std::uint8_t>(i / kRowBytes * 64 + i % kRowBytes + 1);
  __syncthreads();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0) {
    const auto from = shared_address(tile);
    if (reduce) {
      asm volatile(
          "cp.reduce.async.bulk.tensor.2d.global.shared::cta.or.bulk_group [%0, {%1, %2}], [%3];" ::
              "l"(&map),
          "r"(x), "r"(y), "r"(from)
          : "memory");
    } else {
      asm volatile(
          "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
          "r"(x), "r"(y), "r"(from)
          : "memory");
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

__global__ void load(const __grid_constant__ CUtensorMap map, int x, int y, std::uint8_t* out) {
  __shared__ alignas(1024) std::uint8_t tile[kRows * kRowBytes];
  __shared__ alignas(8) std::uint64_t barrier;
  for (int i = threadIdx.x; i < kRows * kRowBytes; i += blockDim.x) tile[i] = 0xee;
  const auto at = shared_address(&barrier);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at),
                 "r"(kRows * kRowBytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
        "%3}], [%4];" ::"r"(shared_address(tile)),
        "l"(&map), "r"(x), "r"(y), "r"(at)
        : "memory");
    std::uint32_t done = 0;
    while (!done) {
      asm volatile(
          "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, "
          "p;}"
          : "=r"(done)
          : "r"(at)
          : "memory");
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kRows * kRowBytes; i += blockDim.x) out[i] = tile[i];
}

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                            CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                            CUtensorMapFloatOOBfill);

Encode encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                         cudaEnableDefault, &found));
  return reinterpret_cast<Encode>(function);
}

// Bytes [from, to) of `row` as a range with its values in hexadecimal.
void print_range(const std::uint8_t* row, int from, int to) {
  std::printf(" %d-%d=", from, to - 1);
  for (int i = from; i < to; ++i) std::printf("%02x", row[i]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc == 3 ? argv[1] : "";
  if (name != "store" && name != "or" && name != "load") {
    std::fprintf(stderr, "usage: tensor_copies store|or|load X\n");
    return 2;
  }
  const bool load_box = name == "load", bits = name == "or";
  const int at = std::atoi(argv[2]);
  const Encode encode = encoder();
  std::uint8_t *memory = nullptr, *out = nullptr;
  constexpr int kBytes = (kRows + 2) * kRowBytes;
  CHECK(cudaMalloc(&memory, kBytes));
  CHECK(cudaMalloc(&out, kRows * kRowBytes));

  struct Type {
    CUtensorMapDataType type;
    int size;
  };

  for (const Type type :
       {Type{CU_TENSOR_MAP_DATA_TYPE_UINT8, 1}, Type{CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2},
        Type{CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4}, Type{CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8}}) {
    for (const int swizzle : {0, 2}) {
      for (int n = 1; n * type.size <= 36; ++n) {
        if ((bits && type.size != 4) || at % type.size != 0) continue;
        const int x = at / type.size;
        CUtensorMap map;
        const cuuint64_t dims[2] = {static_cast<cuuint64_t>(n), kRows - 1};
        const cuuint64_t strides[1] = {kRowBytes};
        const cuuint32_t box[2] = {static_cast<cuuint32_t>(kRowBytes / type.size), kRows},
                         steps[2] = {1, 1};
        const CUresult code = encode(
            &map, bits ? CU_TENSOR_MAP_DATA_TYPE_UINT32 : type.type, 2, memory, dims, strides, box,
            steps, CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(swizzle),
            CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        if (code != CUDA_SUCCESS) {
          std::printf("%d bytes n=%d: encode gives %d\n", type.size, n, code);
          continue;
        }
        std::vector<std::uint8_t> host(kBytes, bits ? 0 : kBefore);
        if (load_box)
          for (int i = 0; i < kBytes; ++i)
            host[i] = static_cast<std::uint8_t>(i / kRowBytes * 64 + i % kRowBytes + 1);
        CHECK(cudaMemcpy(memory, host.data(), kBytes, cudaMemcpyHostToDevice));
        if (load_box) {
          load<<<1, 32>>>(map, x, 0, out);
        } else {
          store<<<1, 32>>>(map, x, 0, bits);
        }
        CHECK(cudaDeviceSynchronize());
        std::vector<std::uint8_t> after(kBytes);
        std::printf("%s %d bytes n=%d swizzle=%d x=%d:", name.c_str(), type.size, n, swizzle, x);
        if (load_box) {
          CHECK(cudaMemcpy(after.data(), out, kRows * kRowBytes, cudaMemcpyDeviceToHost));
          print_range(after.data(), 0, 48);
          if (std::memcmp(after.data() + 3 * kRowBytes, std::vector<std::uint8_t>(kRowBytes).data(),
                          kRowBytes) != 0)
            std::printf(" row 3 is not zero");
        } else {
          CHECK(cudaMemcpy(after.data(), memory, kBytes, cudaMemcpyDeviceToHost));
          for (int row = 0; row < kRows + 2; ++row) {
            int last = -1, first = kRowBytes;
            for (int i = 0; i < kRowBytes; ++i) {
              if (after[row * kRowBytes + i] == host[row * kRowBytes + i]) continue;
              last = i;
              if (first == kRowBytes) first = i;
            }
            if (last < 0) continue;
            if (row != 0 && row != 2 && row < kRows - 1) continue;
            std::printf(" row %d changed %d-%d", row, first, last);
            if (last >= n * type.size)
              print_range(after.data() + row * kRowBytes, n * type.size, last + 1);
          }
        }
        std::printf("\n");
        std::fflush(stdout);
      }
    }
  }
  CHECK(cudaFree(memory));
  CHECK(cudaFree(out));
  return 0;
}
