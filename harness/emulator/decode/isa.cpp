// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/isa.h"

#include <hwy/targets.h>

namespace plumbline::emulator {

Handler pick(const HandlerSet& set) {
#if defined(__x86_64__)
  // HWY_AVX2 and HWY_AVX3 stand for at least what on_avx2 and on_avx512 are compiled for.
  const std::int64_t supported = hwy::SupportedTargets();
  if ((supported & HWY_AVX3) != 0) return set.avx512;
  if ((supported & HWY_AVX2) != 0) return set.avx2;
#endif
  return set.base;
}

}  // namespace plumbline::emulator
