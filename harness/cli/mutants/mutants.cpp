// SPDX-License-Identifier: MIT
// plumbline mutants: plants faults in kernels and counts how many the planned cases catch. Curated
// faults are patches of the kernels' sources; --auto plants faults of its own in the PTX of any
// kernel.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <span>

#include "harness/cli/mutants/automatic_mutants.h"
#include "harness/cli/mutants/curated_mutants.h"
#include "harness/cli/mutants/mutant_console.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/judge/code_sizes.h"
#include "harness/launch/interrupt.h"
#include "harness/mutation/mutants.h"
#include "oracles/base/suggest.h"
#include "oracles/base/text.h"

namespace plumbline {
namespace {

// What the verb was asked for, and where it puts things.
struct Request {
  const Arguments& arguments;
  const MutantOptions& options;
  std::filesystem::path curated;     // where patched kernels are kept from run to run
  std::filesystem::path automatic;   // where those of this run are saved
  std::vector<std::string> only;     // ids; empty: all of them, or a sample
  std::vector<KernelPatch> patches;  // those asked for, of all kernels
};

std::vector<std::string> split_ids(std::string_view text) {
  std::vector<std::string> ids;
  for (const std::string_view id : split(text, ',')) {
    if (!id.empty()) ids.emplace_back(id);
  }
  return ids;
}

Error unknown_id(const std::string& id, const std::vector<std::string_view>& known) {
  constexpr std::size_t kShown = 12;
  std::string hint = did_you_mean(id, known);
  if (hint.empty() && !known.empty()) {
    const std::span shown = std::span(known).first(std::min(known.size(), kShown));
    hint =
        fmt::format("there are {}{}", fmt::join(shown, ", "), known.size() > kShown ? ", ..." : "");
  }
  return {ErrorKind::bad_input, fmt::format("no mutant \"{}\" of these kernels", id), "", hint};
}

// The patches of these kernels; only those asked for by id, which must be there.
Result<std::vector<KernelPatch>> wanted_patches(const std::vector<const Manifest*>& kernels,
                                                const std::vector<std::string>& only) {
  Result<std::vector<KernelPatch>> all = read_patches(default_kernel_folder() + "/mutants");
  if (!all) return all.error();
  for (const KernelPatch& patch : *all) {  // of a kernel that was not named
    const bool is_wanted = std::ranges::count(only, patch.id) > 0;
    if (is_wanted && std::ranges::count(kernels, patch.kernel, &Manifest::name) == 0) {
      return Error{ErrorKind::bad_input,
                   fmt::format("{} is a fault of another kernel, {}", patch.id, patch.kernel), "",
                   fmt::format("plumbline mutants {} --only {}", patch.kernel, patch.id)};
    }
  }
  std::erase_if(*all, [&](const KernelPatch& patch) {
    return std::none_of(kernels.begin(), kernels.end(),
                        [&](const Manifest* kernel) { return kernel->name == patch.kernel; });
  });
  if (only.empty()) return all;
  std::vector<std::string_view> known;
  for (const KernelPatch& patch : *all) known.push_back(patch.id);
  for (const std::string& id : only) {
    if (std::find(known.begin(), known.end(), id) == known.end()) return unknown_id(id, known);
  }
  std::erase_if(*all, [&](const KernelPatch& patch) {
    return std::find(only.begin(), only.end(), patch.id) == only.end();
  });
  return all;
}

// Nothing to plant: none of these kernels has a patch, as kernels of others never do.
std::string no_patches(const std::vector<const Manifest*>& kernels, const Arguments& arguments) {
  std::string again = "plumbline mutants";
  for (const std::string& name : arguments.names) again += " " + name;
  for (const std::string& manifest : arguments.manifests) again += " --kernel " + manifest;
  return fmt::format(
      "nothing selected: there are no patches of {}, and curated mutants are patches of the "
      "shipped kernels' sources. Faults planted in the PTX of any kernel: {} --auto 50",
      kernels.size() == 1 ? kernels.front()->name : "these kernels", again);
}

// The newest chip the kernel is built for, or the one asked for.
std::optional<Target> chosen_target(const Manifest& kernel, const RunOptions& options,
                                    std::string& skipped) {
  const std::vector<Target> targets =
      kernel_targets(kernel, On::emulator, options.sm, std::nullopt, skipped);
  if (targets.empty()) return std::nullopt;
  return *std::max_element(targets.begin(), targets.end(),
                           [](const Target& a, const Target& b) { return a.sm < b.sm; });
}

// What verify would plan for a kernel with this code.
std::vector<Case> plan_of(const Manifest& kernel,
                          const std::function<Result<std::string>(const Manifest&, int sm)>& image,
                          const RunOptions& options) {
  return plan_cases(kernel, {options.profile, options.seed, code_sizes(kernel, image)});
}

// The cases that each mutant's own code adds to the plan of the kernel.
void add_own_cases(const UnmutatedKernel& unmutated, const Manifest& kernel, const Target& target,
                   const RunOptions& options, std::vector<Mutant>& mutants) {
  const auto text_of = [](const Case& one) {
    return fmt::format("{} value={}", one.problem_text(), one.recipe.value_class);
  };
  std::set<std::string> known;
  for (const UnmutatedCase& one : unmutated.cases) known.insert(text_of(one.job.test_case));
  for (Mutant& mutant : mutants) {
    for (Case& planned : plan_of(kernel, mutant.image, options)) {
      if (!known.contains(text_of(planned)))
        mutant.own_cases.push_back({std::move(planned), target, 0});
    }
  }
}

// The kernel as it is, on its planned cases; nullopt when it fails them, or was interrupted: then
// its mutants would prove nothing.
std::optional<UnmutatedKernel> sound_kernel(const Manifest& kernel, const Target& target,
                                            const MutantOptions& options, RunRecord& record,
                                            MutantConsole& console) {
  std::vector<Job> jobs;
  for (Case& planned : plan_of(kernel, read_image, options.run))
    jobs.push_back({std::move(planned), target, record.planned++});
  add_kernel(record, kernel, {target}, "");
  console.planned(record);
  UnmutatedKernel unmutated = run_unmutated(jobs, options, console);
  bool sound = true;
  for (const UnmutatedCase& one : unmutated.cases) {
    record.cases.push_back(one.record);
    const bool bad = one.record.verdict == Verdict::fail || one.record.verdict == Verdict::error;
    if (bad && sound) {
      record.kernels.back().reasons.push_back(
          fmt::format("without a planted fault: {}: {}", one.record.text, one.record.reason));
    }
    sound = sound && !bad;
  }
  if (!sound || interrupted()) return std::nullopt;
  if (options.peers) {
    const std::vector<PeerRecord> peers = unmutated.peer_records(kernel.name);
    record.peers.insert(record.peers.end(), peers.begin(), peers.end());
  }
  return unmutated;
}

// Adds the kernel's cases and mutants to the record.
Status plant_patches(const Request& request, const Manifest& kernel, const Target& target,
                     RunRecord& record, MutantConsole& console) {
  std::vector<KernelPatch> patches = request.patches;
  std::erase_if(patches, [&](const KernelPatch& patch) { return patch.kernel != kernel.name; });
  if (patches.empty()) return {};  // not part of the run
  console.begins(kernel.name);
  Result<std::vector<Mutant>> mutants =
      curated_mutants(patches, kernel, target, request.curated, request.options.run.jobs,
                      [&](std::size_t done) { console.compiled(done, patches.size()); });
  if (!mutants) return mutants.error();
  const auto unmutated = sound_kernel(kernel, target, request.options, record, console);
  if (!unmutated) return {};
  add_own_cases(*unmutated, kernel, target, request.options.run, *mutants);
  const std::vector<MutantRecord> records =
      run_mutants(*unmutated, *mutants, request.options, console);
  console.curated_done(kernel, records);
  console.peers(unmutated->peer_records(kernel.name), records);
  record.mutants.insert(record.mutants.end(), records.begin(), records.end());
  return {};
}

Status plant_automatic(const Request& request, const Manifest& kernel, const Target& target,
                       RunRecord& record, MutantConsole& console) {
  Result<AutomaticMutants> automatic = AutomaticMutants::open(kernel, target);
  if (!automatic) return automatic.error();
  if (!request.only.empty()) {
    automatic->choose(request.only);
    if (automatic->none_chosen()) return {};  // they are of another kernel
    const Status saved = automatic->save_kernels(request.automatic);
    if (!saved) return saved;
  }
  console.begins(kernel.name);
  const auto unmutated = sound_kernel(kernel, target, request.options, record, console);
  if (!unmutated) return {};
  if (request.only.empty()) {
    automatic->choose(request.arguments.auto_mutants, request.options.run.seed,
                      unmutated->executed_lines());
  }
  const std::vector<MutantRecord> records =
      run_mutants(*unmutated, automatic->mutants(), request.options, console);
  console.automatic_done(kernel, *automatic, static_cast<std::int64_t>(unmutated->cases.size()),
                         records);
  console.peers(unmutated->peer_records(kernel.name), records);
  record.mutants.insert(record.mutants.end(), records.begin(), records.end());
  return automatic->save_survivors(request.automatic, records);
}

Status test_kernel(const Request& request, const Manifest& kernel, RunRecord& record,
                   MutantConsole& console) {
  std::string skipped;
  const std::optional<Target> target = chosen_target(kernel, request.options.run, skipped);
  if (!target) {
    add_kernel(record, kernel, {}, skipped);
    return {};
  }
  return request.arguments.auto_mutants > 0
             ? plant_automatic(request, kernel, *target, record, console)
             : plant_patches(request, kernel, *target, record, console);
}

ExitCode mutants_exit_code(const RunRecord& record, const Arguments& arguments) {
  if (record.interrupted) return ExitCode::interrupted;
  bool unsound = false, could_not_run = false;
  for (const KernelRecord& kernel : record.kernels) {
    unsound = unsound || kernel.failed > 0;
    could_not_run = could_not_run || kernel.errors > 0;
  }
  const MutantScore total = score(record.mutants);
  const bool curated = arguments.auto_mutants == 0;
  const double wanted = arguments.min_score.value_or(curated ? 100 : 0);
  // A patch once changed an output: a plan that does not show it any more has lost something.
  const bool lost = curated && total.no_effect > 0;
  if (unsound || lost || total.percent() < wanted) return ExitCode::broken;
  // A patched kernel that does not load was never tried.
  if (could_not_run || (curated && total.refused > 0)) return ExitCode::could_not_run;
  return record.mutants.empty() ? ExitCode::nothing_selected : ExitCode::held;
}

}  // namespace

ExitCode mutants(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) return report_error(registry.error());
  const auto kernels = registry->match(arguments.names);
  if (!kernels) return report_error(kernels.error());
  Arguments without_filter = arguments;
  without_filter.only.clear();  // ids of mutants are no filter of cases
  Result<RunOptions> options = run_options(without_filter, *kernels);
  if (!options) return report_error(options.error());
  options->seed = arguments.seed.value_or(1);
  const MutantOptions mutant_options{*options, arguments.peers};
  Request request{arguments, mutant_options, {}, {}, split_ids(arguments.only), {}};
  if (arguments.auto_mutants == 0) {
    Result<std::vector<KernelPatch>> patches = wanted_patches(*kernels, request.only);
    if (!patches) return report_error(patches.error());
    request.patches = *std::move(patches);
    // By name they are tried in any profile.
    const auto is_too_long = [&](const KernelPatch& patch) { return patch.takes_default_profile; };
    if (request.only.empty() && options->profile == Profile::quick) {
      const auto left_out = std::erase_if(request.patches, is_too_long);
      if (left_out > 0)
        terminal.note(fmt::format(
            "{} faults show in sizes that only --profile default has: left out", left_out));
    }
  }
  if (arguments.auto_mutants == 0 && request.patches.empty()) {
    terminal.note(no_patches(*kernels, arguments));
    return ExitCode::nothing_selected;
  }
  const std::string id = run_id(arguments, *kernels, options->seed);
  Result<RunFolder> folder = create_run_folder(arguments, id);
  if (!folder) return report_error(folder.error());
  request.curated = std::filesystem::path(arguments.out) / "mutants";
  request.automatic = folder->path() / "mutants";

  const auto start = std::chrono::steady_clock::now();
  RunRecord record;
  label_record(record, arguments, id);
  record.profile = arguments.profile_name;
  record.seed = options->seed;
  describe_environment(record);
  MutantConsole console(arguments, terminal, *folder);
  ExitCode stopped = ExitCode::held;  // by a kernel that could not be tried, or by Ctrl-C
  for (const Manifest* kernel : *kernels) {
    if (interrupted()) break;
    const Status tested = test_kernel(request, *kernel, record, console);
    if (tested) continue;
    stopped = report_error(tested.error());
    if (stopped == ExitCode::wrong_input) return stopped;
  }
  record.interrupted = interrupted();
  if (record.kernels.empty() && !request.only.empty() && !record.interrupted)
    return report_error(unknown_id(request.only.front(), {}));
  record.elapsed_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  summarize(record);
  const Status written = folder->finish(record, true);
  folder->link_as_latest();
  console.summary(record);
  const ExitCode code = unless_unwritten(written, mutants_exit_code(record, arguments));
  return stopped != ExitCode::held && code != ExitCode::broken ? stopped : code;
}

}  // namespace plumbline
