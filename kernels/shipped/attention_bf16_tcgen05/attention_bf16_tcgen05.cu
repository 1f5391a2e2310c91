// SPDX-License-Identifier: MIT
// attention_bf16_tcgen05: O = softmax(scale * Q * K^T) * V and the log-sum-exp of every row, on the
// tensor cores of sm_100, with an online softmax. A block has 128 queries of one head and walks
// over their keys, 128 at a time. Six warps share the work:
//
//   one thread copies      Q once, then K and V of each tile of keys to a ring of four stages
//   one thread multiplies  S = Q * K^T, and O += P * V once P is there
//   four warps             P = softmax of S, a row in each thread; O is multiplied by what the
//                          maximum has risen by, and in the end divided by the sums
//
//   tensor memory   S [128, 128], O [128, 64] in f32; P [128, 128] in bf16, two in a column
//   full, empty     of the ring
//   scores, sums    S, or O, is complete
//   weights         one arrival of each of the four warps: S was read, O is scaled, P is stored
#include "device/attention/rows.cuh"
#include "device/attention/softmax.cuh"
#include "device/bulk_pipeline.cuh"
#include "device/output_formats.cuh"
#include "device/tensor_memory.cuh"

namespace {

using namespace device;

constexpr int kQueries = 128, kKeys = 128, kWidth = 64;  // of a tile; Q, K and V padded to a width
constexpr int kSoftmaxWarps = 4, kCopyingWarp = 4, kProductWarp = 5, kThreadsOfBlock = 6 * 32;
constexpr int kStages = 4;
constexpr Bits32 kTileBytes = kKeys * kWidth * 2;
constexpr Bits32 kStep = 16;  // of k in a product

// Columns of tensor memory.
constexpr int kScores = 0, kWeights = kKeys, kSums = kWeights + kKeys / 2, kColumns = 256;

struct Arguments {
  void* o;
  float* lse;
  int heads, group, queries, keys, width_v;
  int causal, window_left, window_right;
  float scale;
  MatrixStrides strides_o;
  int out;
};

// Q, the ring, the barriers and the address of tensor memory.
struct Shared {
  Bits32 first;

  __device__ __forceinline__ Bits32 queries() const { return first; }

  __device__ __forceinline__ Bits32 stage(const StagePosition<kStages>& at) const {
    return first + (1 + at.stage) * kTileBytes;
  }

  __device__ __forceinline__ Mbarrier barrier(int number) const {
    return {first + (1 + kStages) * kTileBytes + number * kMbarrierBytes};
  }

  __device__ __forceinline__ Mbarrier full(int stage) const { return barrier(stage); }

  __device__ __forceinline__ Mbarrier empty(int stage) const { return barrier(kStages + stage); }

  __device__ __forceinline__ Mbarrier query_tile() const { return barrier(2 * kStages); }

  __device__ __forceinline__ Mbarrier scores() const { return barrier(2 * kStages + 1); }

  __device__ __forceinline__ Mbarrier weights() const { return barrier(2 * kStages + 2); }

  __device__ __forceinline__ Mbarrier sums() const { return barrier(2 * kStages + 3); }

  __device__ __forceinline__ Bits32 address() const { return barrier(2 * kStages + 4).address; }

  // By all threads; the address of tensor memory.
  __device__ __forceinline__ TensorAddress begin() const {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < kStages; ++stage) {
        full(stage).init(1);
        empty(stage).init(1);
      }
      query_tile().init(1);
      scores().init(1);
      weights().init(kSoftmaxWarps);
      sums().init(1);
      publish_mbarriers();
    }
    if (threadIdx.x / 32 == kProductWarp) allocate_tensor_memory<kColumns>(address());
    before_handover();
    __syncthreads();
    after_handover();
    return load_shared(address());
  }
};

// The queries of the block, and the tiles of keys that any of them sees.
struct OwnTile {
  int batch, row;
  SequenceMask mask;
  KeyRange tiles;

  __device__ __forceinline__ explicit OwnTile(const Arguments& x) {
    const unsigned down = (static_cast<unsigned>(x.queries) + kQueries - 1) / kQueries;
    batch = static_cast<int>(blockIdx.x / down);
    row = static_cast<int>(blockIdx.x % down) * kQueries;
    mask = {x.causal, x.window_left, x.window_right, x.queries, x.keys};
    const int last = min(x.queries - row, kQueries) - 1;
    const int first = mask.visible(row).first, end = mask.visible(row + last).end;
    tiles = {first / kKeys, end / kKeys + (end % kKeys != 0)};
  }
};

