// SPDX-License-Identifier: MIT
// gemm_bf16: D = relu(alpha * A * B + beta * C + bias) on bf16 tensor cores, for any M, N, K and
// all four operand layouts.
//
// One thread block computes a 128x128 tile of D with 8 warps, each a 64x32 part of it, in steps of
// 32 along k:
//
//             n 0    32    64    96   128    Tiles of A and B pass through a ring of three 16 KiB
//        m 0  +-----+-----+-----+-----+      stages in shared memory: cp.async fills the stage two
//             | w0  | w2  | w4  | w6  |      steps ahead while mma.sync reads the current one.
//         64  +-----+-----+-----+-----+      Chunks of 16 bytes are XOR-swizzled so that neither
//             | w1  | w3  | w5  | w7  |      cp.async nor ldmatrix meets a bank conflict.
//        128  +-----+-----+-----+-----+
//
// The accumulation order is what the contract in gemm_bf16.toml says: one f32 accumulator per
// output, k increasing, one m16n8k16 at a time. The epilogue uses explicit roundings only (and the
// file is compiled with -fmad=false), so the PTX fixes every bit. Needs sm_80 or later and no
// headers: nvcc and NVRTC both compile it.

namespace {

using Bits16 = unsigned short;
using Bits32 = unsigned int;
using Address =
    unsigned long long;  // of global memory; wraps without harm where it is never dereferenced

constexpr int kTileM = 128, kTileN = 128, kTileK = 32;
constexpr int kThreads = 256;
constexpr int kStages = 3;
constexpr Bits32 kOperandBytes = kTileM * kTileK * 2;  // one operand's part of a stage
constexpr Bits32 kStageBytes = 2 * kOperandBytes;      // A, then B
constexpr int kChunkBytes = 16,
              kChunkElements = 8;  // the unit of cp.async, ldmatrix rows and swizzling

enum BiasKind { kBiasNone = 0, kBiasPerRow = 1, kBiasPerColumn = 2 };

// ---- instructions -------------------------------------------------------------------------------

// Copies `bytes` (0..16) and fills the rest of the 16 bytes with zeros; nothing is read past
// `bytes`.
__device__ __forceinline__ void cp_async(Bits32 shared, Address global, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

template <bool kTransposed, int kOffset>
__device__ __forceinline__ void ldmatrix(Bits32 (&r)[4], Bits32 shared) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4+%5];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared), "n"(kOffset)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4+%5];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared), "n"(kOffset)
                 : "memory");
  }
}

__device__ __forceinline__ void mma(float (&d)[4], const Bits32 (&a)[4], Bits32 b0, Bits32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// ---- global memory to a stage -------------------------------------------------------------------

// One thread's share of filling one operand's tile: two chunks of 8 elements per step of k.
// `kAlongK`: k is the contiguous dimension in memory (A 'n', B 't'); the tile is then [128][32], 4
// chunks a row, else [32][128], 16 chunks a row.
template <bool kAlongK>
struct TileLoader {
  Address source[2];   // of this thread's chunks in the next step of k
  Address step;        // from one step of k to the next, in bytes
  int limit[2];        // valid bytes of the chunks, as far as m or n decides
  int k_offset;        // along k: bytes of k before this chunk; across: rows of k before the first
  Bits32 destination;  // of the first chunk within the operand's part of a stage
  bool aligned;        // 16-byte accesses are possible

  // `operand`: the matrix of this batch; `origin`: first row or column of the tile; `extent`: how
  // many are left (> 0).
  __device__ __forceinline__ TileLoader(Address operand, long long leading, int origin, int extent,
                                        int k, int thread) {
    const Address row_bytes = static_cast<Address>(leading) * 2;
    aligned = (operand | row_bytes) % kChunkBytes == 0;
    if constexpr (kAlongK) {
      const int row = thread / 4, chunk = thread % 4;
      k_offset = chunk * kChunkBytes;
      destination = row * 64 + (chunk ^ ((row >> 1) & 3)) * kChunkBytes;
      step = kTileK * 2;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        // Rows past the end read nothing, but their address stays inside the matrix.
        const int clamped = min(row + 64 * i, extent - 1);
        source[i] = operand + (static_cast<Address>(origin) + clamped) * row_bytes + k_offset;
        limit[i] = row + 64 * i < extent ? kChunkBytes : 0;
      }
    } else {
      const int row = thread / 16, chunk = thread % 16;
      k_offset = row;
      destination = row * 256 + (chunk ^ (row & 7)) * kChunkBytes;
      step = kTileK * row_bytes;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int clamped = min(row + 16 * i, k - 1);
        source[i] = operand + clamped * row_bytes +
                    (static_cast<Address>(origin) + chunk * kChunkElements) * 2;
        limit[i] = min(max(extent - chunk * kChunkElements, 0) * 2, kChunkBytes);
      }
    }
  }

  // Fills one stage with the next step of k, of which `k_left` (1..32) columns or rows exist; the
  // rest becomes zero.
  __device__ __forceinline__ void load(Bits32 stage, int k_left) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int bytes;
      if constexpr (kAlongK) {
        bytes = min(max(k_left * 2 - k_offset, 0), limit[i]);
      } else {
        bytes = k_offset + 16 * i < k_left ? limit[i] : 0;
      }
      const Bits32 to = stage + destination + i * (kOperandBytes / 2);
      if (aligned) {
        cp_async(to, source[i], bytes);
      } else {
        copy_elements(to, source[i], bytes);
      }
      source[i] += step;
    }
  }

  // The same by single elements, for bases and leading dimensions that rule out 16-byte accesses.
  __device__ __forceinline__ static void copy_elements(Bits32 to, Address from, int bytes) {
    Bits32 words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Bits32 low = 4 * i < bytes ? element(from + 4 * i) : 0;
      const Bits32 high = 4 * i + 2 < bytes ? element(from + 4 * i + 2) : 0;
      words[i] = low | high << 16;
    }
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]),
                 "r"(words[2]), "r"(words[3])
                 : "memory");
  }

  __device__ __forceinline__ static Bits32 element(Address from) {
    return *static_cast<const Bits16*>(__cvta_global_to_generic(from));
  }
};

