// SPDX-License-Identifier: MIT
#include "harness/case_runner.h"

#include <fmt/format.h>

#include "harness/figures.h"
#include "harness/relations.h"
#include "oracles/base/hash.h"
#include "oracles/formats/decode.h"

#include <chrono>
#include <fstream>
#include <sstream>

namespace plumbline {

namespace {

// Relations and other orders of CTAs are tried on one case in so many.
constexpr std::uint64_t kOneIn = 4;

}  // namespace

Result<std::string> read_image(const Manifest& kernel, int sm) {
  const std::string path = kernel.ptx_path(sm);
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{ErrorKind::cannot_run, fmt::format("no PTX of {} for sm_{}", kernel.name, sm),
                 path,
                 kernel.ptx.empty() ? "build the kernels first: scripts/plumbline does"
                                    : "check `ptx` in the manifest"};
  }
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Status check_domain(const Case& test_case) {
  const auto reason = test_case.kernel->excluded(test_case.problem);
  if (!reason) return {};
  return Error{ErrorKind::bad_input,
               fmt::format("{} does not accept {}: {}", test_case.kernel->name,
                           test_case.problem.text(), *reason),
               test_case.kernel->path, "its domain is in the manifest"};
}

CaseRecord error_record(const Case& test_case, const Target& target, const Error& error) {
  CaseRecord record = describe_case(test_case);
  record.device = target.name();
  record.verdict = Verdict::error;
  record.reason = error.text();
  return record;
}

CaseRunner::CaseRunner(RunnerOptions options) : options_(std::move(options)) {
  if (!options_.image) options_.image = read_image;
}

Result<CaseRunner::Loaded*> CaseRunner::loaded_for(const Target& target) {
  Loaded& loaded = devices_[target.name()];
  if (!loaded.device) {
    Result<std::unique_ptr<Device>> device = open_device(target, options_.threads);
    if (!device) return device.error();
    loaded.device = *std::move(device);
  }
  return &loaded;
}

Result<const Module*> CaseRunner::module_for(Loaded& loaded, const Manifest& kernel, int sm) {
  std::unique_ptr<Module>& module = loaded.modules[kernel.path];
  if (!module) {
    const std::optional<int> build = best_build(kernel, sm);
    if (!build) {
      return Error{ErrorKind::cannot_run,
                   fmt::format("{} has no build that runs on sm_{}", kernel.name, sm), kernel.path,
                   "add the chip to `targets`"};
    }
    const Result<std::string> image = options_.image(kernel, *build);
    if (!image) return image.error();
    Result<std::unique_ptr<Module>> loaded_module =
        loaded.device->load(*image, kernel.ptx_path(*build));
    if (!loaded_module) return loaded_module.error();
    module = *std::move(loaded_module);
  }
  return module.get();
}

Result<LaunchResult> CaseRunner::launch_on(const Case& test_case, CaseTensors& tensors,
                                           const Target& target, std::uint64_t cta_order) {
  const Result<Loaded*> loaded = loaded_for(target);
  if (!loaded) return loaded.error();
  const Result<const Module*> module = module_for(**loaded, *test_case.kernel, target.sm);
  if (!module) return module.error();
  return launch_case(test_case, tensors, *(*loaded)->device, **module, cta_order);
}

bool CaseRunner::wants_other_order(const Case& test_case, const LaunchResult& launch) const {
  if (!launch.completed || !launch.findings.empty()) return false;
  if (launch.communicates || options_.all_relations) return true;
  return test_case.kernel->deterministic() && fingerprint(test_case.text()) % kOneIn == 1;
}

Result<bool> CaseRunner::reorder_ctas(const Case& test_case, const Target& target,
                                      Examined& examined) {
  constexpr std::uint64_t kOtherOrder = 1;
  const std::uint64_t first = examined.launch.fingerprint;
  Result<LaunchResult> launch = launch_on(test_case, examined.tensors, target, kOtherOrder);
  if (!launch) return launch.error();
  examined.launch = *std::move(launch);
  return examined.launch.fingerprint == first;
}

Result<std::optional<std::string>> CaseRunner::broken_relation(const Case& test_case,
                                                               const Target& target,
                                                               const Examined& examined) {
  constexpr double kMostWork = 1e8;
  const std::vector<Relation> relations = relations_of(*test_case.kernel->operation);
  const std::uint64_t draw = fingerprint(test_case.text());
  const bool bitwise = !relations.empty() && test_case.kernel->deterministic();
  std::optional<std::string> broken;
  if (!bitwise || test_case.kernel->operation->work(test_case.problem) > kMostWork) return broken;
  if (!options_.all_relations && draw % kOneIn != 0) return broken;
  const Tensor* first = examined.tensors.find("d");
  for (std::size_t i = 0; i < relations.size(); ++i) {
    const Relation& relation = relations[(draw / kOneIn + i) % relations.size()];
    std::optional<RelatedRun> run = relation.make(test_case, examined.tensors);
    if (!run) continue;
    broken = "";
    const Result<LaunchResult> launch = launch_on(run->test_case, run->tensors, target);
    if (!launch) return launch.error();
    const Tensor& second = *run->tensors.find("d");
    for (std::int64_t at = 0; at < second.layout.count(); ++at) {
      if (launch->completed && run->follows(*first, at, second.bits(at))) continue;
      const Format& f = format(second.layout.format);
      broken = fmt::format("{} ({}), but {} of the changed problem is {:.9g} (0x{:x})",
                           relation.words, relation.id, element_name("d", second.layout, at),
                           to_double(f, second.bits(at)), second.bits(at));
      return broken;
    }
    if (!options_.all_relations) break;
  }
  return broken;
}

Result<std::unique_ptr<Examined>> CaseRunner::examine(const Case& test_case, const Target& target) {
  const auto start = std::chrono::steady_clock::now();
  const Status accepted = check_domain(test_case);
  if (!accepted) return accepted.error();
  const Status memory = check_memory(test_case);
  if (!memory) return memory.error();
  Result<CaseTensors> tensors = materialize(test_case);
  if (!tensors) return tensors.error();
  auto examined = std::make_unique<Examined>();
  examined->tensors = *std::move(tensors);

  Result<LaunchResult> launch = launch_on(test_case, examined->tensors, target);
  if (!launch) return launch.error();
  examined->launch = *std::move(launch);
  const std::uint64_t first = examined->launch.fingerprint;
  int different = 0;
  for (int i = 1; i < options_.repeat && examined->launch.completed; ++i) {
    const Result<LaunchResult> again = launch_on(test_case, examined->tensors, target);
    if (!again) return again.error();
    different += again->fingerprint != first;
  }
  std::optional<std::uint64_t> twin;
  if (target.compare && examined->launch.completed) {
    CaseTensors copy = examined->tensors;
    Target emulator;
    emulator.sm = target.sm;
    const Result<LaunchResult> beside = launch_on(test_case, copy, emulator);
    if (!beside) return beside.error();
    twin = beside->fingerprint;
  }
  bool reordered = false, same_in_any_order = true;
  if (!target.on_gpu && wants_other_order(test_case, examined->launch)) {
    const Result<bool> same = reorder_ctas(test_case, target, *examined);
    if (!same) return same.error();
    reordered = true;
    same_in_any_order = *same;
  }

  JudgeOptions judge = options_.judge;
  judge.threads = options_.threads;
  const Manifest& kernel = *test_case.kernel;
  examined->oracle =
      kernel.operation->oracle(test_case.problem, kernel, target.sm, examined->tensors);
  CaseRecord& record = examined->record;
  record = judge_case(test_case, examined->tensors, examined->launch, *examined->oracle, judge);
  record.device = target.name();
  const auto settle = [&](Claim claim, bool held, const std::string& reason) {
    record.claims[claim] = held ? Verdict::pass : Verdict::fail;
    if (held) return;
    record.verdict = Verdict::fail;
    if (record.reason.empty()) record.reason = reason;
  };
  if (record.verdict == Verdict::pass) {
    const Result<std::optional<std::string>> broken = broken_relation(test_case, target, *examined);
    if (!broken) return broken.error();
    if (*broken) settle(Claim::related, (*broken)->empty(), **broken);
  }
  if (reordered || options_.repeat > 1) {
    const bool held = (different == 0 && same_in_any_order) || !kernel.deterministic();
    settle(Claim::deterministic, held,
           different > 0
               ? fmt::format("{} of {} launches gave other bits", different, options_.repeat)
               : "with its CTAs in another legal order the kernel gives other bits");
  }
  if (twin) settle(Claim::agrees, *twin == first, "GPU and emulator differ in some output bit");
  record.elapsed_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return examined;
}

CaseRecord CaseRunner::run(const Case& test_case, const Target& target) {
  Result<std::unique_ptr<Examined>> examined = examine(test_case, target);
  if (!examined) return error_record(test_case, target, examined.error());
  return std::move((*examined)->record);
}

}  // namespace plumbline
