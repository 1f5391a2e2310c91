#!/usr/bin/env bash
# Kernels that write over an input: planned, judged and shrunk like any other. Usage: in_place.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
plan=(--no-compile --profile quick --on emulator --sm 80 --no-corpus --allow-mistrusted --only)

# The shipped RMSNorm, y over x: the second pass over a row writes what it has just read.
copy norm rmsnorm_bf16 's/"eps", "ldx"/"eps"/; s/"s64 ld_x"/"s64 ld_y"/; s/^out  = .*/out = ["bf16"]/; s/^\[tile\]/[in_place]\ny = "x"\n[tile]/'
expect 0 "1 passed, 0 failed" verify --kernel norm/norm.toml "${plan[@]}" 'm<=40 n<=300'

# Accumulation in C, and with a fault: beta C is added twice.
over_c='s/"ldc", //; s/"stride_c", //; s/ld_c/ld_d/; s/batch_stride_c/batch_stride_d/; s/^\[tile\]/[in_place]\nd = "c"\n[tile]/'
copy sum gemm_bf16 "$over_c"
expect 0 "1 passed, 0 failed" verify --kernel sum/sum.toml "${plan[@]}" 'm<=40 n<=40 k<=64 beta=1'
copy twice gemm_bf16 "$over_c; s/\"f32 beta\"/\"f32 2.0 * beta\"/"
expect 1 "case twice m=1 n=1" verify --kernel twice/twice.toml "${plan[@]}" 'm<=40 n<=40 k<=64 beta=1'

# What is written over is watched: a store names its line, and a block that reads what another one writes over is a race.
expect 1 "stored by" verify --kernel twice/twice.toml "${plan[@]}" 'm<=40 n<=40 k<=64 beta=1' -x
mkdir over && cat >over/shifted.op <<'END'
operation shifted(x[m, n] inout)
  x[i, j] = x[i, n - 1 - j]
END
cat >over/shifted.cu <<'END'
extern "C" __global__ void shifted(float* x, int m, int n) {
  const int j = blockIdx.y;
  const float value = x[blockIdx.x * n + n - 1 - j];
  __syncthreads();
  if (threadIdx.x == 0) x[blockIdx.x * n + j] = value;
}
END
cat >over/shifted.toml <<'END'
computes = "shifted.op"
summary = "turns rows around in place, each element by a block of its own"
source = "shifted.cu"
targets = [80]
entry = "shifted"
parameters = ["ptr x", "s32 m", "s32 n"]
[launch]
grid = ["m", "n"]
block = [32]
[formats]
x = "f32"
END
expect 1 "; the byte is in x[" verify --kernel over/shifted.toml --profile quick --on emulator --no-corpus --only 'm<=9 n<=70'

# Where nothing is launched, what is written over keeps its values: right for t = 0 here, wrong if the last add was due.
cat >over/first.op <<'END'
operation first(x[n] inout, t: int = 4)
  x[i] = x[i] + where(i < t, 1, 0)
END
cat >over/first.cu <<'END'
extern "C" __global__ void first(float* x, int n, int t) {
  const int i = blockIdx.x;
  if (i < n && threadIdx.x == 0) x[i] += 1;
}
END
sed 's/shifted/first/; s/, each element.*"/"/; s/"s32 m", "s32 n"/"s32 n", "s32 t"/; s/grid = .*/grid = ["t"]/' over/shifted.toml >over/first.toml
printf '[problem]\nfree = ["t"]\n[[domain]]\nrequire = "t >= 0 && t < 99"\nreason = "a block for each"\n' >>over/first.toml
expect 0 "1 passed, 0 failed" verify --kernel over/first.toml --profile quick --on emulator --no-corpus --only 't=0'
sed -i 's/grid = .*/grid = ["t - 1"]/; s/t >= 0/t >= 1/' over/first.toml
expect 1 "0 passed, 1 failed" verify --kernel over/first.toml --profile quick --on emulator --no-corpus --only 't=1'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