// ---- a stage to mma fragments -------------------------------------------------------------------

// Where one lane's ldmatrix rows lie in an operand's part of a stage. Along k a second address
// serves the second half of the step; across k there is one address per 16 columns: that is all the
// swizzle leaves variable. `kRowBit`, `kKBit`: which bit of the matrix number (lane / 8) selects
// the upper 8 rows, and which the upper 8 of k.
template <bool kAlongK, int kParts, int kRowBit, int kKBit>
struct FragmentReader {
  static constexpr int kAddresses = kAlongK ? 2 : kParts;
  Bits32 offset[kAddresses];

  __device__ __forceinline__ FragmentReader(int first_row, int lane) {
    const int matrix = lane / 8;
    const int upper_row = (matrix >> kRowBit) & 1, upper_k = (matrix >> kKBit) & 1;
    if constexpr (kAlongK) {
      const int row = first_row + lane % 8 + 8 * upper_row;
      offset[0] = row * 64 + (upper_k ^ ((row >> 1) & 3)) * kChunkBytes;
      offset[1] = offset[0] ^ 32;
    } else {
      const int k = lane % 8 + 8 * upper_k;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const int chunk = first_row / 8 + 2 * part + upper_row;
        offset[part] = k * 256 + (chunk ^ (lane % 8)) * kChunkBytes;
      }
    }
  }

  // Rows 16 * kPart .. 16 * kPart + 15 of this warp, k 16 * kHalf .. 16 * kHalf + 15 of the stage.
  template <int kPart, int kHalf>
  __device__ __forceinline__ void read(Bits32 (&fragment)[4], Bits32 stage) const {
    if constexpr (kAlongK) {
      ldmatrix<false, kPart * 1024>(fragment, stage + offset[kHalf]);
    } else {
      ldmatrix<true, kHalf * 4096>(fragment, stage + offset[kPart]);
    }
  }
};

// Fragment a of m16n8k16: matrices are (rows 0-7, k 0-7), (rows 8-15, k 0-7), (rows 0-7, k 8-15),
// (rows 8-15, k 8-15).
template <bool kAlongK>
using ReaderA = FragmentReader<kAlongK, 4, 0, 1>;
// Two fragments b at once: (columns 0-7, k 0-7), (columns 0-7, k 8-15), (columns 8-15, k 0-7),
// (columns 8-15, k 8-15).
template <bool kAlongK>
using ReaderB = FragmentReader<kAlongK, 2, 1, 0>;

// 16 of k for the warp's 64x32 part: 6 ldmatrix, 16 mma.
template <int kHalf, typename A, typename B>
__device__ __forceinline__ void multiply_half(float (&sum)[4][4][4], const A& reader_a,
                                              const B& reader_b, Bits32 stage) {
  Bits32 a[4][4], b[2][4];
  reader_b.template read<0, kHalf>(b[0], stage + kOperandBytes);
  reader_b.template read<1, kHalf>(b[1], stage + kOperandBytes);
  reader_a.template read<0, kHalf>(a[0], stage);
  reader_a.template read<1, kHalf>(a[1], stage);
  reader_a.template read<2, kHalf>(a[2], stage);
  reader_a.template read<3, kHalf>(a[3], stage);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) mma(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}

// ---- the formats of C and D ---------------------------------------------------------------------

struct OutBf16 {
  using Stored = Bits16;

