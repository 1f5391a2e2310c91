// SPDX-License-Identifier: MIT
#include "harness/propagation/stacks.h"

#include <cmath>

#include "harness/launch/interrupt.h"
#include "harness/propagation/decoding.h"
#include "harness/propagation/denoising.h"
#include "harness/propagation/depth.h"
#include "oracles/base/assert.h"

namespace plumbline {
namespace {

struct AllOptions {
  DepthOptions depth;
  DecodingOptions decoding;
  DenoisingOptions denoising;
};

Result<AllOptions> options_of(const StackRuns& runs, const StackModel& model) {
  AllOptions all;
  all.depth.shape.layers = runs.depth;
  all.depth.shape.residual_scale = 1 / std::sqrt(2.0 * runs.depth);
  all.depth.threads = runs.threads;
  all.decoding.steps = runs.decode;
  all.denoising.steps = runs.denoise;
  Status status;
  const auto set = [&](int asked, auto& options, int threads) {
    if (asked == 0 || !status) return;
    options.seed = runs.seed;
    options.model = model;
    const Result<StackShape> shape = model.shape(options.shape, threads);
    if (shape) {
      options.shape = *shape;
    } else {
      status = shape.error();
    }
  };
  set(runs.depth, all.depth, runs.threads);
  set(runs.decode, all.decoding, 1);
  set(runs.denoise, all.denoising, 1);
  if (!status) return status.error();
  return all;
}

}  // namespace

Status check_stacks(const StackRuns& runs, const StackModel& model) {
  const auto wrong = [](const char* message, const char* hint) {
    return Error{ErrorKind::bad_input, message, "--model", hint};
  };
  if (model.gives("layers") && runs.depth > 0)
    return wrong("--depth says how many layers there are",
                 "leave layers out, or run --decode and --denoise by themselves");
  if (model.gives("tokens") && runs.depth == 0 && runs.denoise == 0)
    return wrong("--decode says how many tokens there are", "leave tokens out");
  if (model.gives("scales") && !model.gives_factors())
    return wrong("scales are of e4m3 factors, and no factors are given", "qkv=e4m3, for example");
  const Result<AllOptions> options = options_of(runs, model);
  return options ? Status() : Status(options.error());
}

void run_stacks(const StackRuns& runs, const StackModel& model,
                const std::function<void(DepthRecord)>& keep) {
  Result<AllOptions> all = options_of(runs, model);
  PLUMB_ASSERT(all.ok());
  const auto take = [&](DepthRecord record) {
    if (!record.curves.empty()) keep(std::move(record));
  };
  for (const bool adaptive : {false, true}) {
    if (runs.depth == 0) break;
    all->depth.shape.adaptive = adaptive;
    if (!interrupted()) take(run_depth(all->depth));
    if (!interrupted()) take(run_gradient_depth(all->depth));
  }
  // With the output fed back whole, and with half of the next input new.
  for (const double fed_back : {1.0, std::sqrt(0.5)}) {
    all->decoding.fed_back = fed_back;
    if (runs.decode > 0 && !interrupted()) take(run_decoding(all->decoding));
  }
  if (runs.denoise > 0 && !interrupted()) take(run_denoising(all->denoising));
}

}  // namespace plumbline
