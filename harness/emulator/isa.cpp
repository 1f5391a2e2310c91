// SPDX-License-Identifier: MIT
#include "harness/emulator/isa.h"

namespace plumbline::emulator {
namespace {

enum class Isa { base, avx2, avx512 };

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return Isa::avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return Isa::avx2;
#endif
  return Isa::base;
}

}  // namespace

Handler pick(const HandlerSet& set) {
  static const Isa isa = detect();
  switch (isa) {
    case Isa::avx512:
      return set.avx512;
    case Isa::avx2:
      return set.avx2;
    case Isa::base:
      return set.base;
  }
  return set.base;
}

}  // namespace plumbline::emulator
