// SPDX-License-Identifier: MIT
// The oracles of row operations that are built in, beside texts that say the same: the time to
// judge all outputs of a case, one thread, in one program.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/manifest/manifest.h"
#include "oracles/base/random.h"
#include "oracles/formats/encode.h"
#include "tests/folders.h"

namespace plumbline {
namespace {

struct Pair {
  const char* kernel;
  const char* text;
  const char* formats;
};

constexpr Pair kPairs[] = {
    {"softmax_bf16",
     "operation made(x[m, n]) -> y[m, n]\n"
     "  e[i, j] = exp(x[i, j] - max[k] x[i, k])\n  y[i, j] = e[i, j] / sum[k] e[i, k]\n",
     "x = \"bf16\"\ny = \"{out}\"\n"},
    {"rmsnorm_bf16",
     "operation made(x[m, n], gamma[n], eps = 1e-6) -> y[m, n], rstd[m]: f32\n"
     "  rstd[i] = rsqrt((sum[j] x[i, j]^2) / n + eps)\n  y[i, j] = x[i, j] * rstd[i] * gamma[j]\n",
     "x = \"bf16\"\ngamma = \"bf16\"\ny = \"{out}\"\n"},
    {"layernorm_bf16",
     "operation made(x[m, n], gamma[n], beta[n], eps = 1e-5) -> y[m, n], mean[m]: f32,"
     " rstd[m]: f32\n"
     "  mean[i] = (sum[j] x[i, j]) / n\n  away[i, j] = x[i, j] - mean[i]\n"
     "  rstd[i] = rsqrt((sum[j] away[i, j]^2) / n + eps)\n"
     "  y[i, j] = away[i, j] * rstd[i] * gamma[j] + beta[j]\n",
     "x = \"bf16\"\ngamma = \"bf16\"\nbeta = \"bf16\"\ny = \"{out}\"\n"},
};

Manifest kernel_of(const Pair& pair, bool text) {
  if (!text) {
    const std::string name = pair.kernel;
    return *read_manifest(std::string(PLUMBLINE_SOURCE_DIR) + "/kernels/shipped/" + name + "/" +
                          name + ".toml");
  }
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "plumbline_texts_benchmark";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "made.op") << pair.text;
  const std::string manifest =
      std::string(
          "computes = \"made.op\"\nsummary = \"of a benchmark\"\n"
          "source = \"made.cu\"\ntargets = [80]\nentry = \"made\"\n"
          "parameters = []\n[problem]\nout = [\"bf16\", \"f32\"]\n[formats]\n") +
      pair.formats +
      "[launch]\ngrid = [1]\nblock = [32]\n[contract]\nlanes = 128\n"
      "vector = 8\n";
  const Result<Manifest> made = parse_manifest(manifest, (folder / "made.toml").string());
  if (!made) std::fputs(made.error().text().c_str(), stderr);
  return *made;
}

void Judge(benchmark::State& state, int pair, bool text) {
  const Manifest kernel = kernel_of(kPairs[pair], text);
  const Problem problem = *parse_problem(kernel.schema(), "m=64 n=1024 out=f32");
  CaseTensors tensors{*kernel.tensors(problem), {}};
  Random random(1);
  for (const TensorSpec& spec : tensors.specs) {
    Tensor& tensor = tensors.tensors.emplace_back(spec.layout);
    for (std::int64_t i = 0; i < spec.layout.count(); ++i)
      tensor.set_bits(i, encode(format(spec.layout.format), random.unit() * 2 - 1));
  }
  for (auto _ : state) {
    const auto oracle = kernel.operation->oracle(problem, kernel, 80, tensors);
    for (int output = 0; output < oracle->outputs(); ++output)
      benchmark::DoNotOptimize(
          oracle->judge(output, *tensors.find(oracle->output_name(output)), {}));
  }
  state.SetItemsProcessed(state.iterations() * 64 * 1024);
}

BENCHMARK_CAPTURE(Judge, softmax_built_in, 0, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Judge, softmax_text, 0, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Judge, rmsnorm_built_in, 1, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Judge, rmsnorm_text, 1, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Judge, layernorm_built_in, 2, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Judge, layernorm_text, 2, true)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plumbline
