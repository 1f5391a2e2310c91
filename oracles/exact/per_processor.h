// SPDX-License-Identifier: MIT
// For .cpp files with loops over whole operands: compiles a function for several instruction sets
// and picks one when the program starts. Include it last: from here on g++ also vectorizes loops of
// unknown length, which -O2 leaves scalar. No function marked so may depend on whether the compiler
// fuses or reorders; -ffp-contract=off holds here too.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#if defined(__x86_64__)
#define PLUMBLINE_PER_PROCESSOR __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#endif
#endif

#ifndef PLUMBLINE_PER_PROCESSOR
#define PLUMBLINE_PER_PROCESSOR
#endif
