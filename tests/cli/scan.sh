#!/usr/bin/env bash
# plumbline scan as a user runs it: instructions by name, by glob, of a kernel and of a PTX file, and bad input.
# Usage: scan.sh PROGRAM KERNEL_FOLDER
set -u
program=$1 kernels=$2
. "$(dirname "$(realpath "$0")")/expect.sh"
. "$tests/stopped_runs.sh"

expect 0 "on emulator sm_90, all 2^16 inputs" scan cvt.rn.satfinite.e4m3x2.f16x2 --on emulator
expect 0 "exact every result is the exact one, rounded" scan cvt.rn.satfinite.e4m3x2.f16x2 --on emulator
expect 0 "on emulator sm_100, all 16 inputs" scan cvt.rn.f16x2.e2m1x2 --on emulator
expect 0 "on emulator sm_120, all 2^16 inputs" scan tanh.approx.f16 --on emulator --sm 120
expect 0 "within 2^-10.99 absolute" scan tanh.approx.f16 --on emulator
expect 0 "scan: 4 passed, 0 failed" scan 'tanh.*16*' --on emulator
expect 0 "5,000 of 2^32 inputs" scan ex2.approx.f32 --sample 5000 --on emulator
expect 0 "5,000 of 2^64 pairs" scan div.full.f32 --sample 5000 --on emulator
expect 0 '"holds":true' scan tanh.approx.bf16 --format json --on emulator
expect 0 "cvt.rn.bf16x2.f32" scan softmax_bf16 --sample 5000 --on emulator
ptx=$(ls "$kernels"/shipped/softmax_bf16/*.ptx | head -n 1)
expect 0 "ex2.approx.ftz.f32" scan "$ptx" --sample 5000 --on emulator

expect 0 "scan: 4 passed, 0 failed" scan 'tanh*16*' --on emulator
expect 0 "scan: 5 passed, 0 failed" scan '*tanh*' --on emulator --sample 5000
expect 2 "no instruction, kernel or PTX file is named" scan
expect 2 "did you mean \"ex2.approx.f32\"?" scan ex2.approx.f23
expect 2 "no instruction matches \"cvt.e9*\"" scan 'cvt.e9*'
expect 2 "no kernel" scan softmax_bf61
expect 2 "none.ptx" scan none.ptx
expect 2 "operands of 64 bits" scan cvt.rn.f32.f64
expect 2 "it is of integers" scan div.s32
expect 2 "1024" scan ex2.approx.f32 --sample 1
expect 3 "sm_100" scan cvt.rn.f16x2.e2m1x2 --sm 90 --on emulator

# What was scanned before Ctrl-C stays.
"$program" scan tanh.approx.f16 ex2.approx.f32 --on emulator >interrupted.txt 2>&1 &
pid=$!
wait_until "$pid" grep -q within interrupted.txt
kill -INT $pid
wait $pid
[ $? = 130 ] || { echo "FAILED: an interrupted scan does not end with 130"; failed=$((failed + 1)); }
grep -q "scan: 1 passed, 0 failed, 1 not scanned" interrupted.txt || { echo "FAILED: the closing line"; cat interrupted.txt; failed=$((failed + 1)); }

echo "$passed passed, $failed failed"
exit "$((failed > 0))"
