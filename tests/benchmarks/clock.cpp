// SPDX-License-Identifier: MIT
// The clock rate that this machine really runs at: additions that wait for each other take a cycle
// each. In every benchmark program, so that a shared machine's rate of the moment is known beside
// its figures, and MAC per cycle can be compared between machines
// (--benchmark_enable_random_interleaving).
#include <cstdint>

#include <benchmark/benchmark.h>

namespace plumbline {
namespace {

void clock_rate(benchmark::State& state) {
  constexpr int kAdditions = 1 << 16;
  std::int64_t sum = 0;
  for (auto _ : state) {
    for (int i = 0; i < kAdditions; ++i) {
      ++sum;
      benchmark::DoNotOptimize(sum);
    }
  }
  state.counters["Hz"] =
      benchmark::Counter(kAdditions, benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK(clock_rate)->Name("clock");

}  // namespace
}  // namespace plumbline
