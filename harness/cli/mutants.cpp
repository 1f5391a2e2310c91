// SPDX-License-Identifier: MIT
// plumbline mutants: plants faults in kernels and counts how many the planned cases catch. Curated
// faults are patches of the kernels' sources; --auto plants faults of its own in the PTX of any
// kernel.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "harness/cli/faulty_kernel.h"
#include "harness/cli/mutant_console.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/interrupt.h"
#include "harness/mutants.h"
#include "harness/mutation/planted_fault.h"
#include "harness/workers.h"
#include "kernels/compile.h"
#include "kernels/patched_kernel.h"
#include "oracles/base/suggest.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// What the verb was asked for, and where it puts things.
struct Request {
  const Arguments& arguments;
  const RunOptions& options;
  fs::path folder;
  std::vector<std::string> only;  // ids
  std::vector<KernelPatch> patches;

  bool wants(const std::string& id) const {
    return only.empty() || std::find(only.begin(), only.end(), id) != only.end();
  }
};

std::vector<std::string> split_ids(std::string_view text) {
  std::vector<std::string> ids;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) ids.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return ids;
}

Error unknown_id(const std::string& id, const std::vector<std::string_view>& known) {
  return {ErrorKind::bad_input, fmt::format("no mutant \"{}\" of these kernels", id), "",
          did_you_mean(id, known)};
}

// --- curated ---

// Patches and compiles all mutants of a kernel, several at once. The first error ends it.
Result<std::vector<Mutant>> curated_mutants(const Request& request, const Manifest& kernel,
                                            const Target& target, MutantConsole& console) {
  std::vector<const KernelPatch*> patches;
  for (const KernelPatch& patch : request.patches) {
    if (patch.kernel == kernel.name && request.wants(patch.id)) patches.push_back(&patch);
  }
  std::vector<Manifest> patched;
  for (const KernelPatch* patch : patches) {
    Result<Manifest> manifest = apply_patch(*patch, kernel, request.folder / "mutants" / patch->id);
    if (!manifest) return manifest.error();
    manifest->targets = {*best_build(kernel, target.sm)};
    patched.push_back(*std::move(manifest));
  }
  std::mutex report;
  std::optional<Error> error;
  std::size_t finished = 0;
  for_each_on_workers(patched.size(), request.options.jobs, [&] {
    return [&](std::size_t i) {
      const Status compiled = compile_outdated(patched[i]);
      const std::lock_guard lock(report);
      if (!compiled && !error) error = compiled.error();
      console.compiled(kernel.name, ++finished, patched.size());
    };
  });
  if (error) return *error;
  std::vector<Mutant> mutants;
  for (std::size_t i = 0; i < patched.size(); ++i) {
    Mutant mutant;
    mutant.record.kernel = kernel.name;
    mutant.record.id = patches[i]->id;
    mutant.record.kind = patches[i]->title;
    mutant.image = [own = patched[i]](const Manifest&, int sm) { return read_image(own, sm); };
    mutants.push_back(std::move(mutant));
  }
  return mutants;
}

// --- automatic ---

struct Faults {
  std::string text, path;  // the PTX
  std::vector<PlantedFault> possible, chosen;
  std::int64_t executed = 0;  // of the possible ones, those in lines that the plan executes
};

Result<Faults> find_faults(const Manifest& kernel, const Target& target) {
  Faults faults;
  const int build = *best_build(kernel, target.sm);
  Result<std::string> text = read_image(kernel, build);
  if (!text) return text.error();
  faults.text = *std::move(text);
  faults.path = kernel.ptx_path(build);
  Result<std::vector<PlantedFault>> possible = possible_faults(faults.text, faults.path);
  if (!possible) return possible.error();
  faults.possible = *std::move(possible);
  return faults;
}

void choose_faults(const Request& request, const UnmutatedKernel& unmutated, Faults& faults) {
  const std::vector<int> executed = unmutated.executed_lines();
  const auto runs = [&](const PlantedFault& fault) {
    return std::binary_search(executed.begin(), executed.end(), fault.line);
  };
  faults.executed = std::count_if(faults.possible.begin(), faults.possible.end(), runs);
  if (request.only.empty()) {
    faults.chosen =
        sample_faults(faults.possible, request.arguments.auto_mutants, request.options.seed, runs);
    return;
  }
  for (const PlantedFault& fault : faults.possible) {
    if (request.wants(fault.id)) faults.chosen.push_back(fault);
  }
}

