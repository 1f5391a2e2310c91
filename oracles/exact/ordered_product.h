// SPDX-License-Identifier: MIT
// FP64 matrix products whose every sum is added in the order of k, each product and partial sum
// rounded once: the same bits on every processor and beside every BLAS library. For sums that are
// not exact and whose last bits reach a report. About half as fast as a good dgemm; what is exact
// in any order (gemm_sums.h) uses that.
#pragma once

#include <cstdint>

namespace plumbline {

// c[i * ldc + j] += sum_p a[i * lda + p] * b[j * ldb + p], for i < m, j < n, p < k. Both operands
// lie along k.
void add_ordered_product(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                         std::int64_t lda, const double* b, std::int64_t ldb, double* c,
                         std::int64_t ldc);

// c[i * ldc + j] += sum_p a[p * lda + i] * b[p * ldb + j]. Both operands lie across k.
void add_ordered_product_across(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                                std::int64_t lda, const double* b, std::int64_t ldb, double* c,
                                std::int64_t ldc);

}  // namespace plumbline
