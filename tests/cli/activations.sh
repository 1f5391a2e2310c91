#!/usr/bin/env bash
# GEMMs with a bias and a smooth activation, compiled by nvcc: each way to compute one passes under the contract that names it, and
# fails under one that names another function, or another place. Usage: activations.sh PROGRAM
set -u
program=$1
. "$(dirname "$(realpath "$0")")/expect.sh"
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || { echo "no nvcc here"; exit 77; }

cat >mine.cu <<'CU'
#include <cuda_bf16.h>

struct GeluErff { static __device__ float of(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); } };
struct GeluTanhf {
  static __device__ float of(float x) {
    const float inner = 0.7978845608028654f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanhf(inner));
  }
};
struct GeluTanhApprox {
  static __device__ float of(float x) {
    const float inner = x * (0.7978845608028654f + 0.0356774081f * x * x), half = 0.5f * x;
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(inner));
    return half * t + half;
  }
};
struct GeluTanhExpf {
  static __device__ float of(float x) { return x / (1.0f + expf(-1.5957691216057308f * (x + 0.044715f * x * x * x))); }
};
struct GeluTanhEx2 {
  static __device__ float of(float x) {
    return __fdividef(x, 1.0f + exp2f(-2.302208198f * (x + 0.044715f * x * x * x)));
  }
};
struct SiluExpf { static __device__ float of(float x) { return x / (1.0f + expf(-x)); } };
struct SiluEx2 { static __device__ float of(float x) { return __fdividef(x, 1.0f + __expf(-x)); } };
struct SiluTanhApprox {
  static __device__ float of(float x) {
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(0.5f * x));
    return x * (0.5f * t + 0.5f);
  }
};

template <typename Activation>
__device__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, const float* bias, void* d, int m, int n, int k, int narrow) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= m * n) return;
  const int i = at / n, j = at % n;
  float sum = 0;
  for (int p = 0; p < k; ++p) sum = fmaf(__bfloat162float(a[i * k + p]), __bfloat162float(b[p * n + j]), sum);
#ifdef BEFORE_BIAS
  const float x = Activation::of(sum) + bias[j];
#else
  const float x = Activation::of(sum + bias[j]);
#endif
  if (narrow) {
    static_cast<__nv_bfloat16*>(d)[at] = __float2bfloat16_rn(x);
  } else {
    static_cast<float*>(d)[at] = x;
  }
}

#define ENTRY(name, activation)                                                                                     \
  extern "C" __global__ void name(const __nv_bfloat16* a, const __nv_bfloat16* b, const float* bias, void* d, int m, \
                                  int n, int k, int narrow) {                                                       \
    gemm<activation>(a, b, bias, d, m, n, k, narrow);                                                               \
  }
ENTRY(gelu_erff, GeluErff)
ENTRY(gelu_tanhf, GeluTanhf)
ENTRY(gelu_tanh_approx, GeluTanhApprox)
ENTRY(gelu_expf, GeluTanhExpf)
ENTRY(gelu_ex2, GeluTanhEx2)
ENTRY(silu_expf, SiluExpf)
ENTRY(silu_ex2, SiluEx2)
ENTRY(silu_tanh_approx, SiluTanhApprox)
CU
"$nvcc" -ptx -O3 -arch=compute_80 -o mine.ptx mine.cu || exit 1
"$nvcc" -ptx -O3 --use_fast_math -arch=compute_80 -o fast.ptx mine.cu || exit 1
"$nvcc" -ptx -O3 -DBEFORE_BIAS -arch=compute_80 -o early.ptx mine.cu || exit 1

# manifest FILE PTX ENTRY FUNCTION EPILOGUE; SUBNORMALS are kept where not said
manifest() {
  cat >"$1.toml" <<TOML
computes   = "gemm"
summary    = "one thread for each element"
ptx        = "$2.ptx"
targets    = [80]
entry      = "$3"
parameters = ["ptr a", "ptr b", "ptr bias", "ptr d", "s32 m", "s32 n", "s32 k", 's32 out == "bf16"']
[problem]
out  = ["f32", "bf16"]
bias = ["column"]
act  = ["$4"]
[launch]
grid  = ['ceil_div(m * n, 32)']
block = [32]
[formats]
a = "bf16"
b = "bf16"
c = "{out}"
d = "{out}"
[[domain]]
require = 'm * n * k <= 2147483647'
reason  = "32-bit"
[contract]
unit     = "fma.f32"
schedule = "sequential"
epilogue = [$5]
subnormals = "${subnormals:-kept}"
TOML
}