Mutant automatic_mutant(const Manifest& kernel, const Faults& faults, const PlantedFault& fault) {
  Mutant mutant;
  mutant.record.kernel = kernel.name;
  mutant.record.id = fault.id;
  mutant.record.kind = fault.kind;
  mutant.record.line = fault.line;
  mutant.record.source = fault.source;
  mutant.record.before = fault.before;
  mutant.record.after = fault.after;
  mutant.image = [&faults, &fault](const Manifest&, int) -> Result<std::string> {
    return plant(faults.text, fault);
  };
  return mutant;
}

// A diff of every survivor; of mutants asked for by id, the faulty kernel.
Status save_faults(const Request& request, const Manifest& kernel, const Target& target,
                   const Faults& faults, const std::vector<MutantRecord>& records) {
  for (const PlantedFault& fault : faults.chosen) {
    const auto record = std::find_if(records.begin(), records.end(),
                                     [&](const MutantRecord& r) { return r.id == fault.id; });
    if (record == records.end()) continue;
    const bool asked = !request.only.empty();
    if (!asked && record->outcome != MutantOutcome::survived) continue;
    const Status saved =
        asked ? save_faulty_kernel(request.folder / "mutants" / fault.id, kernel, target,
                                   plant(faults.text, fault), fault.id)
              : save_diff(request.folder / "mutants", kernel, faults.text, faults.path, fault);
    if (!saved) return saved;
  }
  return {};
}

// --- one kernel ---

std::vector<Job> planned_jobs(const Manifest& kernel, const Target& target,
                              const RunOptions& options) {
  PlanOptions plan;
  plan.profile = options.profile;
  plan.seed = options.seed;
  std::vector<Job> jobs;
  for (Case& planned : plan_cases(kernel, plan)) jobs.push_back({std::move(planned), target});
  return jobs;
}

// Adds the kernel's cases and mutants to the record. Errors: a patch or a kernel that cannot be
// used.
Status test_kernel(const Request& request, const Manifest& kernel, RunRecord& record,
                   MutantConsole& console) {
  std::string skipped;
  const std::vector<Target> targets =
      kernel_targets(kernel, On::emulator, request.options.sm, std::nullopt, skipped);
  if (targets.empty()) {
    record.kernels.push_back(describe_kernel(kernel, targets));
    record.kernels.back().verdict = Verdict::skip;
    record.kernels.back().reasons.push_back(skipped);
    return {};
  }
  const Target target = *std::max_element(
      targets.begin(), targets.end(), [](const Target& a, const Target& b) { return a.sm < b.sm; });
  const bool automatic = request.arguments.auto_mutants > 0;

  Faults faults;
  std::vector<Mutant> mutants;
  if (automatic) {
    Result<Faults> found = find_faults(kernel, target);
    if (!found) return found.error();
    faults = *std::move(found);
  } else {
    Result<std::vector<Mutant>> curated = curated_mutants(request, kernel, target, console);
    if (!curated) return curated.error();
    mutants = *std::move(curated);
    if (mutants.empty()) return {};  // no patch for it: not part of the run
  }
  record.kernels.push_back(describe_kernel(kernel, {target}));
  if (std::find(record.devices.begin(), record.devices.end(), target.name()) ==
      record.devices.end()) {
    record.devices.push_back(target.name());
  }

  const std::vector<Job> jobs = planned_jobs(kernel, target, request.options);
  record.planned += static_cast<std::int64_t>(jobs.size());
  console.begins(kernel.name);
  const UnmutatedKernel unmutated = run_unmutated(jobs, request.options, console);
  const auto broken =
      std::find_if(unmutated.cases.begin(), unmutated.cases.end(), [](const UnmutatedCase& one) {
        return one.record.verdict == Verdict::fail || one.record.verdict == Verdict::error;
      });
  const bool sound = broken == unmutated.cases.end();
  if (!sound) {
    record.kernels.back().reasons.push_back(
        fmt::format("without a planted fault it fails too: {}: {}", broken->record.text,
                    broken->record.reason));
  }
  for (const UnmutatedCase& one : unmutated.cases) record.cases.push_back(one.record);
  if (!sound || interrupted()) return {};

  if (automatic) {
    choose_faults(request, unmutated, faults);
    for (const PlantedFault& fault : faults.chosen)
      mutants.push_back(automatic_mutant(kernel, faults, fault));
    console.sites(static_cast<std::int64_t>(faults.possible.size()), faults.executed);
  }
  const std::vector<MutantRecord> records =
      run_mutants(unmutated, mutants, request.options, console);
  console.kernel_done(kernel, static_cast<std::int64_t>(unmutated.cases.size()), records);
  record.mutants.insert(record.mutants.end(), records.begin(), records.end());
  return automatic ? save_faults(request, kernel, target, faults, records) : Status();
}

