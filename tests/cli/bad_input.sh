#!/usr/bin/env bash
# The program as a user meets it when the input is wrong: each message and exit code. Usage: bad_input.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"

one="gemm_bf16 m=4 n=4 k=4 value=normal seed=0x1"

# The command line.
expect 0 "verify" 
expect 2 'did you mean "verify"' verfy gemm_bf16
expect 2 'did you mean "--profile"' verify --profil quick
expect 2 'did you mean "gemm_bf16"' verify gemm_bf15
expect 2 'no kernel matches "nothing_*"' verify 'nothing_*'
expect 2 'did you mean "class"' verify gemm_bf16 --only 'clas=normal'
expect 2 'no case of these kernels has class=integr (did you mean "integers"' verify gemm_bf16 --only 'class=integr'
expect 2 'did you mean "k_tail"' verify gemm_bf16 --only 'shape=ktail'
expect 4 "0 passed" verify gemm_bf16 --profile quick --only 'm=123456' --on emulator
expect 2 'k is compared with "1e9", which is no whole number (digits alone' verify gemm_bf16 --only 'k>1e9'
expect 2 'k is compared with "ten", which is no whole number' verify gemm_bf16 --only 'k=ten'
expect 2 'alpha is compared with "half", which is no number' verify gemm_bf16 --only 'alpha=half'
expect 4 'sm_75' explain "gemm_bf16 m=1 n=1 k=1 value=ones seed=0x1" --on emulator --sm 75
expect 2 "cannot list" list kernel_
expect 2 "--out is empty" verify softmax_bf16 --out ''
expect 3 "no NVIDIA driver here" verify gemm_bf16 --on gpu

expect 2 'did you mean "G01"' mutants gemm_bf16 --only G0l
expect 2 'no mutant "XXXXXX" of these kernels (there are C01, G01, ' mutants gemm_bf16 --only XXXXXX
expect 0 "L F p evidence" list models
expect 2 'no mutant "zzzzzz"' mutants softmax_bf16 --auto 1 --only zzzzzz --profile quick
expect 2 "not in range" mutants gemm_bf16 --auto 0
expect 2 'did you mean "gemm_bf16"' mutants gemm_bf15 --auto 1
expect 4 "0 caught" mutants gemm_s8 --auto 1 --sm 75

# What explain is asked to explain: every name of it.
expect 2 'there is no kernel "gemm_bf15" (did you mean "gemm_bf16"?)' explain gemm_bf15
expect 0 "emulator sm_80, by its contract" explain "$one" gemm_s8 --sm 80
expect 0 "pass $one" explain gemm_s8 "$one" --sm 80
expect 4 "has no build for sm_75" explain gemm_s8 --sm 75
expect 2 "explain does not know --no-shrink" explain gemm_s8 --no-shrink

# Standard output holds JSON alone, or --format json is refused.
expect 2 "list has no --format json" list --format json
"$program" replay "$one" --on emulator --format json --tensors dumps 2>/dev/null | python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)' || { echo "FAILED: not JSON alone: replay --tensors"; failed=$((failed + 1)); }
"$program" verify gemm_bf16 --failed --format json 2>/dev/null | grep . && { echo "FAILED: not JSON alone: verify --failed"; failed=$((failed + 1)); }

