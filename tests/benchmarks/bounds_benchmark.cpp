// SPDX-License-Identifier: MIT
// Speed of the running bound (products a second, one thread) and of judging whole outputs. Figures:
// docs/measurements.md.
#include <benchmark/benchmark.h>

#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/reference/gemm/oracle.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"
#include "tests/oracles/bounds/accumulator/dot_samples.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

constexpr std::int64_t kDepth = 4096;

// Eight dot products of N(0, 1) data under a contract.
struct Panel {
  testing::NamedContract named;
  BoundModel model;
  std::vector<testing::DotSample> dots;
  PreparedVector row;
  PreparedPanel rows, columns;

  explicit Panel(std::size_t contract)
      : named(testing::bound_contracts()[contract]),
        model(*bound_model(named.contract, named.sm, named.a, named.b)) {
    Random random(1);
    for (int lane = 0; lane < kPanelLanes; ++lane) {
      dots.push_back(testing::dot_sample(testing::Data::normal, named.a, named.b, kDepth, random));
    }
    row.assign(dots[0].row.data(), kDepth, model.a_minimum_exponent);
    pack();
  }

  void pack() {
    std::array<BoundOperand, kPanelLanes> row_vectors{}, column_vectors{};
    for (std::size_t lane = 0; lane < kPanelLanes; ++lane) {
      row_vectors[lane] = dots[lane].row.data();
      column_vectors[lane] = dots[lane].column.data();
    }
    rows.assign(row_vectors, kDepth, model.a_minimum_exponent);
    columns.assign(column_vectors, kDepth, model.b_minimum_exponent);
  }
};

void count_products(benchmark::State& state, const Panel& panel, std::int64_t lanes) {
  state.SetItemsProcessed(state.iterations() * lanes * kDepth);
  state.SetLabel(panel.named.name + ", " + running_bounds_target());
}

void SharedRow(benchmark::State& state) {
  const Panel panel(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state)
    benchmark::DoNotOptimize(running_bounds(panel.model, panel.row, panel.columns));
  count_products(state, panel, kPanelLanes);
}

void Scattered(benchmark::State& state) {
  Panel panel(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    panel.pack();
    benchmark::DoNotOptimize(running_bounds(panel.model, panel.rows, panel.columns));
  }
  count_products(state, panel, kPanelLanes);
}

void Specification(benchmark::State& state) {
  const Panel panel(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        running_bound(panel.model, panel.dots[0].row.data(), panel.dots[0].column.data(), kDepth));
  }
  count_products(state, panel, 1);
}

BENCHMARK(SharedRow)->DenseRange(0, 17);
BENCHMARK(Scattered)->Arg(4)->Arg(11);
BENCHMARK(Specification)->Arg(4)->Arg(11);

// A cube of N(0, 1) bf16 with correctly rounded outputs, the sums given; two threads.
void Judge(benchmark::State& state, FormatId output, std::int64_t most) {
  const std::int64_t n = state.range(0);
  testing::GemmSetup setup;
  setup.m = setup.n = setup.k = n;
  setup.output = output;
  testing::Gemm gemm(setup);
  const testing::NamedContract promised = testing::hopper_bf16();
  GemmOracle oracle(gemm.problem, promised.contract, promised.sm, 2);
  SumEnclosures sums = gemm_sums(oracle.gemm().operands, 2);
  for (std::int64_t index = 0; index < n * n; ++index) {
    const auto s = static_cast<std::size_t>(index);
    gemm.d.set_bits(
        index,
        encode(format(output), static_cast<double>(static_cast<float>(sums.hi[s] + sums.lo[s]))));
  }
  oracle.use_sums(std::move(sums));
  JudgeOptions options;
  options.threads = 2;
  options.max_bounded = most;
  for (auto _ : state) benchmark::DoNotOptimize(oracle.judge(0, gemm.d, options));
  state.SetItemsProcessed(state.iterations() * n * n);
}

BENCHMARK_CAPTURE(Judge, bf16, FormatId::bf16, -1)
    ->Arg(2048)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(Judge, f32, FormatId::f32, -1)
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(Judge, f32_sampled, FormatId::f32, 65536)
    ->Arg(2048)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace plumbline
