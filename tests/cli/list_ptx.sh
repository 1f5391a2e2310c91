#!/usr/bin/env bash
# plumbline list ptx: what a file holds, and every instruction that is missing.
# Usage: list_ptx.sh PLUMBLINE SOURCE_DIR
program=$1 source=$2
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

cat >two.ptx <<'PTX'
.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry _ZN3lib3runILi64EEEvPf(.param .u64 p, .param .u32 n, .param .align 8 .b8 s[24])
.maxntid 128, 2, 1
{
  .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %d<4>;
  .shared .align 4 .b8 tile[192];
  mov.u32 %r0, tile;
  mov.u32 %r1, dynamic;
  frobnicate.b32 %r2, %r3;
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};
  add.u33 %d0, %d1, %d2;
  frobnicate.b32 %r3, %r4;
  frobnicate.b32 %r4, %r5;
  add.f32x2 %d0, %d1, %d2;
  ret;
}
.visible .entry plain() .reqntid 64 { ret; }
PTX
cat >rubin.ptx <<'PTX'
.version 9.1
.target sm_107a
.address_size 64
.visible .entry k(.param .u64 x)
{
  ret;
}
PTX
expect 0 "does not run Rubin (sm_107) is not emulated: nothing public says" list ptx rubin.ptx
expect 2 "Rubin (sm_107) is not emulated: nothing public says how its tensor cores add (compile for another chip)" init rubin.ptx
expect 2 "Rubin (sm_107) is not emulated: nothing public says how its tensor cores add (take another chip)" verify gemm_bf16 --sm 107
expect 0 "two.ptx: PTX 8.7 for sm_90a, 2 entries" list ptx two.ptx
expect 0 "_ZN3lib3runILi64EEEvPf (lib::run) line 5" list ptx two.ptx
expect 0 "parameters 3, of 8, 4, 24 bytes" list ptx two.ptx
expect 0 "shared memory 192 bytes, and what the launch gives it" list ptx two.ptx
expect 0 "launch bounds at most 128 x 2 x 1 threads" list ptx two.ptx
expect 0 "tensor cores mma m16n8k16 f32.bf16.bf16.f32, twice" list ptx two.ptx
expect 0 "does not run the emulator lacks 5 instructions:" list ptx two.ptx
expect 0 "frobnicate.b32 3 times, first at line 12 add.u33 once, first at line 15" list ptx two.ptx
expect 0 "add.f32x2 once, first at line 18: it needs .target sm_100 or higher" list ptx two.ptx
expect 0 "plain line 21 parameters none" list ptx two.ptx
expect 0 "launch bounds exactly 64 x 1 x 1 threads tensor cores not used runs" list ptx two.ptx

# Files as Triton writes them run whole.
expect 0 "runs the emulator has every instruction" list ptx "$source/tests/triton/softmax_sm_80.ptx"
# So do kernels of clusters.
expect 0 "runs the emulator has every instruction" list ptx "$source/tests/cute_dsl/gemm_bf16_pair_sm_100.ptx"

# A cooperative launch is asked for at run time; sparse products are named as such.
cat >more.ptx <<'PTX'
.version 8.7
.target sm_90
.visible .entry k() .reqnctapercluster 2, 1, 1
{
  .reg .b32 %r<16>; .reg .f32 %f<8>;
  mov.u32 %r0, %envreg2;
  mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%f0, %f1, %f2, %f3}, %r8, 0;
  ret;
}
PTX
expect 0 "cooperative reads %envreg1 or %envreg2" list ptx more.ptx
expect 0 "the emulator lacks 1 instruction: mma.sp::ordered_metadata" list ptx more.ptx
expect 0 "sparse products are not emulated" list ptx more.ptx

# What is no PTX, or not there, is wrong input.
expect 2 "no PTX file is named" list ptx
expect 2 "missing.ptx" list ptx missing.ptx
printf 'ELF\001\002' >binary.ptx
expect 2 "binary.ptx:1:" list ptx binary.ptx
printf '.version 8.7\n.target sm_90\n.visible .entry k() { bra nowhere; }\n' >broken.ptx
expect 2 "broken.ptx:3:" list ptx broken.ptx
# One entry that is no PTX does not hide the others, nor one file the next.
cat >some.ptx <<'PTX'
.version 8.7
.target sm_90
.func helper() { .reg .b32 %r<2>; add.u32 %r0, %r1, %q; ret; }
.visible .entry first() { .global .align 4 .u32 cell = nothing; bra nowhere; }
.visible .entry second() { call helper; ret; }
.visible .entry third() .reqntid 64 { ret; }
PTX
expect 2 "first line 4 parameters none is no PTX some.ptx:4:" list ptx some.ptx
expect 2 "second line 5 parameters none is no PTX some.ptx:3:" list ptx some.ptx
expect 2 "third line 6 parameters none shared memory 0 bytes" list ptx some.ptx
expect 2 "plain line 21" list ptx missing.ptx binary.ptx two.ptx
expect 0 "" init some.ptx --entry third --operation softmax --out -
expect 2 "some.ptx:4:" init some.ptx --entry first --operation softmax --out -
expect 2 "cannot list \"px\"" list px

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
