// SPDX-License-Identifier: MIT
#include "harness/emulator/decode/isa.h"

#include <hwy/targets.h>

#include <atomic>

namespace plumbline::emulator {
namespace {

// To ask takes microseconds.
std::atomic<std::int64_t>& targets_here() {
  static std::atomic<std::int64_t> targets = hwy::SupportedTargets();
  return targets;
}

}  // namespace

Handler pick(const HandlerSet& set) {
#if defined(__x86_64__)
  // HWY_AVX2 and HWY_AVX3 stand for at least what on_avx2 and on_avx512 are compiled for.
  const std::int64_t targets = targets_here().load(std::memory_order_relaxed);
  if ((targets & HWY_AVX3) != 0) return set.avx512;
  if ((targets & HWY_AVX2) != 0) return set.avx2;
#endif
  return set.base;
}

void pretend_to_have(std::int64_t targets) {
  targets_here() = targets == 0 ? hwy::SupportedTargets() : targets;
}

}  // namespace plumbline::emulator
