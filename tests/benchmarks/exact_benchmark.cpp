// SPDX-License-Identifier: MIT
// The exact oracle beside the two things it is measured against, in one program: OpenBLAS dgemm on
// the same sizes (how much exactness costs) and an mpfr_fma loop (what it replaces). Items are
// products a_ik b_kj, so "items_per_second" compares across rows; the last argument is the number
// of threads. family/... time dgemm and an oracle in turns, one right after the other, and report
// the ratio of the shortest times: x_dgemm.
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <mpfr.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <thread>
#include <vector>

#include "oracles/base/random.h"
#include "oracles/exact/freivalds.h"
#include "oracles/exact/gemm_block_sums.h"
#include "oracles/exact/gemm_operands.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/exact/real.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/gemm/definition.h"

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

Tensor matrix(FormatId format, std::int64_t rows, std::int64_t columns,
              std::uint64_t (*code)(Random&), std::uint64_t seed) {
  Tensor out(TensorLayout{format, {1, rows, columns}, {rows * columns, columns, 1}, 0});
  Random random(seed);
  for (std::int64_t i = 0; i < rows * columns; ++i) out.set_bits_at(i, code(random));
  return out;
}

Tensor square(std::int64_t n, std::uint64_t (*code)(Random&), std::uint64_t seed) {
  return matrix(FormatId::bf16, n, n, code, seed);
}

template <FormatId id>
std::uint64_t normal_code_of(Random& random) {
  return encode(format(id), normal_value(random), {.overflow = Overflow::saturate});
}

// Any finite code of an 8-bit format.
template <FormatId id>
std::uint64_t any_code_of(Random& random) {
  for (;;) {
    const std::uint64_t bits = random.next() >> 56;
    if (std::isfinite(to_double(format(id), bits))) return bits;
  }
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
    const FreivaldsCheck check =
        freivalds_check(operands, sums, 1, static_cast<int>(state.range(1)));
    if (check.wrong_row || check.sums != n * n) state.SkipWithError("a true product was rejected");
  }
  count_products(state, n * n * n);
}

float f32_scale(Random& random) { return static_cast<float>(0.5 + random.unit()); }

float power_of_two(Random& random) {
  return std::ldexp(1.0f, static_cast<int>(random.between(-4, 4)));
}

float e4m3_scale(Random& random) {
  const Format& e4m3 = format(FormatId::e4m3);
  return static_cast<float>(to_double(e4m3, encode(e4m3, f32_scale(random))));
}

struct FamilyRow {
  const char* name;
  FormatId a, b;
  std::uint64_t (*code_a)(Random&);
  std::uint64_t (*code_b)(Random&);
  std::int64_t depth = 0;  // of a block that has a scale
  float (*scale)(Random&) = nullptr;
};

constexpr FormatId kE4m3 = FormatId::e4m3, kE5m2 = FormatId::e5m2, kS8 = FormatId::s8,
                   kE2m1 = FormatId::e2m1, kE2m3 = FormatId::e2m3, kE3m2 = FormatId::e3m2;

constexpr FamilyRow kFamily[] = {
    {"e4m3", kE4m3, kE4m3, normal_code_of<kE4m3>, normal_code_of<kE4m3>},
    {"e4m3_any_bits", kE4m3, kE4m3, any_code_of<kE4m3>, any_code_of<kE4m3>},
    {"int8", kS8, kS8, any_code_of<kS8>, any_code_of<kS8>},
    {"e5m2", kE5m2, kE5m2, normal_code_of<kE5m2>, normal_code_of<kE5m2>},
    {"e5m2_any_bits", kE5m2, kE5m2, any_code_of<kE5m2>, any_code_of<kE5m2>},
    {"e4m3_x_e5m2", kE4m3, kE5m2, normal_code_of<kE4m3>, normal_code_of<kE5m2>},
    {"e4m3_x_e5m2_any_bits", kE4m3, kE5m2, any_code_of<kE4m3>, any_code_of<kE5m2>},
    {"e4m3_scaled_128", kE4m3, kE4m3, normal_code_of<kE4m3>, normal_code_of<kE4m3>, 128, f32_scale},
    {"e5m2_scaled_128", kE5m2, kE5m2, normal_code_of<kE5m2>, normal_code_of<kE5m2>, 128, f32_scale},
    {"e4m3_scaled_powers_32", kE4m3, kE4m3, normal_code_of<kE4m3>, normal_code_of<kE4m3>, 32,
     power_of_two},
    {"e4m3_scaled_32", kE4m3, kE4m3, normal_code_of<kE4m3>, normal_code_of<kE4m3>, 32, f32_scale},
    {"mxfp4", kE2m1, kE2m1, normal_code_of<kE2m1>, normal_code_of<kE2m1>, 32, power_of_two},
    {"mxfp6", kE3m2, kE2m3, normal_code_of<kE3m2>, normal_code_of<kE2m3>, 32, power_of_two},
    {"nvfp4", kE2m1, kE2m1, normal_code_of<kE2m1>, normal_code_of<kE2m1>, 16, e4m3_scale},
};

