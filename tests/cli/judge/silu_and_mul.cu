// A right answer to the task; judge.sh makes wrong ones of it.
#include <cuda_bf16.h>
template <typename T>
__device__ T to(float v);

template <>
__device__ float to<float>(float v) {
  return v;
}

template <>
__device__ __nv_bfloat16 to<__nv_bfloat16>(float v) {
  return __float2bfloat16_rn(v);
}

template <typename T>
__device__ void run(const __nv_bfloat16* x, T* y, long long m, int n, long long ldx,
                    long long ldy) {
  for (long long i = blockIdx.x; i < m; i += gridDim.x)
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
      float g = __bfloat162float(x[i * ldx + j]), u = __bfloat162float(x[i * ldx + n + j]);
      y[i * ldy + j] = to<T>(g / (1.0f + __expf(-g)) * u);
    }
}

#define ENTRY(name, T)                                                                             \
  extern "C" __global__ void name(const __nv_bfloat16* x, T* y, long long m, int n, long long ldx, \
                                  long long ldy) {                                                 \
    run<T>(x, y, m, n, ldx, ldy);                                                                  \
  }
ENTRY(silu_and_mul_bf16, __nv_bfloat16)
ENTRY(silu_and_mul_f32, float)
