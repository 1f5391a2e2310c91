// SPDX-License-Identifier: MIT
// topk_softmax_f32: the k experts with the largest logits of each token, and their weights. A warp
// has a token: a lane has every 32nd logit in registers, and lane s keeps the expert of rank s.
namespace {

constexpr int kWarps = 4, kLanes = 32, kPerLane = 16;  // 512 experts at most
constexpr unsigned kAll = 0xffffffffu;

__device__ __forceinline__ float infinity() { return __int_as_float(0x7f800000); }

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2)
    x = __fadd_rn(x, __shfl_xor_sync(kAll, x, distance));
  return x;
}

// An expert and its logit.
struct Choice {
  float logit;
  int expert;

  // Whether it comes before another one: the larger, of equal ones the first; NaN behind all
  // numbers.
  __device__ __forceinline__ bool before(const Choice& other) const {
    const bool number = logit == logit, other_number = other.logit == other.logit;
    if (number != other_number) return number;
    if (number && logit != other.logit) return logit > other.logit;
    return expert < other.expert;
  }
};

struct Logits {
  float x[kPerLane];
  int experts, lane;
  unsigned taken = 0;  // those of this lane that have a rank

  __device__ __forceinline__ Logits(const float* row, int experts_, int lane_)
      : experts(experts_), lane(lane_) {
#pragma unroll
    for (int j = 0; j < kPerLane; ++j)
      x[j] = lane + kLanes * j < experts ? row[lane + kLanes * j] : -infinity();
  }

  __device__ __forceinline__ float largest() const {
    float most = x[0];
#pragma unroll
    for (int j = 1; j < kPerLane; ++j) most = fmaxf(most, x[j]);
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
      most = fmaxf(most, __shfl_xor_sync(kAll, most, distance));
    return most;
  }

  // The sum of e^(x - most).
  __device__ __forceinline__ float powers(float most) const {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      if (lane + kLanes * j < experts) sum = __fadd_rn(sum, __expf(__fsub_rn(x[j], most)));
    }
    return warp_sum(sum);
  }

  // The next one, in all lanes.
  __device__ __forceinline__ Choice next() {
    Choice best{__int_as_float(0x7fffffff), 1 << 30};
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      const bool is_free = (taken >> j & 1) == 0 && lane + kLanes * j < experts;
      const Choice one{x[j], lane + kLanes * j};
      if (is_free && one.before(best)) best = one;
    }
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      const Choice other{__shfl_xor_sync(kAll, best.logit, distance),
                         __shfl_xor_sync(kAll, best.expert, distance)};
      if (other.before(best)) best = other;
    }
    if (best.expert % kLanes == lane) taken |= 1u << best.expert / kLanes;
    return best;
  }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(kWarps* kLanes)
    topk_softmax_f32(const float* gate, float* weight, int* id, int t, int experts, int k,
                     long long ld_gate, long long ld_weight, long long ld_id, int renormalize) {
  const int lane = threadIdx.x % kLanes;
  const long long token = static_cast<long long>(blockIdx.x) * kWarps + threadIdx.x / kLanes;
  if (token >= t) return;
  Logits logits(gate + token * ld_gate, experts, lane);
  const float most = logits.largest();
  const float all = logits.powers(most);
  float mine = 0;
  int expert = 0;
  for (int rank = 0; rank < k; ++rank) {
    const Choice chosen = logits.next();
    if (rank != lane) continue;
    mine = __fdividef(__expf(__fsub_rn(chosen.logit, most)), all);
    expert = chosen.expert;
  }
  const float sum = warp_sum(mine);
  if (lane >= k) return;
  weight[token * ld_weight + lane] = renormalize == 1 ? __fdividef(mine, sum) : mine;
  id[token * ld_id + lane] = expert;
}