// 128 rows, in two boxes of 64.
__device__ __forceinline__ void copy_rows(const TensorMap& map, Bits32 to, Mbarrier barrier,
                                          int row, int head, int batch) {
  barrier.arrive_and_expect(kTileBytes);
  load_box(map, to, barrier.address, 0, row, head, batch);
  load_box(map, to + kTileBytes / 2, barrier.address, 0, row + kQueries / 2, head, batch);
}

// The one thread that copies.
__device__ __forceinline__ void copy_tiles(const Shared& shared, const OwnTile& tile,
                                           const TensorMap& q, const TensorMap& k,
                                           const TensorMap& v, int head, int kv_head) {
  if (tile.tiles.first >= tile.tiles.end) return;
  copy_rows(q, shared.queries(), shared.query_tile(), tile.row, head, tile.batch);
  StagePosition<kStages> at;
  for (int step = tile.tiles.first; step < tile.tiles.end; ++step) {
    for (const TensorMap* map : {&k, &v}) {
      shared.empty(at.stage).wait(at.parity ^ 1);
      copy_rows(*map, shared.stage(at), shared.full(at.stage), step * kKeys, kv_head, tile.batch);
      at.advance();
    }
  }
}

// The one thread that multiplies. V lies across k: a step of 16 keys is 16 rows of 128 bytes.
__device__ __forceinline__ void multiply_tiles(const Shared& shared, const OwnTile& tile,
                                               TensorAddress memory) {
  constexpr Bits32 kScoreProduct = kProductOf<TensorBf16, TensorBf16>;
  constexpr Bits32 kSumProduct = kProductOf<TensorBf16, TensorBf16, false, true, kWidth>;
  const auto rows = [](Bits32 at) {
    return tensor_descriptor(operand_descriptor(at, 16, kEightRows));
  };
  StagePosition<kStages> at;
  Bits32 parity = 0;
  if (tile.tiles.first < tile.tiles.end) shared.query_tile().wait(0);
  for (int step = tile.tiles.first; step < tile.tiles.end; ++step, parity ^= 1) {
    shared.full(at.stage).wait(at.parity);
#pragma unroll
    for (Bits32 i = 0; i < kWidth / kStep; ++i)
      multiply_f16(memory + kScores, rows(shared.queries()) + i * 2, rows(shared.stage(at)) + i * 2,
                   kScoreProduct, i > 0);
    tensor_commit(shared.empty(at.stage));
    tensor_commit(shared.scores());
    at.advance();

    shared.full(at.stage).wait(at.parity);
    shared.weights().wait(parity);
    after_handover();
#pragma unroll
    for (Bits32 i = 0; i < kKeys / kStep; ++i)
      multiply_tensor_a(memory + kSums, memory + kWeights + i * kStep / 2,
                        rows(shared.stage(at)) + i * 2 * kEightRows / 16, kSumProduct,
                        step > tile.tiles.first || i > 0);
    tensor_commit(shared.empty(at.stage));
    tensor_commit(shared.sums());
    at.advance();
  }
}

// One row in each thread of four warps.
class SoftmaxThread {
 public:
  __device__ __forceinline__ SoftmaxThread(const Arguments& x, const OwnTile& tile,
                                           TensorAddress memory)
      : x_(x),
        tile_(tile),
        memory_(memory),
        query_(tile.row + static_cast<int>(threadIdx.x)),
        exponent_(__fmul_rn(x.scale, kLog2E)) {
    visible_ = query_ < x.queries ? tile.mask.visible(query_) : KeyRange{0, 0};
  }

  // Scores to P; what O so far was relative to is multiplied out.
  __device__ __forceinline__ void step(const Shared& shared, int tile, Bits32 parity, bool first) {
    shared.scores().wait(parity);
    after_handover();
    float z[kKeys / 32][32];
#pragma unroll
    for (int i = 0; i < kKeys / 32; ++i) load_columns(z[i], memory_ + kScores + 32 * i);
#pragma unroll
    for (int i = 0; i < kKeys / 32; ++i) wait_for_columns(z[i]);
    const KeyRange visible = visible_.relative_to(tile * kKeys);
    float largest = minus_infinity();
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      float& logit = z[i / 32][i % 32];
      if (!visible.contains(i)) logit = minus_infinity();
      largest = fmaxf(largest, logit);
    }
    const float factor = row_.raise(largest, exponent_);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      float& logit = z[i / 32][i % 32];
      logit = row_.probability(logit, exponent_);
      sum = __fadd_rn(sum, logit);
    }
    row_.sum = __fadd_rn(row_.sum, sum);
    if (!first) {
      shared.sums().wait(parity ^ 1);  // of the tile before: P was read, too
      after_handover();
      rescale(factor);
    }
