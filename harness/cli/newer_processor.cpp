// SPDX-License-Identifier: MIT
#include "harness/cli/newer_processor.h"

#include <cblas.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace plumbline {
namespace {

// Of OpenBLAS's names, the newest whose instructions this processor has; null for none but the old.
const char* best_kernels() {
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

}  // namespace

void restart_with_faster_blas(char** argv) {
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  if (std::getenv(kVariable) != nullptr) return;
  if (std::string_view(openblas_get_corename()) != "Prescott") return;
  const char* kernels = best_kernels();
  if (kernels == nullptr || setenv(kVariable, kernels, /*overwrite=*/0) != 0) return;
  execv("/proc/self/exe", argv);  // returns only where it fails: then slowly
}

}  // namespace plumbline