// Every id that was asked for must have been there.
Status check_ids(const Request& request, const RunRecord& record) {
  std::vector<std::string_view> known;
  for (const KernelPatch& patch : request.patches) known.push_back(patch.id);
  for (const std::string& id : request.only) {
    const bool found = std::any_of(record.mutants.begin(), record.mutants.end(),
                                   [&](const MutantRecord& m) { return m.id == id; });
    if (!found) return unknown_id(id, known);
  }
  return {};
}

ExitCode mutants_exit_code(const RunRecord& record, const Arguments& arguments) {
  if (record.interrupted) return ExitCode::interrupted;
  bool unsound = false, could_not_run = false;
  for (const KernelRecord& kernel : record.kernels) {
    unsound = unsound || kernel.failed > 0;
    could_not_run = could_not_run || kernel.errors > 0;
  }
  const MutantScore total = score(record.mutants);
  const bool missed = arguments.min_score && total.percent() < *arguments.min_score;
  const bool curated_survivor =
      arguments.auto_mutants == 0 && !arguments.min_score && total.survived > 0;
  if (unsound || missed || curated_survivor) return ExitCode::broken;
  if (could_not_run) return ExitCode::could_not_run;
  return record.mutants.empty() ? ExitCode::nothing_selected : ExitCode::held;
}

}  // namespace

ExitCode mutants(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments);
  if (!registry) return report_error(registry.error());
  const auto kernels = registry->match(arguments.names);
  if (!kernels) return report_error(kernels.error());
  Arguments without_filter = arguments;
  without_filter.only.clear();  // these are ids, no filter of cases
  Result<RunOptions> options = run_options(without_filter, *kernels);
  if (!options) return report_error(options.error());
  options->seed = arguments.seed.value_or(1);
  Request request{arguments, *options, {}, split_ids(arguments.only), {}};
  if (arguments.auto_mutants == 0) {
    Result<std::vector<KernelPatch>> patches = read_patches(default_kernel_folder() + "/mutants");
    if (!patches) return report_error(patches.error());
    request.patches = *std::move(patches);
  }
  const std::string id = run_id(arguments, *kernels, options->seed);
  Result<RunFolder> folder = RunFolder::create(arguments, id);
  if (!folder) return report_error(folder.error());
  request.folder = folder->path();

  const auto start = std::chrono::steady_clock::now();
  RunRecord record;
  record.verb = "mutants";
  record.command = arguments.command;
  record.profile = arguments.profile_name;
  record.seed = options->seed;
  record.run_id = id;
  describe_environment(record);
  MutantConsole console(arguments, terminal, *folder);
  for (const Manifest* kernel : *kernels) {
    if (interrupted()) break;
    const Status tested = test_kernel(request, *kernel, record, console);
    if (!tested) return report_error(tested.error());
  }
  record.interrupted = interrupted();
  record.elapsed_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  summarize(record);
  if (!record.interrupted) {
    const Status known = check_ids(request, record);
    if (!known) return report_error(known.error());
  }
  const Status written = folder->finish(record, false);
  console.summary(record);
  if (!written) return report_error(written.error());
  return mutants_exit_code(record, arguments);
}

}  // namespace plumbline
