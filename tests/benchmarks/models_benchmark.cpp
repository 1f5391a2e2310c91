// SPDX-License-Identifier: MIT
// How fast tensor-core models run: one m16n8kK mma on ordinary data, by specification and on
// vectors. The vector path is to be at least 20 times as fast as the specification, and 7 GMAC/s
// for bf16 on sm_90 with AVX2.
#include <benchmark/benchmark.h>

#include <array>

#include "oracles/models/mma_plan.h"
#include "tests/oracles/models/mma_cases.h"

namespace plumbline {
namespace {

using enum FormatId;

// Enough different fragments that branches cannot be learned, few enough to stay in the first-level
// cache.
std::array<Fragments, 8> ordinary_fragments(const MmaKind& kind) {
  Random random(1);
  std::array<Fragments, 8> fragments;
  for (Fragments& one : fragments) one = random_fragments(kind, ValueMix::ordinary, random);
  return fragments;
}

template <typename Run>
void measure(benchmark::State& state, const MmaKind& kind, Run run) {
  const std::array<Fragments, 8> fragments = ordinary_fragments(kind);
  LaneRegister d[4];
  std::size_t next = 0;
  for (auto _ : state) {
    if (!run(fragments[next % fragments.size()], d)) state.SkipWithError("declined");
    benchmark::ClobberMemory();
    ++next;
  }
  const double products = 16.0 * 8.0 * kind.shape.k * static_cast<double>(state.iterations());
  state.counters["MAC/s"] = benchmark::Counter(products, benchmark::Counter::kIsRate);
  state.SetLabel(mma_fast_target());
}

void fast(benchmark::State& state, const FragmentKind& kind) {
  const MmaPlan plan(kind.mma);
  MmaWorkspace workspace;
  measure(state, kind.mma, [&](const Fragments& in, LaneRegister* d) {
    return plan.run_fast(in.a, in.b, in.c, d, workspace);
  });
}

void spec(benchmark::State& state, const FragmentKind& kind) {
  measure(state, kind.mma, [&kind](const Fragments& in, LaneRegister* d) {
    mma_spec(kind.mma, in.a, in.b, in.c, d);
    return true;
  });
}

const FragmentKind kKinds[] = {
    float_kind(90, bf16, bf16, 16),  float_kind(80, bf16, bf16, 16),
    float_kind(80, bf16, bf16, 8),   float_kind(90, f16, f16, 16),
    float_kind(80, f16, f16, 16),    float_kind(89, e4m3, e4m3, 32),
    float_kind(90, e4m3, e4m3, 32),  float_kind(120, e5m2, e5m2, 32),
    float_kind(120, e4m3, e4m3, 32), float_kind(120, e3m2, e2m3, 32),
    integer_kind(s8, s8, 32, false),
};

const bool kRegistered = [] {
  for (const FragmentKind& kind : kKinds) {
    benchmark::RegisterBenchmark(("fast/" + kind.name).c_str(), fast, kind);
    benchmark::RegisterBenchmark(("spec/" + kind.name).c_str(), spec, kind);
  }
  return true;
}();

}  // namespace
}  // namespace plumbline
