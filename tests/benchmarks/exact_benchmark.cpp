// SPDX-License-Identifier: MIT
// The exact oracle beside the two things it is measured against, in one program: OpenBLAS dgemm on
// the same sizes (how much exactness costs) and an mpfr_fma loop (what it replaces). Items are
// products a_ik b_kj, so "items_per_second" compares across rows; the last argument is the number
// of threads.
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/exact/freivalds.h"
#include "oracles/exact/gemm_operands.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/exact/real.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/gemm_definition.h"

namespace plumbline {
namespace {

double normal_value(Random& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum - 6;
}

std::uint64_t normal_code(Random& random) {
  return encode(format(FormatId::bf16), normal_value(random));
}

// Any finite bf16 code.
std::uint64_t any_code(Random& random) {
  for (;;) {
    const std::uint64_t bits = random.next() >> 48;
    if ((bits & 0x7f80) != 0x7f80) return bits;
  }
}

Tensor square(std::int64_t n, std::uint64_t (*code)(Random&), std::uint64_t seed) {
  Tensor out(TensorLayout{FormatId::bf16, {1, n, n}, {n * n, n, 1}, 0});
  Random random(seed);
  for (std::int64_t i = 0; i < n * n; ++i) out.set_bits_at(i, code(random));
  return out;
}

void count_products(benchmark::State& state, std::int64_t per_iteration) {
  state.SetItemsProcessed(state.iterations() * per_iteration);
}

void dgemm(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const auto size = static_cast<blasint>(n);
  std::vector<double> a(n * n), b(n * n), c(n * n);
  Random random(1);
  for (double& x : a) x = normal_value(random);
  for (double& x : b) x = normal_value(random);
  for (auto _ : state) {
    openblas_set_num_threads(static_cast<int>(state.range(1)));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size, size, size, 1, a.data(), size,
                b.data(), size, 0, c.data(), size);
    benchmark::DoNotOptimize(c.data());
  }
  count_products(state, n * n * n);
}

void exact_sums(benchmark::State& state, std::uint64_t (*code)(Random&)) {
  const std::int64_t n = state.range(0);
  const GemmOperands operands = decode_operands(square(n, code, 1), square(n, code, 2), 2);
  std::int64_t exact = 0;
  for (auto _ : state) {
    const SumEnclosures sums = gemm_sums(operands, static_cast<int>(state.range(1)));
    exact = 0;
    for (std::int64_t i = 0; i < n; ++i) exact += sums.bound[i * n + i] == 0;
  }
  state.counters["exact_share"] = static_cast<double>(exact) / static_cast<double>(n);
  count_products(state, n * n * n);
}

void decoding(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const Tensor a = square(n, normal_code, 1), b = square(n, normal_code, 2);
  for (auto _ : state) {
    benchmark::DoNotOptimize(decode_operands(a, b, static_cast<int>(state.range(1))).a.data());
  }
  state.SetItemsProcessed(state.iterations() * 2 * n * n);
}

void superaccumulator(benchmark::State& state) {
  const std::int64_t k = state.range(0);
  const GemmOperands operands = decode_operands(square(k, any_code, 1), square(k, any_code, 2), 2);
  std::int64_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(exact_dot(operands.row(0, i), operands.column(0, i), k));
    i = (i + 1) % k;
  }
  count_products(state, k);
}

// The loop that everyone writes first, at its best: operands converted beforehand to 53 bits,
// 128-bit sum.
void mpfr_fma_loop(benchmark::State& state) {
  const std::int64_t k = state.range(0);
  const GemmOperands operands =
      decode_operands(square(k, normal_code, 1), square(k, normal_code, 2), 2);
  std::vector<mpfr_t> a(k), b(k);
  mpfr_t sum;
  mpfr_init2(sum, 128);
  for (std::int64_t p = 0; p < k; ++p) {
    mpfr_init2(a[p], 53);
    mpfr_init2(b[p], 53);
    mpfr_set_d(a[p], operands.row(0, 0)[p], MPFR_RNDN);
    mpfr_set_d(b[p], operands.column(0, 0)[p], MPFR_RNDN);
  }
  for (auto _ : state) {
    mpfr_set_zero(sum, 1);
    for (std::int64_t p = 0; p < k; ++p) mpfr_fma(sum, a[p], b[p], sum, MPFR_RNDN);
  }
  count_products(state, k);
}

// One element by the MPFR definition, at its default and at 128 bits.
void definition(benchmark::State& state) {
  const std::int64_t k = 1024;
  const Tensor a = square(k, normal_code, 1), b = square(k, normal_code, 2);
  GemmProblem problem{.m = k, .n = k, .k = k, .a = &a, .b = &b};
  for (auto _ : state) {
    benchmark::DoNotOptimize(gemm_value(problem, 0, 1, 2, static_cast<int>(state.range(0))));
  }
  count_products(state, k);
}

std::uint64_t integer_code(Random& random) {
  return encode(format(FormatId::bf16), static_cast<double>(random.between(-100, 100)));
}

void freivalds(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const GemmOperands operands =
      decode_operands(square(n, integer_code, 1), square(n, integer_code, 2), 2);
  const SumEnclosures sums = gemm_sums(operands, 2);
  for (auto _ : state) {
    if (freivalds_wrong_row(operands, 0, sums.hi.data(),
                            {.vectors = 2, .threads = static_cast<int>(state.range(1))})) {
      state.SkipWithError("a true product was rejected");
    }
  }
  count_products(state, n * n * n);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int n : {512, 1024, 2048}) {
    for (const int threads : {1, 2}) benchmark->Args({n, threads});
  }
  benchmark->Unit(benchmark::kMillisecond)->UseRealTime();
}

BENCHMARK(dgemm)->Apply(sizes);
BENCHMARK_CAPTURE(exact_sums, normal, normal_code)->Apply(sizes);
BENCHMARK_CAPTURE(exact_sums, any_bits, any_code)->Apply(sizes);
BENCHMARK(freivalds)->Apply(sizes);
BENCHMARK(decoding)->Args({4096, 1})->Args({4096, 2})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(superaccumulator)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(mpfr_fma_loop)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(definition)->Arg(kExactBits)->Arg(128)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace plumbline
