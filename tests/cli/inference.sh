#!/usr/bin/env bash
# Kernels as inference has them, compiled from tests/cli/inference: each keeps its contract, and under the words that kernels of training
# have instead it fails. Usage: inference.sh PROGRAM SOURCE KERNEL_FOLDER
set -u
program=$1 source=$2
export PLUMBLINE_KERNELS=$3
. "$(dirname "$(realpath "$0")")/expect.sh"
cp "$source"/tests/cli/inference/*.cu "$source"/tests/cli/inference/*.toml .

quick="--profile quick --on emulator --no-corpus --out out"

# other NAME KERNEL SED_SCRIPT: the kernel under a manifest of its own, NAME.toml.
other() {
  sed "$3" "$2.toml" >"$1.toml"
  cmp -s "$1.toml" "$2.toml" && { echo "FAILED: $1 changes nothing"; failed=$((failed + 1)); }
}

small="keys<=70 queries<=20 d<=64"

# Probabilities that stay in f32.
expect 0 "1 passed, 0 failed" verify --kernel decode.toml $quick --only "$small"
other short decode 's/^p .*/p = "bf16"/'
expect 1 "0 passed, 1 failed" verify --kernel short.toml $quick --only "$small class=normal"
other tensor decode 's/^unit .*/unit = "mma.sync"/'
expect 2 "mma.sync" verify --kernel tensor.toml $quick

# No LSE is stored, or one in base 2: the kernel has all three, and none of them is another.
few="queries=3 keys=9 d=8"
expect 0 "24 outputs compared" replay "decode $few" --kernel decode.toml --on emulator
expect 0 "27 outputs compared" replay "decode $few lse=natural" --kernel decode.toml --on emulator
expect 0 "1 passed, 0 failed" verify --kernel decode.toml $quick --only "$small lse=base_2"
other natural decode "s/lse == \"natural\" ? 1 : 2/1/"
expect 1 "fits: LSE is the natural logarithm" replay "natural $few lse=base_2" --kernel natural.toml --on emulator
other two decode "s/lse == \"natural\" ? 1 : 2/2/"
expect 1 "fits: LSE is in base 2" replay "two $few lse=natural" --kernel two.toml --on emulator
other missing decode 's/"ptr lse"/"u64 0"/; s/.s32 lse == .*/"s32 0"]/'
expect 0 "1 passed, 0 failed" replay "missing $few lse=none" --kernel missing.toml --on emulator
expect 1 "never written" replay "missing $few lse=natural" --kernel missing.toml --on emulator
other misspelled decode 's/"base_2"/"base2"/'
expect 2 'did you mean "base_2"' verify --kernel misspelled.toml $quick
expect 0 "sees keys 0 to 8 of 9" explain "decode $few" --kernel decode.toml --on emulator
expect 0 "P rounding" propagate decode --kernel decode.toml --on emulator

# FlashAttention 4's way to spare rescalings, in the shipped kernel: a maximum is kept until a new one is above it by more than 2^8.
cp -r "$source/kernels/device" .
sed 's/    maximum = fmaxf(maximum, logit);/    const float rise = __fmul_rn(__fsub_rn(fmaxf(maximum, logit), before), exponent);\
    if (before != minus_infinity() \&\& rise <= 8.0f) return 1.0f;\
&/' "$source/kernels/device/attention/softmax.cuh" >device/attention/softmax.cuh
cp "$source/kernels/shipped/attention_bf16_forward/attention_bf16_forward.cu" rescales.cu
sed 's/^source .*/source = "rescales.cu"\nflags = ["-I.", "-std=c++20", "-O3"]/; s/^targets .*/targets = [80]/' \
  "$source/kernels/shipped/attention_bf16_forward/attention_bf16_forward.toml" >rescales.toml
