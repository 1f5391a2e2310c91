// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/isa.h"

namespace plumbline::emulator {
namespace {

enum class Isa { base, avx2, avx512 };

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // What handlers are compiled for, but for f16c and lzcnt, which come with these and which not
  // every compiler can ask about.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("popcnt");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
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
