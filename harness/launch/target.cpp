// SPDX-License-Identifier: MIT
#include "harness/launch/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/emulator/emulator_device.h"
#include "harness/gpu/gpu_device.h"
#include "oracles/models/generation.h"

namespace plumbline {

std::optional<On> on_by_name(std::string_view word) {
  if (word == "auto") return On::automatic;
  if (word == "emulator") return On::emulator;
  if (word == "gpu") return On::gpu;
  if (word == "both") return On::both;
  return std::nullopt;
}

std::string Target::name() const {
  return on_gpu ? fmt::format("{} (sm_{})", gpu_name, sm) : fmt::format("emulator sm_{}", sm);
}

std::optional<int> best_build(const Manifest& kernel, int sm) {
  std::optional<int> best;
  for (const int target : kernel.targets) {
    if (kernel.runs_on(target, sm) && (!best || target > *best)) best = target;
  }
  return best;
}

std::vector<Target> kernel_targets(const Manifest& kernel, On on, std::optional<int> sm_filter,
                                   const std::optional<Target>& gpu, std::string& skip_reason) {
  std::vector<Target> targets;
  const bool gpu_wanted = on == On::gpu || on == On::both;
  const bool other_chip = gpu && sm_filter && *sm_filter != gpu->sm;
  if (gpu_wanted && other_chip) {
    skip_reason =
        fmt::format("--sm {} leaves nothing to run: this device is sm_{}", *sm_filter, gpu->sm);
    return {};
  }
  if (gpu && (gpu_wanted || (on == On::automatic && !other_chip))) {
    if (!best_build(kernel, gpu->sm)) {
      const int least = *std::min_element(kernel.targets.begin(), kernel.targets.end());
      skip_reason =
          fmt::format("needs sm_{}, this device is sm_{}", kernel.architecture(least), gpu->sm);
      return {};
    }
    if (!is_modeled(gpu->sm)) {
      skip_reason = fmt::format("how sm_{} adds is not known (plumbline list models)", gpu->sm);
      return {};
    }
    targets.push_back(*gpu);
    targets.back().compare = on == On::both;
    return targets;
  }
  for (const int sm : kernel.targets) {
    if (sm_filter && sm != *sm_filter) continue;
    Target target;
    target.sm = sm;
    targets.push_back(target);
  }
  if (targets.empty()) {
    skip_reason = fmt::format("has no build for sm_{}; its `targets` are sm_{}",
                              sm_filter.value_or(0), fmt::join(kernel.targets, ", sm_"));
  }
  return targets;
}

Target target_for(const Case& test_case, const Target& target) {
  if (!target.on_gpu) return target;
  const Result<std::vector<TensorSpec>> specs = test_case.kernel->tensors(test_case.problem);
  const auto in_pieces = [](const TensorSpec& spec) { return spec.pieces.apart > 0; };
  if (!specs || std::none_of(specs->begin(), specs->end(), in_pieces)) return target;
  Target emulator;
  emulator.sm = best_build(*test_case.kernel, target.sm).value_or(target.sm);
  return emulator;
}

Result<Target> probe_gpu() {
  const Result<GpuInfo> info = gpu_info();
  if (!info) return info.error();
  Target target;
  target.on_gpu = true;
  target.sm = info->sm;
  target.gpu_name = info->name;
  target.driver = info->driver();
  return target;
}

Result<std::optional<Target>> find_gpu(On on) {
  if (on == On::emulator) return std::optional<Target>();
  const Result<Target> probed = probe_gpu();
  if (probed) return std::optional(*probed);
  if (on != On::automatic) return probed.error();
  return std::optional<Target>();
}

Result<std::unique_ptr<Device>> open_device(const Target& target, int threads,
                                            const std::atomic<bool>& give_up) {
  if (target.on_gpu) {
    GpuOptions options;
    options.give_up = &give_up;
    return open_gpu(options);
  }
  EmulatorOptions options;
  options.sm = target.sm;
  options.threads = threads;
  options.give_up = &give_up;
  return make_emulator(options);
}

}  // namespace plumbline