other keeps rescales 's/^\[contract\]/&\nrescale_threshold = 8/'
longer="keys<=200 queries<=70 d<=64"
expect 0 "1 passed, 0 failed" verify --kernel keeps.toml $quick --only "$longer"
expect 1 "kept until it rises by more than 2^8 in p: rescale_threshold = 8" verify --kernel rescales.toml $quick --only "$longer class=normal" -x
sed -i 's/rise <= 8.0f) return 1.0f;/rise <= 8.0f) { maximum = fmaxf(maximum, logit); return 1.0f; }/' device/attention/softmax.cuh
expect 1 "a maximum that rises by less than the threshold is taken, and nothing is rescaled" verify --kernel keeps.toml $quick --only "$longer" -x

# A maximum that begins with the sink, and a sum that takes it first or last, as kernels for models with attention sinks have them.
rm -r device
cp -r "$source/kernels/device" .
block=device/attention/forward_block.cuh
sed -i 's/^  attend<kWidth, Element>(o, softmax, x, .*/  if (x.sink \&\& x.sink[blockIdx.y] > minus_infinity()) {\
    for (SoftmaxRow\& row : softmax) {\
      row.maximum = x.sink[blockIdx.y];\
      if (kSinkSum \&\& threadIdx.x % 4 == 0) row.sum = 1.0f;\
    }\
  }\
&/; s/^  if (x.sink) {/  if (x.sink \&\& !kSinkSum) {/' $block
sinks="keys<=200 queries<=70 d<=64 sink=f32"
for step in "first" "maximum first"; do
  sum=$([ "$step" = first ] && echo true || echo false)
  { echo "constexpr bool kSinkSum = $sum;"; cat "$source/kernels/shipped/attention_bf16_forward/attention_bf16_forward.cu"; } >rescales.cu
  other begins rescales "s/^\[contract\]/&\nsink_step = \"$step\"/"
  expect 0 "1 passed, 0 failed" verify --kernel begins.toml $quick --only "$sinks"
  expect 1 "the maximum begins with the sink, which the contract takes last" verify --kernel rescales.toml $quick --only "$sinks class=normal" -x
done
cp -r "$source/kernels/device" .
expect 1 "the sink comes after all keys, which the contract's maximum begins with" verify --kernel begins.toml $quick --only "$sinks class=normal" -x

# Norms: the mean is a product with 1 / n, and x rstd is rounded before gamma.
rows="m<=70 n<=300"
expect 0 "1 passed, 0 failed" verify --kernel rmsnorm.toml $quick --only "$rows"
other divides rmsnorm '/^mean/d'
expect 1 "0 passed, 1 failed" verify --kernel divides.toml $quick --only "$rows statistics=stored"
other once rmsnorm '/^normalized/d'
expect 1 "x rstd is rounded to the output's format before gamma" verify --kernel once.toml $quick --only "$rows class=normal"
expect 0 "rounding before gamma" propagate rmsnorm --kernel rmsnorm.toml --on emulator
other unknown rmsnorm 's/^normalized .*/normalized = "bf6"/'
expect 2 'did you mean "bf16"' verify --kernel unknown.toml $quick
# nvcc's own flags make one fma of sum * inverse + eps.
flags='s/^targets/flags = ["-std=c++20", "-O3"]\ntargets/'
other fused rmsnorm "$flags; s/^mean .*/mean = \"reciprocal either\"/"
expect 0 "1 passed, 0 failed" verify --kernel fused.toml $quick --only "$rows"
other apart rmsnorm "$flags"
expect 1 "+ eps is one fma" replay "apart m=64 n=33 statistics=stored value=integers seed=1" --kernel apart.toml --on emulator

# Softmax under --use_fast_math loses subnormal numbers, and says so.
expect 0 "1 passed, 0 failed" verify --kernel softmax.toml $quick --only "$rows"
other kept softmax '/^subnormals/d'
expect 1 "0 passed, 1 failed" verify --kernel kept.toml $quick --only "$rows"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