  __device__ __forceinline__ static float load(const Stored* from) {
    return __uint_as_float(static_cast<Bits32>(*from) << 16);
  }

  __device__ __forceinline__ static void store(Stored* to, float x) {
    Bits16 rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(x));
    *to = rounded;
  }

  __device__ __forceinline__ static void store_pair(Stored* to, float x0, float x1) {
    Bits32 rounded;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(rounded) : "f"(x1), "f"(x0));
    *reinterpret_cast<Bits32*>(to) = rounded;
  }
};

struct OutF32 {
  using Stored = float;

  __device__ __forceinline__ static float load(const Stored* from) { return *from; }

  __device__ __forceinline__ static void store(Stored* to, float x) { *to = x; }

  __device__ __forceinline__ static void store_pair(Stored* to, float x0, float x1) {
    *reinterpret_cast<float2*>(to) = make_float2(x0, x1);
  }
};

// NaN passes through; -0 stays -0 (it is not below zero).
__device__ __forceinline__ float relu(float x) { return x < 0.0f ? 0.0f : x; }

// ---- the epilogue -------------------------------------------------------------------------------

struct Epilogue {
  const void* c;  // this batch's matrix; not read when beta is 0
  const float* bias;
  void* d;  // this batch's matrix
  long long ldc, ldd;
  float alpha, beta;
  int bias_kind, apply_relu;
};

// Finishes and stores one warp's part. `row`, `column`: of this lane's first value; `rows`,
// `columns`: how many rows and columns of D there are from there on (<= 0: none).
//   sum[i][j][v] belongs to row + 16 * i + 8 * (v / 2), column + 8 * j + v % 2.
template <typename Out>
__device__ __forceinline__ void finish(float (&x)[4][4][4], const Epilogue& e, long long row,
                                       long long column, int rows, int columns) {
  using Stored = typename Out::Stored;
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int v = 0; v < 4; ++v) x[i][j][v] = __fmul_rn(e.alpha, x[i][j][v]);

  if (e.beta != 0.0f) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (8 * i >= rows) continue;
      const Stored* c = static_cast<const Stored*>(e.c) + (row + 8 * i) * e.ldc + column;
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int v = 0; v < 2; ++v) {
          float& value = x[i / 2][j][i % 2 * 2 + v];
          if (8 * j + v < columns) value = __fmaf_rn(e.beta, Out::load(c + 8 * j + v), value);
        }
    }
  }

  if (e.bias_kind == kBiasPerRow) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float bias = 8 * i < rows ? e.bias[row + 8 * i] : 0.0f;
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int v = 0; v < 2; ++v)
          x[i / 2][j][i % 2 * 2 + v] = __fadd_rn(x[i / 2][j][i % 2 * 2 + v], bias);
    }
  } else if (e.bias_kind == kBiasPerColumn) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        const float bias = 8 * j + v < columns ? e.bias[column + 8 * j + v] : 0.0f;
#pragma unroll
        for (int i = 0; i < 8; ++i)
          x[i / 2][j][i % 2 * 2 + v] = __fadd_rn(x[i / 2][j][i % 2 * 2 + v], bias);
      }
  }

  if (e.apply_relu) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int v = 0; v < 4; ++v) x[i][j][v] = relu(x[i][j][v]);
  }

  // Two neighbors at once where D's rows keep pairs aligned; the last column of an odd N alone.
  const bool pairs = (reinterpret_cast<Address>(e.d) % (2 * sizeof(Stored))) == 0 && e.ldd % 2 == 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (8 * i >= rows) continue;
    Stored* d = static_cast<Stored*>(e.d) + (row + 8 * i) * e.ldd + column;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float x0 = x[i / 2][j][i % 2 * 2], x1 = x[i / 2][j][i % 2 * 2 + 1];
      const int left = columns - 8 * j;
      if (pairs && left >= 2) {
        Out::store_pair(d + 8 * j, x0, x1);
      } else {
        if (left >= 1) Out::store(d + 8 * j, x0);
        if (left >= 2) Out::store(d + 8 * j + 1, x1);
      }
    }
  }
}

// ---- the kernel ---------------------------------------------------------------------------------

