// SPDX-License-Identifier: MIT
// The FP64 and f32 matrix products of OpenBLAS, single-threaded: threads are ours, over blocks, so
// that the order of additions in a block never depends on how many there are. The only file that
// includes cblas.h.
#pragma once

#include <cstdint>
#include <string>

#include "oracles/base/result.h"

namespace plumbline {

// c[i * ldc + j] += sum_p a[i * lda + p] * b[j * ldb + p], for i < m, j < n, p < k. Both operands
// lie along k.
void add_product(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
                 const double* b, std::int64_t ldb, double* c, std::int64_t ldc);

// c[i * ldc + j] += sum_p a[p * lda + i] * b[p * ldb + j]. Both operands lie across k.
void add_product_across(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                        std::int64_t lda, const double* b, std::int64_t ldb, double* c,
                        std::int64_t ldc);

// c[i * ldc + j] = add_product()'s in f32.
void product_f32(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
                 const float* b, std::int64_t ldb, float* c, std::int64_t ldc);

// Whether the library adds products as IEEE arithmetic does: integers up to 2^52 must come out
// exact, which they do not under Strassen's algorithm, emulated FP64, another rounding mode or
// flushed subnormals. Checked once per process.
Status blas_self_test();

// The same for f32 products and integers up to 2^24.
Status blas_f32_self_test();

// "OpenBLAS 0.3.21 Haswell": version and the kernels it chose for this processor.
std::string blas_description();

}  // namespace plumbline
