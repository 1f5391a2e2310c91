#!/usr/bin/env bash
# Gradients of operation texts: printed, drafted, and kernels of them judged. Usage: gradient.sh PROGRAM
set -u
program=$1
. "$(dirname "$(realpath "$0")")/expect.sh"

cat >rmsnorm_backward.op <<'END'
# RMSNorm.
operation rmsnorm(x[m, n], eps = 1e-6) -> y[m, n], rstd[m]?
  rstd[i] = rsqrt((sum[j] x[i, j]^2) / n + eps)
  y[i, j] = x[i, j] * rstd[i]

# Backward.
operation rmsnorm_backward = gradient of rmsnorm wrt x saving rstd
END
expect 0 "# Backward. operation rmsnorm_backward(dy[m, n], drstd[m] = 0, x[m, n], rstd[m]) -> dx[m, n]" list text rmsnorm_backward.op
expect 0 "dx[i, j] = dy[i, j] * rstd[i] - drstd_all[i] * rstd[i] * rstd[i]^2 * x[i, j] / n" list text rmsnorm_backward.op
# What is printed is a text that says the same.
"$program" list text rmsnorm_backward.op >again.op
"$program" list text again.op | cmp -s - again.op || { echo "FAILED: the printed text is another one"; failed=$((failed + 1)); }
sed 's/saving rstd/saving mean/' rmsnorm_backward.op >wrong.op
expect 2 "wrong.op:7:63: rmsnorm computes no 'mean'" list text wrong.op
expect 2 "no operation text is named" list text
expect 2 "missing.op" list text missing.op

kernel() {  # of the sum's factor
  cat <<END
extern "C" __global__ void rmsnorm_backward(const float* dy, const float* x, const float* rstd, float* dx, int m, int n) {
  const int i = blockIdx.x, lane = threadIdx.x;
  float sum = 0;
  for (int j = lane; j < n; j += 32) sum += dy[i * n + j] * x[i * n + j];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const float r = rstd[i], all = sum * r * (r * r) / $1;
  for (int j = lane; j < n; j += 32) dx[i * n + j] = dy[i * n + j] * r - all * x[i * n + j];
}
END
}
kernel n >rmsnorm_backward.cu
expect 0 "as rmsnorm_backward.op, since a text of that name lies beside it" init rmsnorm_backward.cu
sed -i "s/^grid = .*/grid = ['m']/; s/^block = .*/block = [32]/; s/\"bf16\"/\"f32\"/; /^drstd/d" rmsnorm_backward.toml
expect 0 "1 passed, 0 failed" verify --kernel rmsnorm_backward.toml --profile quick --on emulator --no-corpus
kernel "(n + 1)" >rmsnorm_backward.cu
expect 1 "fits: line 3: with n + 1 for n" verify --kernel rmsnorm_backward.toml --profile quick --on emulator --no-corpus -x
expect 1 "of the gradient rmsnorm_backward in" verify --kernel rmsnorm_backward.toml --profile quick --on emulator --no-corpus -x

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
