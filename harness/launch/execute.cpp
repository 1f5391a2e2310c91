// SPDX-License-Identifier: MIT
#include "harness/launch/execute.h"

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/case/fresh_draw.h"
#include "harness/launch/memory_limit.h"
#include "oracles/base/hash.h"

namespace plumbline {
namespace {

// Other orders of CTAs are tried on one case in so many.
constexpr std::uint64_t kOneIn = 4;
// LaunchChoices::cta_order of that order.
constexpr std::uint64_t kOtherOrder = 1;

// Always where CTAs exchange data, for every fourth case elsewhere.
bool wants_other_order(const Case& test_case, const LaunchResult& launch,
                       const RunnerOptions& options) {
  if (!launch.completed || !launch.findings.empty()) return false;
  if (launch.communicates || options.all_relations) return true;
  return test_case.kernel->deterministic() && fingerprint(test_case.text()) % kOneIn == 1;
}

// Takes reads of unwritten memory out of the findings when they are all there are and neither an
// output bit nor the kernel's end depends on what was read. Kernels load rows beyond a matrix, and
// pipelines tiles that do not exist, and use nothing of them. The first launch found NaN there in
// every float format; what mattered to an output, or to whether the kernel ends, shows when it is a
// large positive and a large negative number. Which way a warp goes may depend on it:
// FlashAttention 2 asks of every row's sum, also of those beyond the last query, whether there is
// anything to divide by.
Status discard_harmless_uninitialized_reads(const Case& test_case, const Target& target,
                                            Launcher& launcher, LaunchChoices choices,
                                            Launched& launched) {
  const auto may_be_idle = [](const LaunchResult& launch) {
    return launch.completed &&
           std::all_of(launch.findings.begin(), launch.findings.end(), [](const Finding& finding) {
             return finding.kind == FindingKind::read_of_unwritten;
           });
  };
  if (launched.launch.findings.empty() || !may_be_idle(launched.launch)) return {};
  for (const int garbage : {0x5c, 0xdc}) {
    CaseTensors tensors = launched.tensors;
    choices.garbage = static_cast<std::uint8_t>(garbage);
    const Result<LaunchResult> again = launcher.launch(test_case, tensors, target, choices);
    if (!again) return again.error();
    if (!may_be_idle(*again) || again->fingerprint != launched.launch.fingerprint) return {};
  }
  launched.launch.findings.clear();
  return {};
}

// Registers begin as zeros. Where the code reads some before it writes them, and nothing else is to
// be found, the case runs again with other values in them: what depends on these shows.
Status find_unwritten_registers(const Case& test_case, const Target& target, Launcher& launcher,
                                LaunchChoices choices, Execution& execution) {
  const LaunchResult& first = execution.launch;
  if (!first.completed || !first.findings.empty() || first.unwritten_registers.empty()) return {};
  CaseTensors tensors = execution.tensors;
  choices.register_garbage = 0xdc;
  choices.keep_writers = false;
  const Result<LaunchResult> again = launcher.launch(test_case, tensors, target, choices);
  if (!again) return again.error();
  const auto same_kind = [](const Finding& finding) {
    return finding.kind == FindingKind::read_of_unwritten;
  };
  const bool idle = std::ranges::all_of(again->findings, same_kind);
  if (!again->completed || !idle || again->fingerprint != first.fingerprint) {
    execution.launch.findings = first.unwritten_registers;
  }
  return {};
}

Status name_accesses(const Case& test_case, const Target& target, Launcher& launcher,
                     std::uint64_t cta_order, Launched& launched) {
  const auto is_open = [](const Finding& finding) {
    return finding.shared_address && !finding.other;
  };
  LaunchChoices choices{.cta_order = cta_order,
                        .approximation = launcher.approximation_of(test_case)};
  for (const Finding& finding : launched.launch.findings) {
    if (is_open(finding)) choices.traced.push_back({finding.cta, *finding.shared_address});
  }
  if (choices.traced.empty()) return {};
  CaseTensors tensors = launched.tensors;
  const Result<LaunchResult> again = launcher.launch(test_case, tensors, target, choices);
  if (!again) return again.error();
  for (Finding& finding : launched.launch.findings) {
    if (!is_open(finding)) continue;
    const auto same = std::ranges::find_if(again->findings, [&](const Finding& other) {
      return other.kind == finding.kind && other.ptx_line == finding.ptx_line &&
             other.cta == finding.cta && other.warp == finding.warp && other.lane == finding.lane;
    });
    if (same != again->findings.end()) finding.other = same->other;
  }
  return {};
}

// Loads found older values, and the outputs are others than those of the first launch: findings,
// where they are not the doing of the order of CTAs alone.
Status find_older_values(const Case& test_case, const Target& target, Launcher& launcher,
                         LaunchChoices choices, Execution& execution) {
  LaunchResult& last = execution.launch;
  const bool same = last.completed && last.fingerprint == execution.first;
  if (same || last.older_values.empty()) return {};
  choices.older_values = false;
  CaseTensors tensors = execution.tensors;
  const Result<LaunchResult> again = launcher.launch(test_case, tensors, target, choices);
  if (!again) return again.error();
  if (again->completed == last.completed && again->fingerprint == last.fingerprint) return {};
  last.findings.insert(last.findings.begin(), last.older_values.begin(), last.older_values.end());
  return {};
}

// Leaves in `execution` the launch to judge, and whether both agreed.
Status reorder_ctas(const Case& test_case, const Target& target, Launcher& launcher,
                    LaunchChoices choices, Execution& execution) {
  choices.cta_order = kOtherOrder;
  choices.older_values = true;
  Result<LaunchResult> launch = launcher.launch(test_case, execution.tensors, target, choices);
  if (!launch) return launch.error();
  // What either order executes counts as executed, and as often as it did where it did more.
  const std::vector<std::vector<InstructionCount>> first = std::move(execution.launch.executions);
  execution.launch = *std::move(launch);
  std::vector<std::vector<InstructionCount>>& both = execution.launch.executions;
  for (std::size_t l = 0; l < first.size(); ++l) {
    if (l >= both.size()) both.push_back(first[l]);
    for (std::size_t i = 0; i < std::min(first[l].size(), both[l].size()); ++i) {
      both[l][i].executions = std::max(both[l][i].executions, first[l][i].executions);
      both[l][i].repeats = std::max(both[l][i].repeats, first[l][i].repeats);
    }
  }
  execution.reordered = true;
  execution.same_in_any_order = execution.launch.fingerprint == execution.first;
  const Status asked =
      discard_harmless_uninitialized_reads(test_case, target, launcher, choices, execution);
  return asked ? find_older_values(test_case, target, launcher, choices, execution) : asked;
}

// A kernel that left something in variables of its module is called with other inputs, then with
// its own again: counters that are not reset, results kept from the call before. Leaves in
// `execution` that last launch, to be judged.
Status call_again(const Case& test_case, const Target& target, Launcher& launcher,
                  LaunchChoices choices, Execution& execution) {
  Case other = with_fresh_draw(test_case, 0);
  if (!other.literals.empty()) {  // they are the inputs for every seed
    other.literals.clear();
    other.recipe.value_class = "normal";
  }
  Result<CaseTensors> tensors = materialize(other);
  if (!tensors) return tensors.error();
  Result<Launched> between = launch_beside(other, *std::move(tensors), target, launcher, choices);
  if (!between) return between.error();
  if (!between->launch.findings.empty()) {
    for (Finding& finding : between->launch.findings) {
      finding.message += fmt::format(" (called with other inputs: {})", other.text());
      execution.launch.findings.push_back(std::move(finding));
    }
    return {};
  }
  // A launch by several workers may have to be repeated by one, and would not find the variables
  // any more that the call before left.
  choices.one_worker = true;
  choices.keep_variables = true;
  // Where blocks wait for each other, what the call before left lets some go too early: which
  // others have run by then is the order's doing.
  if (execution.reordered) choices.cta_order = kOtherOrder;
  Result<LaunchResult> launch = launcher.launch(test_case, execution.tensors, target, choices);
  if (!launch) return launch.error();
  launch->executions = std::move(execution.launch.executions);  // what earlier launches executed
  execution.launch = *std::move(launch);
  execution.called_again = true;
  execution.same_when_called_again = execution.launch.fingerprint == execution.first;
  return discard_harmless_uninitialized_reads(test_case, target, launcher, choices, execution);
}

// Runs the case on the emulator of the same chip, also after a failure on the GPU.
Status run_beside(const Case& test_case, const Target& target, Launcher& launcher,
                  LaunchChoices choices, Execution& execution) {
  Result<Launched> beside =
      launch_beside(test_case, execution.tensors, emulator_beside(target), launcher, choices);
  if (!beside) return beside.error();
  execution.beside = *std::move(beside);
  return {};
}

bool same_bits(const std::optional<Launched>& a, const std::optional<Launched>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->launch.findings.empty() && b->launch.findings.empty() &&
         a->launch.fingerprint == b->launch.fingerprint;
}

}  // namespace

bool Execution::same_as(const Execution& other) const {
  return launch.completed == other.launch.completed && launch.findings.empty() &&
         other.launch.findings.empty() && first == other.first &&
         launch.fingerprint == other.launch.fingerprint &&
         launch.unwritten == other.launch.unwritten && different == other.different &&
         same_bits(beside, other.beside) && reordered == other.reordered &&
         called_again == other.called_again;
}

Result<Launched> launch_beside(const Case& test_case, CaseTensors tensors, const Target& target,
                               Launcher& launcher, LaunchChoices choices) {
  Launched launched{std::move(tensors), {}};
  Result<LaunchResult> launch = launcher.launch(test_case, launched.tensors, target, choices);
  if (!launch) return launch.error();
  launched.launch = *std::move(launch);
  const Status asked =
      discard_harmless_uninitialized_reads(test_case, target, launcher, choices, launched);
  if (!asked) return asked.error();
  return launched;
}

Target emulator_beside(const Target& gpu) {
  Target emulator;
  emulator.sm = gpu.sm;
  return emulator;
}

Result<Execution> execute_case(const Case& test_case, const Target& target, Launcher& launcher,
                               std::uint64_t instruction_budget) {
  // What is kept of a case while the next one runs, and the copies that run beside a GPU.
  const int copies = (launcher.options().keep_writers ? 2 : 1) + (target.compare ? 1 : 0);
  const Status memory = check_memory(test_case, copies);
  if (!memory) return memory.error();
  Result<CaseTensors> tensors = materialize(test_case);
  if (!tensors) return tensors.error();
  Execution execution;
  execution.tensors = *std::move(tensors);

  const std::string& kernel = test_case.kernel->name;
  const LaunchChoices choices{.cta_order = 0,
                              .instruction_budget = instruction_budget > 0
                                                        ? instruction_budget
                                                        : launcher.options().loops->of(kernel),
                              .approximation = launcher.approximation_of(test_case),
                              .keep_writers = launcher.options().keep_writers};
  Result<LaunchResult> launch = launcher.launch(test_case, execution.tensors, target, choices);
  if (!launch) return launch.error();
  execution.launch = *std::move(launch);
  execution.first = execution.launch.fingerprint;
  if (execution.launch.completed) {
    launcher.options().loops->completed(kernel, execution.launch.instructions);
  } else if (std::ranges::count(execution.launch.findings, FindingKind::endless_loop,
                                &Finding::kind) > 0) {
    launcher.options().loops->endless(kernel);
  }
  if (target.on_gpu) execution.kernel_ms = execution.launch.elapsed_ms;
  if (const Status asked =
          discard_harmless_uninitialized_reads(test_case, target, launcher, choices, execution);
      !asked)
    return asked.error();
  if (const Status asked =
          find_unwritten_registers(test_case, target, launcher, choices, execution);
      !asked)
    return asked.error();
  for (int i = 1; i < launcher.options().repeat && execution.launch.completed; ++i) {
    LaunchChoices next = choices;
    next.keep_variables = true;
    next.one_worker = execution.launch.changed_variables;  // as in call_again()
    Result<LaunchResult> again = launcher.launch(test_case, execution.tensors, target, next);
    if (!again) return again.error();
    execution.different += again->fingerprint != execution.first;
    // The emulator does the same again, unless the kernel finds something that it left behind.
    if (!target.on_gpu && !execution.launch.changed_variables) continue;
    if (target.on_gpu) execution.kernel_ms = std::min(execution.kernel_ms, again->elapsed_ms);
    execution.launch = *std::move(again);
    if (!execution.launch.findings.empty()) break;
  }
  if (target.compare) {
    const Status ran = run_beside(test_case, target, launcher, choices, execution);
    if (!ran) return ran.error();
  }
  if (!target.on_gpu && wants_other_order(test_case, execution.launch, launcher.options())) {
    const Status ran = reorder_ctas(test_case, target, launcher, choices, execution);
    if (!ran) return ran.error();
  }
  const LaunchResult& last = execution.launch;
  if (last.changed_variables && last.completed && last.findings.empty()) {
    const Status called = call_again(test_case, target, launcher, choices, execution);
    if (!called) return called.error();
  }
  return execution;
}

Status name_other_accesses(const Case& test_case, const Target& target, Launcher& launcher,
                           Execution& execution) {
  const std::uint64_t cta_order = execution.reordered ? kOtherOrder : 0;
  const Status named = name_accesses(test_case, target, launcher, cta_order, execution);
  if (!named || !execution.beside) return named;
  return name_accesses(test_case, emulator_beside(target), launcher, 0, *execution.beside);
}

}  // namespace plumbline
