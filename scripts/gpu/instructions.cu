// SPDX-License-Identifier: MIT
// Runs matrix instructions on fragments that instruction_inputs (tests/oracles/models) wrote: one
// file per instruction, each row the words of a, b and c, register by register, 32 lanes each.
// Writes the rows with d behind them. wgmma takes A from registers, and all four warps the same.
// Usage: instructions IN OUT

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "check.cuh"

namespace {

using Word = std::uint32_t;

// D = A * B + C with registers w[0..] in and d[0..] out.
#define D4 "{%0,%1,%2,%3}"
#define D2 "{%0,%1}"
#define OUT4 "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
#define OUT2 "+r"(d[0]), "+r"(d[1])

#define MMA(name, na, nb, nd, text)                                                            \
  struct name {                                                                                \
    static constexpr int kA = na, kB = nb, kD = nd, kThreads = 32;                             \
    static __device__ void run(Word* d, const Word* a, const Word* b, std::uint64_t) { text; } \
  }

#define MMA_A4_B2_D4(name, instruction)                                                       \
  MMA(name, 4, 2, 4,                                                                          \
      asm volatile(instruction " " D4 ", {%4,%5,%6,%7}, {%8,%9}, " D4 ";" : OUT4 : "r"(a[0]), \
                   "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])))
#define MMA_A4_B2_D2(name, instruction)                                                       \
  MMA(name, 4, 2, 2,                                                                          \
      asm volatile(instruction " " D2 ", {%2,%3,%4,%5}, {%6,%7}, " D2 ";" : OUT2 : "r"(a[0]), \
                   "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])))
#define MMA_A2_B1_D4(name, instruction)                                                         \
  MMA(name, 2, 1, 4,                                                                            \
      asm volatile(instruction " " D4 ", {%4,%5}, {%6}, " D4 ";" : OUT4 : "r"(a[0]), "r"(a[1]), \
                   "r"(b[0])))
#define MMA_A2_B1_D2(name, instruction)                                                         \
  MMA(name, 2, 1, 2,                                                                            \
      asm volatile(instruction " " D2 ", {%2,%3}, {%4}, " D2 ";" : OUT2 : "r"(a[0]), "r"(a[1]), \
                   "r"(b[0])))

#define WGMMA(name, nd, text)                                                          \
  struct name {                                                                        \
    static constexpr int kA = 4, kB = 2, kD = nd, kThreads = 128;                      \
    static __device__ void run(Word* d, const Word* a, const Word*, std::uint64_t b) { \
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                          \
      text;                                                                            \
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                   \
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                   \
    }                                                                                  \
  }
#define A_AND_B "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
// `end`: the scales, and for 16-bit operands the transposition of B.
#define WGMMA_D4(name, instruction, end)                                       \
  WGMMA(name, 4,                                                               \
        asm volatile("{.reg .pred p; setp.eq.u32 p, 0, 0; " instruction " " D4 \
                     ", {%4,%5,%6,%7}, %8, p" end ";}" : OUT4 : A_AND_B))
#define WGMMA_D2(name, instruction, end)                                       \
  WGMMA(name, 2,                                                               \
        asm volatile("{.reg .pred p; setp.eq.u32 p, 0, 0; " instruction " " D2 \
                     ", {%2,%3,%4,%5}, %6, p" end ";}" : OUT2 : A_AND_B))

#define M "mma.sync.aligned.m16n8"
MMA_A4_B2_D4(bf16_k16, M "k16.row.col.f32.bf16.bf16.f32");
MMA_A2_B1_D4(bf16_k8, M "k8.row.col.f32.bf16.bf16.f32");
MMA_A4_B2_D4(f16_k16, M "k16.row.col.f32.f16.f16.f32");
MMA_A2_B1_D4(f16_k8, M "k8.row.col.f32.f16.f16.f32");
MMA_A4_B2_D2(f16_to_f16_k16, M "k16.row.col.f16.f16.f16.f16");
MMA_A2_B1_D2(f16_to_f16_k8, M "k8.row.col.f16.f16.f16.f16");
MMA_A4_B2_D4(tf32_k8, M "k8.row.col.f32.tf32.tf32.f32");
MMA_A2_B1_D4(tf32_k4, M "k4.row.col.f32.tf32.tf32.f32");
MMA_A4_B2_D4(e4m3_k32, M "k32.row.col.f32.e4m3.e4m3.f32");
MMA_A4_B2_D4(e5m2_k32, M "k32.row.col.f32.e5m2.e5m2.f32");
MMA_A4_B2_D4(e4m3_e5m2_k32, M "k32.row.col.f32.e4m3.e5m2.f32");
MMA_A4_B2_D4(e5m2_e4m3_k32, M "k32.row.col.f32.e5m2.e4m3.f32");
MMA_A4_B2_D2(e4m3_to_f16_k32, M "k32.row.col.f16.e4m3.e4m3.f16");
MMA_A4_B2_D2(e5m2_to_f16_k32, M "k32.row.col.f16.e5m2.e5m2.f16");
MMA_A2_B1_D4(e4m3_k16, M "k16.row.col.f32.e4m3.e4m3.f32");
MMA_A2_B1_D4(e5m2_k16, M "k16.row.col.f32.e5m2.e5m2.f32");
MMA_A2_B1_D2(e4m3_to_f16_k16, M "k16.row.col.f16.e4m3.e4m3.f16");
MMA_A4_B2_D4(s8_s8_k32, M "k32.row.col.s32.s8.s8.s32");
MMA_A4_B2_D4(s8_u8_k32, M "k32.row.col.s32.s8.u8.s32");
MMA_A4_B2_D4(u8_s8_k32, M "k32.row.col.s32.u8.s8.s32");
MMA_A4_B2_D4(u8_u8_k32, M "k32.row.col.s32.u8.u8.s32");
MMA_A4_B2_D4(s8_s8_satfinite_k32, M "k32.row.col.satfinite.s32.s8.s8.s32");
MMA_A4_B2_D4(u8_u8_satfinite_k32, M "k32.row.col.satfinite.s32.u8.u8.s32");
MMA_A2_B1_D4(s8_s8_k16, M "k16.row.col.s32.s8.s8.s32");
MMA_A2_B1_D4(s8_s8_satfinite_k16, M "k16.row.col.satfinite.s32.s8.s8.s32");

#define W "wgmma.mma_async.sync.aligned.m64n8"
#define HALF ", 1, 1, 0"
#define FLOAT ", 1, 1"
WGMMA_D4(wgmma_bf16_k16, W "k16.f32.bf16.bf16", HALF);
WGMMA_D4(wgmma_f16_k16, W "k16.f32.f16.f16", HALF);
WGMMA_D2(wgmma_f16_to_f16_k16, W "k16.f16.f16.f16", HALF);
WGMMA_D4(wgmma_tf32_k8, W "k8.f32.tf32.tf32", FLOAT);
WGMMA_D4(wgmma_e4m3_k32, W "k32.f32.e4m3.e4m3", FLOAT);
WGMMA_D4(wgmma_e5m2_k32, W "k32.f32.e5m2.e5m2", FLOAT);
WGMMA_D4(wgmma_e4m3_e5m2_k32, W "k32.f32.e4m3.e5m2", FLOAT);
WGMMA_D4(wgmma_e5m2_e4m3_k32, W "k32.f32.e5m2.e4m3", FLOAT);
WGMMA_D2(wgmma_e4m3_to_f16_k32, W "k32.f16.e4m3.e4m3", FLOAT);
WGMMA_D2(wgmma_e5m2_to_f16_k32, W "k32.f16.e5m2.e5m2", FLOAT);
WGMMA_D4(wgmma_s8_s8_k32, W "k32.s32.s8.s8", "");
WGMMA_D4(wgmma_u8_u8_k32, W "k32.s32.u8.u8", "");
WGMMA_D4(wgmma_s8_u8_k32, W "k32.s32.s8.u8", "");

template <typename I>
__global__ void run(const Word* in, Word* out) {
  __shared__ alignas(128) Word tile[64];
  constexpr int kRow = 32 * (I::kA + I::kB + I::kD);
  const Word* row = in + blockIdx.x * kRow;
  const int lane = threadIdx.x % 32;
  Word a[4] = {}, b[2] = {}, d[4] = {};
  for (int r = 0; r < I::kA; ++r) a[r] = row[32 * r + lane];
  for (int r = 0; r < I::kB; ++r) b[r] = row[32 * (I::kA + r) + lane];
  for (int r = 0; r < I::kD; ++r) d[r] = row[32 * (I::kA + I::kB + r) + lane];
  // Two core matrices of 8 columns by 16 bytes of k, 128 bytes apart.
  std::uint64_t descriptor = 0;
  if constexpr (I::kThreads == 128) {
    if (threadIdx.x < 32)
      for (int r = 0; r < 2; ++r) tile[32 * r + 4 * (lane / 4) + lane % 4] = b[r];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const auto at = static_cast<std::uint64_t>(__cvta_generic_to_shared(tile));
    descriptor =
        (at & 0x3ffff) >> 4 | std::uint64_t{128 >> 4} << 16 | std::uint64_t{256 >> 4} << 32;
  }
  I::run(d, a, b, descriptor);
  if (threadIdx.x < 32)
    for (int r = 0; r < I::kD; ++r) out[(blockIdx.x * I::kD + r) * 32 + lane] = d[r];
}

template <typename I>
void all_rows(const char* name, const std::string& from, const std::string& to) {
  std::ifstream file(from + "/" + name + ".bin", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t kIn = 32 * (I::kA + I::kB + I::kD), kOut = 32 * I::kD;
  const std::size_t rows = bytes.size() / (4 * kIn);
  if (rows == 0) {
    std::printf("%s: no inputs\n", name);
    return;
  }
  Word *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, 4 * kIn * rows));
  CHECK(cudaMalloc(&out, 4 * kOut * rows));
  CHECK(cudaMemcpy(in, bytes.data(), 4 * kIn * rows, cudaMemcpyHostToDevice));
  run<I><<<static_cast<unsigned>(rows), I::kThreads>>>(in, out);
  std::vector<Word> d(kOut * rows);
  CHECK(cudaMemcpy(d.data(), out, 4 * kOut * rows, cudaMemcpyDeviceToHost));
  std::ofstream result(to + "/" + name + ".bin", std::ios::binary);
  for (std::size_t row = 0; row < rows; ++row) {
    result.write(bytes.data() + 4 * kIn * row, 4 * kIn);
    result.write(reinterpret_cast<const char*>(d.data() + kOut * row), 4 * kOut);
  }
  std::printf("%s: %zu rows\n", name, rows);
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: instructions IN OUT\n");
    return 2;
  }
#define ALL(name) all_rows<name>(#name, argv[1], argv[2])
  ALL(bf16_k16);
  ALL(bf16_k8);
  ALL(f16_k16);
  ALL(f16_k8);
  ALL(f16_to_f16_k16);
  ALL(f16_to_f16_k8);
  ALL(tf32_k8);
  ALL(tf32_k4);
  ALL(e4m3_k32);
  ALL(e5m2_k32);
  ALL(e4m3_e5m2_k32);
  ALL(e5m2_e4m3_k32);
  ALL(e4m3_to_f16_k32);
  ALL(e5m2_to_f16_k32);
  ALL(e4m3_k16);
  ALL(e5m2_k16);
  ALL(e4m3_to_f16_k16);
  ALL(s8_s8_k32);
  ALL(s8_u8_k32);
  ALL(u8_s8_k32);
  ALL(u8_u8_k32);
  ALL(s8_s8_satfinite_k32);
  ALL(u8_u8_satfinite_k32);
  ALL(s8_s8_k16);
  ALL(s8_s8_satfinite_k16);
  ALL(wgmma_bf16_k16);
  ALL(wgmma_f16_k16);
  ALL(wgmma_f16_to_f16_k16);
  ALL(wgmma_tf32_k8);
  ALL(wgmma_e4m3_k32);
  ALL(wgmma_e5m2_k32);
  ALL(wgmma_e4m3_e5m2_k32);
  ALL(wgmma_e5m2_e4m3_k32);
  ALL(wgmma_e4m3_to_f16_k32);
  ALL(wgmma_e5m2_to_f16_k32);
  ALL(wgmma_s8_s8_k32);
  ALL(wgmma_u8_u8_k32);
  ALL(wgmma_s8_u8_k32);
  return 0;
}