// `kTransA`: A is stored [k, m]; `kTransB`: B is stored [n, k]. Batches beyond the grid's z
// dimension are looped over.
template <bool kTransA, bool kTransB, typename Out>
__device__ __forceinline__ void gemm(const void* a, const void* b, const void* c, const float* bias,
                                     void* d, int m, int n, int k, int batch, long long lda,
                                     long long ldb, long long ldc, long long ldd,
                                     long long stride_a, long long stride_b, long long stride_c,
                                     long long stride_d, float alpha, float beta, int bias_kind,
                                     int apply_relu) {
  extern __shared__ __align__(128) unsigned char shared_memory[];
  const Bits32 shared = static_cast<Bits32>(__cvta_generic_to_shared(shared_memory));
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int warp_row = warp % 2 * 64, warp_column = warp / 2 * 32;

  const unsigned tiles_m = (static_cast<unsigned>(m) + kTileM - 1) / kTileM;
  const int first_row = static_cast<int>(blockIdx.x % tiles_m) * kTileM;
  const int first_column = static_cast<int>(blockIdx.x / tiles_m) * kTileN;
  const int steps = static_cast<int>((static_cast<unsigned>(k) + kTileK - 1) / kTileK);

  const ReaderA<!kTransA> reader_a(warp_row, lane);
  const ReaderB<kTransB> reader_b(warp_column, lane);

  for (long long z = blockIdx.z; z < batch; z += gridDim.z) {
    TileLoader<!kTransA> load_a(
        __cvta_generic_to_global(a) + static_cast<Address>(z * stride_a) * 2, lda, first_row,
        m - first_row, k, thread);
    TileLoader<kTransB> load_b(__cvta_generic_to_global(b) + static_cast<Address>(z * stride_b) * 2,
                               ldb, first_column, n - first_column, k, thread);
    float sum[4][4][4] = {};

    // Stages 0 and 1 in flight. A group is committed even when it is empty, so that "all but the
    // newest kStages - 2" always means "the stage about to be read".
    int k_left = k;
#pragma unroll
    for (int stage = 0; stage < kStages - 1; ++stage) {
      if (k_left > 0) {
        load_a.load(shared + stage * kStageBytes, min(k_left, kTileK));
        load_b.load(shared + stage * kStageBytes + kOperandBytes, min(k_left, kTileK));
      }
      cp_async_commit();
      k_left -= kTileK;
    }

    Bits32 read = shared, write = shared + (kStages - 1) * kStageBytes;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      // After these, the current stage is complete for all warps, and all warps are done with the
      // stage to be filled.
      cp_async_wait<kStages - 2>();
      __syncthreads();
      if (k_left > 0) {
        load_a.load(write, min(k_left, kTileK));
        load_b.load(write + kOperandBytes, min(k_left, kTileK));
      }
      cp_async_commit();
      k_left -= kTileK;

      multiply_half<0>(sum, reader_a, reader_b, read);
      multiply_half<1>(sum, reader_a, reader_b, read);

      write = read;
      read = read == shared + (kStages - 1) * kStageBytes ? shared : read + kStageBytes;
    }

    const int lane_row = warp_row + lane / 4, lane_column = warp_column + lane % 4 * 2;
    const Epilogue epilogue{static_cast<const typename Out::Stored*>(c) + z * stride_c,
                            bias,
                            static_cast<typename Out::Stored*>(d) + z * stride_d,
                            ldc,
                            ldd,
                            alpha,
                            beta,
                            bias_kind,
                            apply_relu};
    finish<Out>(sum, epilogue, static_cast<long long>(first_row) + lane_row,
                static_cast<long long>(first_column) + lane_column, m - first_row - lane_row,
                n - first_column - lane_column);

    cp_async_wait<0>();
    __syncthreads();  // the next batch refills the stages
  }
}

}  // namespace

// Entry points gemm_bf16_<layout>_<out>; the parameters are listed, in this order, in
// gemm_bf16.toml.
#define GEMM_BF16_ENTRY(name, trans_a, trans_b, Out)                                               \
  extern "C" __global__ void __launch_bounds__(kThreads) gemm_bf16_##name(                         \
      const void* a, const void* b, const void* c, const float* bias, void* d, int m, int n,       \
      int k, int batch, long long lda, long long ldb, long long ldc, long long ldd,                \
      long long stride_a, long long stride_b, long long stride_c, long long stride_d, float alpha, \
      float beta, int bias_kind, int apply_relu) {                                                 \
    gemm<trans_a, trans_b, Out>(a, b, c, bias, d, m, n, k, batch, lda, ldb, ldc, ldd, stride_a,    \
                                stride_b, stride_c, stride_d, alpha, beta, bias_kind, apply_relu); \
  }

GEMM_BF16_ENTRY(nn_bf16, false, false, OutBf16)
GEMM_BF16_ENTRY(nt_bf16, false, true, OutBf16)
GEMM_BF16_ENTRY(tn_bf16, true, false, OutBf16)
GEMM_BF16_ENTRY(tt_bf16, true, true, OutBf16)
GEMM_BF16_ENTRY(nn_f32, false, false, OutF32)
GEMM_BF16_ENTRY(nt_f32, false, true, OutF32)
GEMM_BF16_ENTRY(tn_f32, true, false, OutF32)
GEMM_BF16_ENTRY(tt_f32, true, true, OutF32)
