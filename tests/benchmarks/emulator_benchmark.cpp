// SPDX-License-Identifier: MIT
// How fast the emulator runs the GEMM kernels: multiply-accumulates per second, with bounds checks alone and with every check on.
// Needs the kernels of the build tree.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "fuzz/corpus.h"
#include "harness/case_runner.h"
#include "harness/emulator/emulator_device.h"
#include "harness/launch.h"
#include "kernels/registry.h"

namespace plumbline {
namespace {

// Arguments: size of the cube, chip, threads, every check on.
void gemm(benchmark::State& state, const std::string& kernel) {
  const Result<Registry> registry = Registry::open(PLUMBLINE_BINARY_DIR "/kernels");
  if (!registry) return state.SkipWithError(registry.error().text().c_str());
  const std::string size = std::to_string(state.range(0));
  const Result<Case> test_case =
      parse_case_line(kernel + " m=" + size + " n=" + size + " k=" + size + " layout=nt value=normal seed=0x1", *registry);
  if (!test_case) return state.SkipWithError(test_case.error().text().c_str());
  EmulatorOptions options;
  options.sm = static_cast<int>(state.range(1));
  options.threads = static_cast<int>(state.range(2));
  options.check_shadow = state.range(3) != 0;
  const std::unique_ptr<Device> device = make_emulator(options);
  const Result<std::string> image = read_image(*test_case->kernel, options.sm);
  if (!image) return state.SkipWithError(image.error().text().c_str());
  const Result<std::unique_ptr<Module>> module = device->load(*image, kernel + ".ptx");
  if (!module) return state.SkipWithError(module.error().text().c_str());
  Result<CaseTensors> tensors = materialize(*test_case);
  if (!tensors) return state.SkipWithError(tensors.error().text().c_str());
  for (auto _ : state) {
    const Result<LaunchResult> launched = launch_case(*test_case, *tensors, *device, **module);
    if (!launched) return state.SkipWithError(launched.error().text().c_str());
    state.SetIterationTime(launched->elapsed_ms / 1000);  // the kernel alone
  }
  const double cube = static_cast<double>(state.range(0));
  state.counters["MAC/s"] =
      benchmark::Counter(cube * cube * cube, benchmark::Counter::kIsIterationInvariantRate);
}

// Layout nt: both operands contiguous along k, as 8-bit kernels usually have them.
void sizes(benchmark::internal::Benchmark* benchmark, const std::vector<std::int64_t>& chips) {
  benchmark->ArgNames({"size", "sm", "threads", "checks"})
      ->ArgsProduct({{512}, chips, {1, 2}, {0, 1}})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(gemm, bf16, "gemm_bf16")->Apply([](auto* b) { sizes(b, {80, 90}); });
BENCHMARK_CAPTURE(gemm, e4m3, "gemm_fp8")->Apply([](auto* b) { sizes(b, {89, 90}); });
BENCHMARK_CAPTURE(gemm, s8, "gemm_s8")->Apply([](auto* b) { sizes(b, {80}); });

}  // namespace
}  // namespace plumbline