# Case files.
expect 2 "missing.case" replay missing.case
mkdir empty
expect 4 "nothing selected: no .case file in empty" replay empty
expect 4 "no .case file" explain empty
"$program" replay "$one" --on emulator >/dev/null || { echo "FAILED: the good case does not pass"; failed=$((failed + 1)); }
cat >whole.case <<'CASE'
# plumbline case 1
case gemm_bf16 m=1 n=1 k=2
a bf16[1,1,2] 3f80 4000
b bf16[1,2,1] 3f80 3f80
end
CASE
expect 0 "1 passed" replay whole.case --on emulator
expect 2 "/dev/zero: is a device" replay /dev/zero
head -c 60 whole.case >half.case
expect 2 "half.case:" replay half.case
sed 's/3f80 4000/3f80 400/' whole.case >digits.case
expect 2 "digits.case:3:" replay digits.case
sed 's/gemm_bf16/gemm_bf61/' whole.case >kernel.case
expect 2 'did you mean "gemm_bf16"' replay kernel.case
expect 2 "command line" replay "gemm_bf16 m=4 n=4 kk=4"
expect 2 "ldd=2 is shorter than a stored row of d" replay "gemm_bf16 m=4 n=4 k=4 ldd=2" --on emulator
expect 2 "32-bit in this kernel" replay "gemm_bf16 m=1 n=1 k=3000000000 stride_a=0 stride_b=0 value=normal seed=0x1" --on emulator

# Manifests and PTX of a kernel from outside the tree.
mkdir -p mine
cp "$kernels"/shipped/gemm_bf16/gemm_bf16.toml mine/mine.toml
sed -i 's/^computes/compuets/' mine/mine.toml
expect 2 'did you mean "computes"' verify mine --kernel mine/mine.toml
expect 2 "mine.toml:" verify mine --kernel mine/mine.toml
expect 2 "nowhere.toml" list --kernel nowhere.toml
expect 2 "is a folder" verify --kernel mine

# What a manifest says of an entry is held against the PTX before anything runs, where it says it.
copy own gemm_bf16 's/^entry .*/entry = "gemm_bf17"/'
line=$(grep -n '^entry' own/own.toml | cut -d: -f1)
expect 2 "own/own.toml:$line:10: there is no entry \"gemm_bf17\" in own.sm_80.ptx (entries: gemm_bf16_nn_bf16" list kernels --kernel own/own.toml
expect 2 "own/own.toml:$line:10: there is no entry" verify --kernel own/own.toml --on emulator
copy own gemm_bf16 's/"s64 ld_b"/"s32 ld_b"/'
expect 2 "(s32 ld_b) is 8 bytes wide in entry gemm_bf16_nn_bf16, 4 in the manifest" list kernels --kernel own/own.toml
copy own gemm_bf16 's/"s64 ld_b", //'
expect 2 "entry gemm_bf16_nn_bf16 takes 21 parameters, the manifest lists 20" explain --kernel own/own.toml --on emulator
copy own gemm_bf16 's/^block .*/block = [2560]/'
expect 2 "own/own.toml:$(grep -n '^block' own/own.toml | cut -d: -f1):10: \"block\" has 2560 threads in its dimension x (1 to 1024" list kernels --kernel own/own.toml
copy own gemm_bf16 "s/^block .*/block = ['2560']/"
expect 3 "a block of 2560 x 1 x 1 threads; 1024 x 1024 x 64 are the most" replay "own m=1 n=1 k=1 value=ones seed=0x1" --kernel own/own.toml --on emulator
copy own gemm_bf16 's/^source/source/'
expect 0 "own" list kernels --kernel own/own.toml
expect 2 "no kernel of the manifests given by --kernel (own) is among those that are named" verify gemm_bf16 --kernel own/own.toml
expect 4 "plumbline mutants --kernel own/own.toml --auto 50" mutants --kernel own/own.toml
# A kernel of the kernel folder is checked when it is listed.
copy own gemm_bf16 's/"s64 ld_b", //'
mkdir -p tree/shipped && cp -a own tree/shipped/own
PLUMBLINE_KERNELS=tree expect 2 "entry gemm_bf16_nn_bf16 takes 21 parameters, the manifest lists 20" list kernels
PLUMBLINE_KERNELS=tree expect 0 "mma.sync" list models
copy own gemm_bf16 's/^bias *= "f32"/bias = "s32"/'
expect 2 '"bias" of gemm cannot be s32 (it can be bf16, f16, f32)' verify --kernel own/own.toml

