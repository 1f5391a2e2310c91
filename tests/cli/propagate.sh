#!/usr/bin/env bash
# Where errors come from, for kernels as shipped and with a fault planted in their PTX: the stage it is in is named.
# Usage: propagate.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
export PLUMBLINE_KERNELS=$kernels
. "$(dirname "$(realpath "$0")")/expect.sh"

# planted KERNEL NAME SED: a copy of a kernel with its PTX changed, as NAME/NAME.toml.
planted() {
  mkdir "$2"
  sed "s/^source .*/source = \"$2.cu\"/" "$kernels/shipped/$1/$1.toml" >"$2/$2.toml"
  cp "$kernels/shipped/$1/$1.cu" "$2/$2.cu"
  for ptx in "$kernels/shipped/$1/$1".sm_*.ptx; do sed "$3" "$ptx" >"$2/$2${ptx#"$kernels/shipped/$1/$1"}"; done
}

expect 0 '"quantize inputs" makes 99.9 % of the error; "output" makes 100.0 % of the kernel'"'"'s own' \
  propagate gemm_fp8_blockwise --on emulator
expect 0 "together 100.0 % 100.0 % 100.0 %" propagate gemm_fp8_blockwise --on emulator
expect 0 "together 100.0 % 100.0 % 100.0 %" propagate attention_bf16_forward --on emulator \
  --only 'queries=64 keys=256 out=bf16 class=normal'
expect 0 "Unbiased" propagate linear_bf16_backward --on emulator --draws 4
[ "$(grep -c '"gradients"' plumbline-out/latest/record.json)" = 1 ] || failed=$((failed + 1))
# The stage models are what emulated kernels do, bit for bit: nothing is left unexplained.
for text in "softmax_bf16 m=8 n=600 out=f32" "softmax_bf16_backward m=8 n=600 out=f32" "rmsnorm_bf16 m=8 n=600 out=f32" \
  "layernorm_bf16 m=8 n=600 out=f32" "rmsnorm_bf16_backward m=80 n=40 out=f32" "layernorm_bf16_backward m=80 n=40 out=f32" \
  "quantize_fp8 m=8 n=300 scale=row" "gemm_grouped_fp8 m=40 n=24 k=200 groups=3 out=f32 scale_a=row" \
  "swiglu_mlp_bf16 tokens=8 d=64 hidden=48 d_out=24 out=f32"; do
  expect 0 '"own_unexplained": 0.0' propagate "$text value=normal seed=0x3" --on emulator --format json
  ! grep '"own_unexplained"' plumbline-out/latest/record.json | grep -qv ': 0.0,' ||
    { echo "FAILED: something is unexplained: $text"; failed=$((failed + 1)); }
done
# A sweep is a table with a row for each value, of stages, gradients and random rounding.
expect 0 "k error kernel's own model's own largest stage 16 " \
  propagate "gemm_bf16 m=8 n=8 k=8 value=normal seed=0x1" --sweep k=16..128 --on emulator