BlockScales random_scales(const FamilyRow& row, std::int64_t m, std::int64_t n, std::int64_t k) {
  BlockScales out{.depth = row.depth, .blocks = k / row.depth, .m = m, .n = n, .a = {}, .b = {}};
  Random random(3);
  for (std::int64_t i = 0; i < out.blocks * m; ++i) out.a.push_back(row.scale(random));
  for (std::int64_t j = 0; j < out.blocks * n; ++j) out.b.push_back(row.scale(random));
  return out;
}

// Arguments: row of kFamily, m, n, k, threads.
void family(benchmark::State& state) {
  const FamilyRow& row = kFamily[state.range(0)];
  const std::int64_t m = state.range(1), n = state.range(2), k = state.range(3);
  const auto threads = static_cast<int>(state.range(4));
  const GemmOperands operands =
      decode_operands(matrix(row.a, m, k, row.code_a, 1), matrix(row.b, k, n, row.code_b, 2), 2);
  const BlockScales scales = row.depth != 0 ? random_scales(row, m, n, k) : BlockScales{};
  const std::vector<double> a(operands.a.begin(), operands.a.end()),
      b(operands.b.begin(), operands.b.end());
  std::vector<double> c(static_cast<std::size_t>(m * n));
  using Clock = std::chrono::steady_clock;
  double plain = std::numeric_limits<double>::infinity(), ours = plain, undecided = 0;
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    openblas_set_num_threads(threads);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(m),
                static_cast<blasint>(n), static_cast<blasint>(k), 1, a.data(),
                static_cast<blasint>(k), b.data(), static_cast<blasint>(k), 0, c.data(),
                static_cast<blasint>(n));
    const Clock::time_point between = Clock::now();
    const SumEnclosures sums =
        row.depth != 0 ? gemm_block_sums(operands, scales, threads) : gemm_sums(operands, threads);
    const Clock::time_point end = Clock::now();
    plain = std::min(plain, std::chrono::duration<double>(between - start).count());
    ours = std::min(ours, std::chrono::duration<double>(end - between).count());
    state.SetIterationTime(std::chrono::duration<double>(end - between).count());
    undecided = 0;
    for (const double bound : sums.bound) undecided += bound > 0 ? 1 : 0;
  }
  state.SetLabel(row.name);
  state.counters["x_dgemm"] = ours / plain;
  state.counters["inexact_share"] = undecided / static_cast<double>(m * n);
  count_products(state, m * n * k);
}

void family_sizes(benchmark::internal::Benchmark* benchmark) {
  for (int row = 0; row < static_cast<int>(std::size(kFamily)); ++row) {
    for (const int threads : {1, 2}) {
      benchmark->Args({row, 2048, 2048, 2048, threads});
      benchmark->Args({row, 512, 512, 4096, threads});
    }
  }
  benchmark->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(5);
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
BENCHMARK(family)->Apply(family_sizes);
BENCHMARK(freivalds)->Apply(sizes);
BENCHMARK(decoding)->Args({4096, 1})->Args({4096, 2})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(superaccumulator)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(mpfr_fma_loop)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(definition)->Arg(kExactBits)->Arg(128)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace plumbline