# with_ptx FILE: a manifest whose kernel is that PTX file.
with_ptx() { sed -e 's/^source.*/ptx = "'"$1"'"/' -e 's/^targets.*/targets = [80]/' "$kernels"/shipped/gemm_bf16/gemm_bf16.toml >mine/mine.toml; }
ptx="$kernels"/shipped/gemm_bf16/gemm_bf16.sm_80.ptx
mine="mine m=4 n=4 k=4 value=normal seed=0x1"
cp "$ptx" mine/good.ptx
with_ptx .
expect 3 "is a folder" replay "$mine" --kernel mine/mine.toml --on emulator
with_ptx good.ptx
expect 0 "1 passed" replay "$mine" --kernel mine/mine.toml --on emulator
expect 2 "others need --kernel FILE" replay "$mine" --on emulator
expect 0 "emulator sm_80, by its contract" explain --kernel mine/mine.toml --on emulator
sed '0,/cp.async.commit_group/s//cp.sync.commit_group/' "$ptx" >mine/unknown.ptx
with_ptx unknown.ptx
expect 3 "cp.sync.commit_group" replay "$mine" --kernel mine/mine.toml --on emulator
expect 3 "unknown.ptx:" replay "$mine" --kernel mine/mine.toml --on emulator
sed 's/^\.version.*/.version 99.0/' "$ptx" >mine/version.ptx
with_ptx version.ptx
expect 3 "99.0" replay "$mine" --kernel mine/mine.toml --on emulator
sed 's/gemm_bf16_nn_bf16/gemm_other/' "$ptx" >mine/symbol.ptx
with_ptx symbol.ptx
expect 3 "gemm_bf16_nn_bf16" replay "$mine" --kernel mine/mine.toml --on emulator
# The first `ret;` of every entry becomes a jump to itself.
sed 's/^\tret;/$L_plumbline_loop:\n\tbra.uni $L_plumbline_loop;/' "$ptx" >mine/loop.ptx
with_ptx loop.ptx
expect 1 "endless" replay "$mine" --kernel mine/mine.toml --on emulator

# A kernel whose every case is endless costs its full patience twice, and little after that.
expect 1 "endless" verify --kernel mine/mine.toml --profile quick --only 'm<=64 n<=64' --no-corpus --no-shrink --on emulator

# What a stranger's files may not do: run programs, or write into a log what its reader obeys.
hostile='folder $(touch executed)'
mkdir "$hostile" && cp "$kernels"/shipped/gemm_bf16/gemm_bf16.toml "$hostile/mine.toml" && echo '__global__ void k() {}' >"$hostile/gemm_bf16.cu"
expect 3 "the shell that nvcc calls would interpret the '\$' in this path" verify --kernel "$hostile/mine.toml" --on emulator
[ ! -e executed ] && [ ! -e "$hostile/executed" ] || { echo "FAILED: the name of a folder was executed"; failed=$((failed + 1)); }
expect 3 "no PTX of mine" replay "$mine" --kernel "$hostile/mine.toml" --no-compile --on emulator
copy own gemm_bf16 's/^targets/flags = ["-ccbin", ".\/cc.sh"]\ntargets/'
expect 2 'the flag "-ccbin" is not one that a manifest may set' list kernels --kernel own/own.toml
mkdir forged
sed 's/gemm_bf16_nn_bf16/gemm_other/' "$ptx" >"forged/a
::stop-commands::x.ptx"
sed -e 's/^source.*/ptx = "a\\n::stop-commands::x.ptx"/' -e 's/^targets.*/targets = [80]/' "$kernels"/shipped/gemm_bf16/gemm_bf16.toml >forged/mine.toml
forged=$(GITHUB_ACTIONS=true "$program" replay "$mine" --kernel forged/mine.toml --on emulator 2>&1)
[[ "$forged" == *stop-commands* ]] && ! grep -q '^ *::stop-commands' <<<"$forged" || { echo "FAILED: a file name became a workflow command: $forged"; failed=$((failed + 1)); }