# verify FILE PTX ENTRY FUNCTION EPILOGUE, and what is expected of it: CODE TEXT
verify() {
  manifest "$1" "$2" "$3" "$4" "$5"
  expect "$6" "$7" verify --kernel "$1.toml" --on emulator --sm 80 --profile quick --allow-mistrusted --only "class=${8:-normal}"
}

verify erff mine gelu_erff gelu '"bias", "gelu erff"' 0 "0 failed"
verify specials mine gelu_erff gelu '"bias", "gelu erff"' 0 "0 failed" specials
verify tanhf mine gelu_tanhf gelu_tanh '"bias", "gelu_tanh tanhf"' 0 "0 failed"
verify approx mine gelu_tanh_approx gelu_tanh '"bias", "gelu_tanh tanh.approx"' 0 "0 failed"
verify expf mine gelu_expf gelu_tanh '"bias", "gelu_tanh expf"' 0 "0 failed"
verify ex2 mine gelu_ex2 gelu_tanh '"bias", "gelu_tanh ex2.approx"' 0 "0 failed"
verify silu mine silu_expf silu '"bias", "silu expf"' 0 "0 failed"
verify swish mine silu_ex2 silu '"bias", "silu ex2.approx"' 0 "0 failed"
verify half mine silu_tanh_approx silu '"bias", "silu tanh.approx"' 0 "0 failed"
# With --use_fast_math tanhf is tanh.approx, expf is ex2.approx, quotients are div.approx, and numbers below 2^-126 count as 0.
subnormals=flushed
verify fast_tanh fast gelu_tanhf gelu_tanh '"bias", "gelu_tanh tanh.approx"' 0 "0 failed"
verify fast_exp fast silu_expf silu '"bias", "silu ex2.approx"' 0 "0 failed"
verify fast_small fast silu_expf silu '"bias", "silu ex2.approx"' 0 "0 failed" subnormal
verify fast_specials fast silu_expf silu '"bias", "silu ex2.approx"' 0 "0 failed" specials
verify fast_keeps mine silu_ex2 silu '"bias", "silu ex2.approx"' 0 "0 failed" subnormal
subnormals=kept
verify fast_untold fast silu_expf silu '"bias", "silu ex2.approx"' 1 'f32 numbers below 2^-126 counted as 0: subnormals = "flushed"' subnormal
subnormals=lost
manifest unknown_word mine gelu_erff gelu '"bias", "gelu erff"'
expect 2 '"lost" is not known here' verify --kernel unknown_word.toml
subnormals=kept

verify wrong mine gelu_tanhf gelu '"bias", "gelu erff"' 1 'the activation was gelu_tanh instead of gelu: "gelu_tanh tanhf"'
verify coarse mine gelu_tanh_approx gelu_tanh '"bias", "gelu_tanh tanhf"' 1 'the activation was computed in another way: "gelu_tanh tanh.approx"'
verify early early gelu_erff gelu '"bias", "gelu erff"' 1 'the activation came before "bias"'
verify told early gelu_erff gelu '"gelu erff", "bias"' 0 "0 failed"

manifest silent mine gelu_erff gelu '"bias"'
expect 2 'the contract'"'"'s epilogue does not say how gelu is computed (name the step that the kernel does: "gelu erff")' verify --kernel silent.toml
manifest unknown mine gelu_erff gelu '"bias", "gelu"'
expect 2 '"gelu" is not known here' verify --kernel unknown.toml
manifest twice mine gelu_expf gelu_tanh '"bias", "gelu_tanh expf", "gelu_tanh tanhf"'
expect 2 'epilogue computes gelu_tanh twice' verify --kernel twice.toml

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