[ "$(grep -c '"swept": "k=' plumbline-out/latest/record.json)" = 4 ] ||
  { echo "FAILED: the record does not say what was swept"; failed=$((failed + 1)); }
grep -q "<h3>Error of d of gemm_bf16 by k</h3>" plumbline-out/latest/report.html ||
  { echo "FAILED: the page does not draw the sweep"; failed=$((failed + 1)); }
expect 0 "left out: out=f99: out=f99 is none of bf16, f32" \
  propagate "gemm_bf16 m=8 n=8 k=64 value=normal seed=0x1" --sweep out=bf16,f32,f99 --on emulator
expect 0 "is least, 6e-08, at out=f32, and largest, 0.0016, at out=bf16" \
  propagate "gemm_bf16 m=8 n=8 k=64 value=normal seed=0x1" --sweep out=bf16,f32 --on emulator
expect 0 "m error kernel's own model's own 8 " propagate linear_bf16_backward --sweep m=8,16 --draws 2 --on emulator
expect 0 "k deviation significant bits one in ten 8 " \
  propagate "gemm_bf16 m=8 n=8 k=8 value=normal seed=0x1" --sweep k=8,16 --stochastic 2 --on emulator
# Stacks of one's own sizes and formats, and a sweep over either.
expect 0 "as --model says: the error in the end is" propagate --depth 2 \
  --model "width=32 heads=2 hidden=48 tokens=4 qkv=e4m3 attention=e4m3"
grep -q "pre-norm transformer blocks: tokens=4 width=32 heads=2 hidden=48 qkv=e4m3 attention=e4m3" \
  plumbline-out/latest/report.html || { echo "FAILED: the page does not name the model"; failed=$((failed + 1)); }
expect 0 "width bf16 residual stream f32 residual stream 16 " propagate --depth 2 \
  --model "heads=2 hidden=16 tokens=2" --sweep width=16,32
[ "$(grep -c '"swept": "width=' plumbline-out/latest/record.json)" = 8 ] ||
  { echo "FAILED: the record does not say what was swept over the stacks"; failed=$((failed + 1)); }
expect 0 "4 decode steps: pre-norm transformer blocks, 100 % of the next input is the output: layers=1" \
  propagate --decode 4 --model "layers=1 width=16 heads=1 hidden=16" --sweep cache=bf16,e4m3
expect 2 '--sweep kk=8: there is no field "kk"' propagate --depth 4 --sweep kk=8,16
expect 2 "3 heads do not divide the width of 64" propagate --depth 4 --model width=64
expect 2 "--draws and --stochastic are of kernels" propagate --depth 4 --draws 4
expect 2 "--model: it describes the stacks of --depth" propagate gemm_bf16 --model width=64
expect 2 '"8..4" is no range of two rising integers' propagate attention_bf16_forward --sweep keys=8..4
expect 2 '--sweep: there is no field "keys"' propagate gemm_bf16 --sweep keys=8,16 --on emulator
expect 2 "no kernel" propagate no_such_kernel --on emulator
expect 2 "not in range" propagate --depth 1
expect 0 "4 backward layers" propagate --depth 4
expect 0 "report: again" report plumbline-out/latest --out again  # with the exit code of the run
expect 0 "4 decode steps" propagate --decode 4
expect 0 "4 denoising steps" propagate --denoise 4
# Random rounding: any operation, and the truncation of tensor cores where an f32 output shows it.
expect 0 "8.8 significant bits" propagate softmax_bf16 --on emulator --stochastic 8
expect 0 "toward zero, as truncation makes it; it goes when tensor cores round to nearest" \
  propagate "gemm_bf16 m=16 n=16 k=256 out=f32 value=normal seed=0x1" --on emulator --stochastic 8
[ "$(grep -c '"stochastics"' plumbline-out/latest/record.json)" = 1 ] || failed=$((failed + 1))
expect 2 "not in range" propagate gemm_bf16 --on emulator --stochastic 1

# Problems that a kernel does not accept are passed over; where none is left, it says so.
copy uncausal attention_bf16_forward "/^causal/d; s/'s32 causal.*'/'s32 0'/"
expect 0 '"output"' propagate --on emulator --kernel uncausal/uncausal.toml
copy wide attention_bf16_forward 's/^\[contract\]/[[domain]]\nrequire = "d == 128"\nreason = "d is 128"\n\n[contract]/'
expect 4 "wide accepts none of the problems that propagate has for attention (queries=64 keys=256 d=64 scale=0.125 out=bf16: d is 128). Name a case that it accepts, as in: plumbline propagate --kernel wide/wide.toml \"wide queries=... keys=... d=... value=normal seed=1\"" \
  propagate --on emulator --kernel wide/wide.toml

# Truncating where the contract rounds to nearest.
planted gemm_bf16 cut 's/cvt.rn.bf16/cvt.rz.bf16/'
expect 1 'The fault is in the stage "output": rounded toward zero instead of to nearest' \
  propagate cut --on emulator --kernel cut/cut.toml
expect 1 "Biased: the mean of the draws is 1.2 deviations off, toward zero, as truncation makes it; 1.2 are left" \
  propagate cut --on emulator --kernel cut/cut.toml --only 'k=256 class=normal' --stochastic 8
planted linear_bf16_backward cut_gradient 's/cvt.rn.bf16/cvt.rz.bf16/'
expect 1 "of the error is the same in every draw" \
  propagate cut_gradient --on emulator --draws 32 --kernel cut_gradient/cut_gradient.toml

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
