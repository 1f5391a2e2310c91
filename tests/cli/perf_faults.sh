#!/usr/bin/env bash
# Faults of performance in copies of shipped kernels: plumbline perf names each with its line, and says nothing like it of the
# kernel as it is. Their outputs stay right, so that no other check sees them.
# Usage: perf_faults.sh PROGRAM SOURCE_FOLDER
set -u
program=$1 source=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ] || exit 77

# faulty NAME KERNEL FILE SED_SCRIPT: a copy of a kernel, with one entry of gemm_bf16, and the fault.
faulty() {
  mkdir -p "$1/shipped"
  cp -r "$source/kernels/device" "$1/device"
  cp -r "$source/kernels/shipped/$2" "$1/shipped/$1"
  rm -f "$1/shipped/$1"/*.ptx*
  mv "$1/shipped/$1/$2.toml" "$1/shipped/$1/$1.toml"
  sed -i '/^GEMM_BF16_ENTRY(nn_bf16/! s/^GEMM_BF16_ENTRY(.*//' "$1/shipped/$1/$2.cu"
  local file=$1/${3/KERNEL/shipped\/$1}
  cp "$file" before
  sed -i -E "$4" "$file"
  [ -z "$4" ] || ! cmp -s before "$file" || { echo "FAILED: the fault of $1 is not in $file"; failed=$((failed + 1)); }
}

# told NAME PROBLEM ADVICE
told() { expect 0 "$3" perf --kernel "$1/shipped/$1/$1.toml" --problem "$2" --sm 90 --out "$1/out"; }

# never_told NAME PROBLEM WORDS...
never_told() {
  local name=$1 problem=$2 output words
  shift 2
  output=$("$program" perf --kernel "$name/shipped/$name/$name.toml" --problem "$problem" --sm 90 --out "$name/out" | tr -s ' \n' ' ')
  for words; do
    [[ "$output" != *"$words"* ]] || { echo "FAILED: advice for $name, which has no such fault: $output"; failed=$((failed + 1)); }
  done
}

gemm='m=256 n=256 k=256' rows='m=40 n=2048'
faulty gemm gemm_bf16 device/tile.cuh ''
told gemm "$gemm" "1 kernel counted, 0 pieces of advice"
faulty softmax softmax_bf16 device/row_columns.cuh ''
never_told softmax "$rows" uncoalesced 'narrow: ld' 'repeated loads' 'idle barrier' 'bank conflicts:' spills: occupancy:

# Missing swizzle.
faulty across gemm_bf16 device/tile.cuh 's/\(chunk \^ \(row & 7\)\)/(chunk)/'
told across "$gemm" "bank conflicts: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 at instructions.cuh:37 (inlined at fragment_reader.cuh:40) has 8.0-way bank conflicts"
faulty along gemm_bf16 device/tile.cuh 's/\(chunk \^ \(\(row >> 1\) & 3\)\)/(chunk)/'
told along "$gemm" "(inlined at fragment_reader.cuh:38) has 4.0-way bank conflicts: 16.0 wavefronts per request where 4.0 would do"
# Double barrier.
faulty barrier gemm_bf16 device/main_loop.cuh '/cp_async_wait<kStages - 2>/,/__syncthreads/ s/__syncthreads\(\);/__syncthreads();\n    __syncthreads();/'
told barrier "$gemm" "idle barrier: bar.sync at main_loop.cuh:69 (inlined at gemm_bf16.cu:31) orders nothing"
# Serialized pipeline.
faulty serial gemm_bf16 device/main_loop.cuh 's/^    multiply_half<0>/    cp_async_wait<0>();\n    __syncthreads();\n    multiply_half<0>/'
told serial "$gemm" "serialized copies: cp.async.wait_group at instructions.cuh:29 (inlined at main_loop.cuh:76)"
# Uncoalesced epilogue: a value at a time.
faulty epilogue gemm_bf16 device/epilogue.cuh 's/if \(pairs && left >= 2\)/if (false)/'
told epilogue "$gemm" "uncoalesced: st.global.u16 at output_formats.cuh:34 (inlined at epilogue.cuh:181) touches 8.0 sectors per request where 2.0 would hold the bytes"
# Launch bounds that ask for too many blocks: spills.
faulty bounds gemm_bf16 KERNEL/gemm_bf16.cu 's/__launch_bounds__\(kThreads\)/__launch_bounds__(kThreads, 3)/'
told bounds "$gemm" "spills: gemm_bf16_nn_bf16 spills registers"
# Tail waste and padding, which problems bring: 140 tiles on 132 multiprocessors; 33 rows in a tile of 128.
told gemm 'm=1792 n=1280 k=32' "tail: gemm_bf16_nn_bf16 has 140 blocks, which fill 53 % of 2 waves"
never_told gemm 'm=1536 n=1408 k=32' tail: padding:
told gemm 'm=33 n=128 k=64' "padding: 74 % of the tensor-core products are on padding"
# Lost vectorization.
faulty narrow softmax_bf16 device/row_columns.cuh 's/const uint4 packed = .*/uint4 packed; const auto* w = reinterpret_cast<const unsigned int*>(row + columns.first); packed.x = __ldcg(w); packed.y = __ldcg(w + 1); packed.z = __ldcg(w + 2); packed.w = __ldcg(w + 3);/'
told narrow "$rows" "(inlined at row_columns.cuh:81) uses the 4 bytes right behind those of the access before it"
# A thread's columns side by side, so that those of a warp are not.
faulty stride softmax_bf16 device/row_columns.cuh 's/int first = threadIdx.x \* kVector; first < n; first \+= kThreads \* kVector/int first = threadIdx.x * (n \/ kThreads), end = first + n \/ kThreads; first < end; first += kVector/'
told stride "$rows" "touches 32.0 sectors per request where 16.0 would hold the bytes"
# Repeated loads: the maximum is looked for four times.
faulty again softmax_bf16 KERNEL/softmax_bf16.cu '0,/for_each_columns\(n/ s/^    for_each_columns\(n/_Pragma("unroll 1") for (int again = 0; again < 4; ++again)\n    for_each_columns(n/'
told again "$rows" "loads every sector 4.0 times in a block"

echo "$passed passed, $failed failed"
exit "$((failed > 0))"
