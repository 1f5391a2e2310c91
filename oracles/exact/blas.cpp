// SPDX-License-Identifier: MIT
#include "oracles/exact/blas.h"

#include <cblas.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "oracles/base/random.h"

namespace plumbline {
namespace {

Error untrusted(std::string what) {
  return {ErrorKind::cannot_run, std::move(what), "",
          "exact sums fall back to slow integer arithmetic; use an unmodified OpenBLAS for speed"};
}

// Integers just below 2^26 / sqrt(k), all positive, so that every sum comes close to 2^52 and needs
// all its bits.
Status check_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto largest = static_cast<std::int64_t>(0x1p26 / std::sqrt(static_cast<double>(k)));
  Random random(static_cast<std::uint64_t>(m * k));
  std::vector<double> a(m * k), b(n * k), c(m * n);
  for (double& value : a) value = static_cast<double>(random.between(largest - 9, largest));
  for (double& value : b) value = static_cast<double>(random.between(largest - 9, largest));
  add_product(m, n, k, a.data(), k, b.data(), k, c.data(), n);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        sum += static_cast<std::int64_t>(a[i * k + p]) * static_cast<std::int64_t>(b[j * k + p]);
      }
      if (c[i * n + j] != static_cast<double>(sum)) {
        return untrusted(fmt::format(
            "the BLAS library's dgemm gave {:.17g} for an exact sum of {} products that is {}",
            c[i * n + j], k, sum));
      }
    }
  }
  return {};
}

Status check_all() {
  volatile double one = 1, half_ulp = 0x1p-53;
  if (one + half_ulp != 1 || one + half_ulp * 1.5 == 1 || one - half_ulp * 0.75 == 1) {
    return untrusted("the processor does not round FP64 to nearest even");
  }
  volatile float smallest = 0x1p-149f;
  if (double{smallest} != 0x1p-149)
    return untrusted("the processor flushes subnormal numbers to zero");
  if (Status status = check_product(8, 8, 1000); !status)
    return status;  // libraries treat small products specially
  return check_product(44, 36, 1000);
}

}  // namespace

void add_product(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
                 const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  openblas_set_num_threads(1);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k), 1, a, static_cast<blasint>(lda), b,
              static_cast<blasint>(ldb), 1, c, static_cast<blasint>(ldc));
}

Status blas_self_test() {
  static const Status status = check_all();
  return status;
}

std::string blas_description() {
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_AFFINITY ..."
  const std::size_t end = config.find(' ', config.find(' ') + 1);
  return fmt::format("{} {}", config.substr(0, end), openblas_get_corename());
}

}  // namespace plumbline
