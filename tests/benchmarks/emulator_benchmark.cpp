// SPDX-License-Identifier: MIT
// How fast the emulator runs kernels: multiply-accumulates per second, with bounds checks alone,
// with every check on, and with every check on and traffic counted. Needs the kernels of the build
// tree.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "fuzz/case_file/corpus.h"
#include "harness/emulator/emulator_device.h"
#include "harness/judge/case_runner.h"
#include "harness/launch/launch.h"
#include "kernels/registry.h"
#include "tests/folders.h"

namespace plumbline {
namespace {

// `line`: a case without its values. Arguments: chip, threads, and 0 for bounds checks alone, 1 for
// every check, 2 for counts of traffic beside them.
void emulate(benchmark::State& state, const std::string& line) {
  const Result<Registry> registry = Registry::open(PLUMBLINE_BINARY_DIR "/kernels");
  if (!registry) return state.SkipWithError(registry.error().text().c_str());
  const Result<Case> test_case = parse_case_line(line + " value=normal seed=0x1", *registry);
  if (!test_case) return state.SkipWithError(test_case.error().text().c_str());
  EmulatorOptions options;
  options.sm = static_cast<int>(state.range(0));
  options.threads = static_cast<int>(state.range(1));
  options.check_shadow = state.range(2) != 0;
  const std::unique_ptr<Device> device = make_emulator(options);
  const Manifest& kernel = *test_case->kernel;
  const Result<std::string> image = read_image(kernel, options.sm);
  if (!image) return state.SkipWithError(image.error().text().c_str());
  const Result<std::unique_ptr<Module>> module = device->load(*image, kernel.ptx_path(options.sm));
  if (!module) return state.SkipWithError(module.error().text().c_str());
  Result<CaseTensors> tensors = materialize(*test_case);
  if (!tensors) return state.SkipWithError(tensors.error().text().c_str());
  LaunchChoices choices;
  choices.count_traffic = state.range(2) == 2;
  for (auto _ : state) {
    const Result<LaunchResult> launched =
        launch_case(*test_case, *tensors, *device, **module, choices);
    if (!launched) return state.SkipWithError(launched.error().text().c_str());
    state.SetIterationTime(launched->elapsed_ms / 1000);  // the kernel alone
  }
  state.counters["MAC/s"] = benchmark::Counter(kernel.operation->work(test_case->problem),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void on(benchmark::internal::Benchmark* benchmark, const std::vector<std::int64_t>& chips) {
  benchmark->ArgNames({"sm", "threads", "checks"})
      ->ArgsProduct({chips, {1, 2}, {0, 1, 2}})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

// Layout nt: both operands contiguous along k, as 8-bit kernels usually have them.
const std::string kCube = " m=512 n=512 k=512 layout=nt",
                  kHead = " heads=1 kv_heads=1 queries=1024 keys=1024 d=64 scale=0.125";

BENCHMARK_CAPTURE(emulate, gemm_bf16, "gemm_bf16" + kCube)->Apply([](auto* b) { on(b, {80, 90}); });
BENCHMARK_CAPTURE(emulate, gemm_fp8, "gemm_fp8" + kCube)->Apply([](auto* b) { on(b, {89, 90}); });
BENCHMARK_CAPTURE(emulate, gemm_bf16_hopper, "gemm_bf16_hopper" + kCube)->Apply([](auto* b) {
  on(b, {90});
});
BENCHMARK_CAPTURE(emulate, gemm_fp8_hopper, "gemm_fp8_hopper" + kCube)->Apply([](auto* b) {
  on(b, {90});
});
BENCHMARK_CAPTURE(emulate, gemm_s8, "gemm_s8" + kCube)->Apply([](auto* b) { on(b, {80}); });
BENCHMARK_CAPTURE(emulate, gemm_mxfp8_blackwell, "gemm_mxfp8_blackwell" + kCube)
    ->Apply([](auto* b) { on(b, {120}); });
BENCHMARK_CAPTURE(emulate, gemm_nvfp4, "gemm_nvfp4" + kCube)->Apply([](auto* b) { on(b, {120}); });
BENCHMARK_CAPTURE(emulate, gemm_bf16_tcgen05, "gemm_bf16_tcgen05" + kCube)->Apply([](auto* b) {
  on(b, {100});
});
BENCHMARK_CAPTURE(emulate, gemm_fp8_tcgen05, "gemm_fp8_tcgen05" + kCube)->Apply([](auto* b) {
  on(b, {100});
});
BENCHMARK_CAPTURE(emulate, gemm_nvfp4_tcgen05, "gemm_nvfp4_tcgen05" + kCube)->Apply([](auto* b) {
  on(b, {100});
});
BENCHMARK_CAPTURE(emulate, attention_bf16_forward, "attention_bf16_forward" + kHead)
    ->Apply([](auto* b) { on(b, {80, 90}); });
BENCHMARK_CAPTURE(emulate, attention_bf16_backward, "attention_bf16_backward" + kHead)
    ->Apply([](auto* b) { on(b, {80, 90}); });
BENCHMARK_CAPTURE(emulate, attention_fp8_forward, "attention_fp8_forward" + kHead)
    ->Apply([](auto* b) { on(b, {89, 90}); });

}  // namespace
}  // namespace plumbline