# Standard output that is closed does not share its number with a file of the run.
"$program" verify gemm_bf16 --profile quick --only 'class=ones k<=64 m<=64' --no-corpus --on emulator --out closed 2>/dev/null >&-
"$program" report closed/latest --out reported >/dev/null || { echo "FAILED: what is printed went into a file of the run"; failed=$((failed + 1)); }

# Limits of the machine.
expect 2 "not i/n with 1 <= i <= n <= 10000" verify gemm_bf16 --shard 1/2147483647 --on emulator
expect 2 "--for inf is not a duration" fuzz gemm_bf16 --for inf --on emulator
expect 3 "GiB" replay "gemm_bf16 m=900000 n=900000 k=64 value=normal seed=0x1" --on emulator
expect 3 "0 passed, 0 failed, 0 skipped, 1 could not run" replay "gemm_bf16 m=900000 n=900000 k=64 value=normal seed=0x1" --on emulator
# Space for 32 KiB a file: the record of a kernel that fails all cases does not fit, and nothing breaks down.
with_ptx good.ptx
cat >short_of_space <<RUN
#!/usr/bin/env bash
trap '' XFSZ
ulimit -f 32
exec "$program" "\$@"
RUN
chmod +x short_of_space
whole_program=$program
program=./short_of_space
expect 3 "record.json: cannot write" verify --kernel mine/mine.toml --profile quick --only 'm<=64 n<=64' --no-corpus --on emulator
sed -i 's/"f32 alpha"/"f32 0.5"/' mine/mine.toml
expect 1 "record.json: cannot write: File too large (make room, or choose another place)" verify --kernel mine/mine.toml --profile quick --only 'm<=16 n<=16' --no-corpus --no-shrink --on emulator
expect 1 "cannot write: File too large" fuzz --kernel mine/mine.toml --for 2s --seed 1 --only 'm<=16 n<=16' --no-corpus --no-shrink --on emulator
program=$whole_program
"$program" verify --kernel mine/mine.toml --profile quick --only 'm<=16 n<=16' --no-corpus --no-shrink --on emulator --format json >/dev/full
[ $? = 1 ] || { echo "FAILED: a full standard output changed the exit code"; failed=$((failed + 1)); }
"$program" list >/dev/full 2>full.log
[ $? = 3 ] && grep -q "the output could not be written" full.log || { echo "FAILED: no message said that a list was lost"; failed=$((failed + 1)); }
expect 2 "cannot write into the output folder" verify gemm_bf16 --profile quick --only 'm=1' --out /proc/plumbline --on emulator

# Limits on address space and processes end a run with a message, or slow it down; it never hangs. (OpenBLAS waits forever
# for memory, and interrupts the program where it gets no thread.)
patience=60
unset OPENBLAS_NUM_THREADS
run=(verify gemm_bf16 --profile quick --only class=normal --on emulator --sm 80 --no-corpus)

for kibibytes in 100000 250000 400000; do
  ulimit -S -v "$kibibytes"
  expect 3 "than is free" "${run[@]}" --out "out$kibibytes"
  ulimit -S -v unlimited
done
# Room for a few products at a time.
ulimit -S -v 1000000
expect 0 "1 passed" "${run[@]}" --out some -j 4
ulimit -S -v unlimited

# No thread but the first. Root may start as many as it likes, so it is another user's.
as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
if [ "$(id -u)" = 0 ] && chmod 777 . && "${as_nobody[@]}" test -x "$program"; then
  printf '#!/bin/sh\nexec %s prlimit --nproc=1 "%s" "$@"\n' "${as_nobody[*]}" "$program" >alone
  chmod 755 alone
  program=./alone
  expect 0 "1 passed" "${run[@]}" --out alone_out
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