#pragma unroll
    for (int i = 0; i < kKeys / 64; ++i) {
      Bits32 pairs[32];
#pragma unroll
      for (int j = 0; j < 32; ++j) {
        const float* two = &z[2 * i + j / 16][j % 16 * 2];
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pairs[j]) : "f"(two[1]), "f"(two[0]));
      }
      store_columns(memory_ + kWeights + 32 * i, pairs);
    }
    wait_for_stored_columns();
    before_handover();
    __syncwarp();
    if (threadIdx.x % 32 == 0) shared.weights().arrive();
  }

  // `parity` of the last tile; `empty`: there was none.
  __device__ __forceinline__ void finish(const Shared& shared, int head, Bits32 parity,
                                         bool empty) const {
    float o[kWidth / 32][32] = {};
    if (!empty) {
      shared.sums().wait(parity);
      after_handover();
#pragma unroll
      for (int i = 0; i < kWidth / 32; ++i) load_columns(o[i], memory_ + kSums + 32 * i);
#pragma unroll
      for (int i = 0; i < kWidth / 32; ++i) wait_for_columns(o[i]);
    }
    if (query_ >= x_.queries) return;
    const bool hidden = row_.empty(row_.sum);
    const float factor = __frcp_rn(row_.sum);
    const long long at = x_.strides_o.at(tile_.batch, head, query_);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      if (j >= x_.width_v) continue;
      const float value = hidden ? 0.0f : __fmul_rn(o[j / 32][j % 32], factor);
      if (x_.out == OutBf16::kCode) {
        OutBf16::store(static_cast<Bits16*>(x_.o) + at + j, value);
      } else {
        OutF32::store(static_cast<float*>(x_.o) + at + j, value);
      }
    }
    x_.lse[(static_cast<long long>(tile_.batch) * x_.heads + head) * x_.queries + query_] =
        row_.log_sum_exp(row_.sum, x_.scale);
  }

 private:
  __device__ __forceinline__ void rescale(float factor) const {
#pragma unroll
    for (int i = 0; i < kWidth / 32; ++i) {
      float o[32];
      load_columns(o, memory_ + kSums + 32 * i);
      wait_for_columns(o);
#pragma unroll
      for (int j = 0; j < 32; ++j) o[j] = __fmul_rn(o[j], factor);
      store_columns(memory_ + kSums + 32 * i, o);
    }
  }

  const Arguments& x_;
  const OwnTile& tile_;
  TensorAddress memory_;
  int query_;
  float exponent_;
  KeyRange visible_;
  SoftmaxRow row_;
};

}  // namespace

// The parameters are listed, in this order, in attention_bf16_tcgen05.toml.
extern "C" __global__ void __launch_bounds__(kThreadsOfBlock, 1)
    attention_bf16_tcgen05(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
                           const __grid_constant__ TensorMap v, void* o, float* lse, int heads,
                           int group, int queries, int keys, int width_v, int causal,
                           int window_left, int window_right, float scale, long long o_batch,
                           long long o_head, long long o_row, int out) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  const Arguments x{o,       lse,    heads,       group,        queries, keys,
                    width_v, causal, window_left, window_right, scale,   {o_batch, o_head, o_row},
                    out};
  const Shared shared{static_cast<Bits32>(__cvta_generic_to_shared(shared_memory))};
  const TensorAddress memory = shared.begin();
  const OwnTile tile(x);
  const int warp = threadIdx.x / 32, head = blockIdx.y;
  if (warp == kCopyingWarp) {
    if (is_elected()) copy_tiles(shared, tile, q, k, v, head, head / group);
  } else if (warp == kProductWarp) {
    if (is_elected()) multiply_tiles(shared, tile, memory);
  } else {
    SoftmaxThread thread(x, tile, memory);
    Bits32 parity = 0;
    for (int step = tile.tiles.first; step < tile.tiles.end; ++step, parity ^= 1)
      thread.step(shared, step, parity, step == tile.tiles.first);
    thread.finish(shared, head, parity ^ 1, tile.tiles.first >= tile.tiles.end);
  }
  __syncwarp();
  before_handover();
  __syncthreads();
  if (warp == kProductWarp) free_tensor_memory<kColumns>(memory);
}
