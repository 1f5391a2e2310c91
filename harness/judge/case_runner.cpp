// SPDX-License-Identifier: MIT
#include "harness/judge/case_runner.h"

#include <fmt/format.h>

#include "harness/judge/code_coverage.h"
#include "harness/judge/figures.h"
#include "harness/judge/named_entries.h"
#include "harness/judge/promised_steps.h"
#include "harness/judge/unit_shapes.h"
#include "harness/relations/relations.h"
#include "oracles/base/file.h"
#include "oracles/base/hash.h"
#include "oracles/base/random.h"
#include "oracles/exact/parallel.h"
#include "oracles/formats/decode.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <stdexcept>

namespace plumbline {

namespace {

Target emulator_beside(const Target& gpu) {
  Target emulator;
  emulator.sm = gpu.sm;
  return emulator;
}

// Other orders of CTAs are tried on one case in so many.
constexpr std::uint64_t kOneIn = 4;
// LaunchChoices::cta_order of that order.
constexpr std::uint64_t kOtherOrder = 1;

// A quarter of all seeds has the largest results that are documented, a quarter the smallest. All
// launches of a case, and of the problems related to it, have the same.
ApproximationErrors approximation_by_seed(const Case& test_case) {
  using enum ApproximationErrors::Direction;
  const std::uint64_t draw = mix(test_case.recipe.seed);
  switch (draw % 4) {
    case 0:
      return {largest, draw};
    case 1:
      return {smallest, draw};
    default:
      return {mixed, draw};
  }
}

// What a case's work gives, or the exception that left it as an Error: one case that cannot run
// must not end the run of all others.
template <typename Work>
auto without_exceptions(const std::string& subject, const std::atomic<bool>& give_up,
                        const Work& work) -> decltype(work()) {
  const auto too_much_memory = [&] {
    return Error{ErrorKind::out_of_memory,
                 fmt::format("{} needs more memory than is free", subject), "",
                 "use a smaller shape, or fewer --jobs"};
  };
  try {
    const GiveUpOn when_asked(&give_up);
    return work();
  } catch (const GivenUp&) {
    return interruption(subject);
  } catch (const std::bad_alloc&) {
    return too_much_memory();
  } catch (const std::length_error&) {
    return too_much_memory();
  } catch (const std::exception& error) {
    return Error{ErrorKind::cannot_run,
                 fmt::format("{}: internal error: {}", subject, error.what()), "",
                 "this is a fault of plumbline; please report it with this line"};
  }
}

// What contradicts the relation, in words; empty when nothing does.
std::string what_breaks(const Relation& relation, const RelatedRun& run, const LaunchResult& launch,
                        const CaseTensors& first) {
  if (!launch.completed)
    return fmt::format("{} ({}), but the changed problem did not run to its end", relation.words,
                       relation.id);
  for (const Follow& follow : run.outputs) {
    const Tensor& before = *first.find(follow.output);
    const Tensor& after = *run.tensors.find(follow.output);
    for (std::int64_t at = 0; at < after.layout.count(); ++at) {
      if (follows(follow, before, at, after.bits(at))) continue;
      return fmt::format("{} ({}), but {} of the changed problem is {:.9g} (0x{:x})",
                         relation.words, relation.id, element_name(follow.output, after.layout, at),
                         to_double(format(after.layout.format), after.bits(at)), after.bits(at));
    }
  }
  return {};
}

}  // namespace

Result<std::string> read_image(const Manifest& kernel, int sm) {
  const std::string path = kernel.ptx_path(sm);
  Result<std::string> text =
      read_text_file(path, kernel.ptx.empty() ? "build the kernels first: scripts/plumbline does"
                                              : "check `ptx` in the manifest");
  if (text) return text;
  Error error = text.error();
  error.kind = ErrorKind::cannot_run;
  error.message = fmt::format("no PTX of {} for sm_{}: {}", kernel.name, sm, error.message);
  return error;
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

ApproximationErrors CaseRunner::approximation_of(const Case& test_case) const {
  return options_.approximation.value_or(approximation_by_seed(test_case));
}

CaseRunner::CaseRunner(RunnerOptions options) : options_(std::move(options)) {
  if (!options_.image) options_.image = read_image;
}

Result<CaseRunner::Loaded*> CaseRunner::loaded_for(const Target& target) {
  Loaded& loaded = devices_[target.name()];
  if (!loaded.device) {
    Result<std::unique_ptr<Device>> device =
        open_device(target, options_.threads, *options_.give_up);
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
    const Status kept = check_promised_steps(kernel, *image, kernel.ptx_path(*build));
    if (!kept) return kept.error();
    const Status same_units = check_units(kernel, *image, kernel.ptx_path(*build));
    if (!same_units) return same_units.error();
    Result<std::unique_ptr<Module>> loaded_module =
        loaded.device->load(*image, kernel.ptx_path(*build), entries_of(kernel));
    if (!loaded_module) return loaded_module.error();
    module = *std::move(loaded_module);
  }
  return module.get();
}

// Whether every chip gives the bits that the emulator does. What approximate instructions give is
// the chip's own: the emulator's are off by as much as is documented, and contracts allow for it.
bool CaseRunner::bits_are_fixed(const Manifest& kernel, int sm) const {
  const std::optional<int> build = best_build(kernel, sm);
  const Result<std::string> image = options_.image(kernel, build.value_or(sm));
  if (!image) return true;
  const Result<emulator::PtxModule> ptx = parse_named_entries(kernel, *image, kernel.path);
  if (!ptx) return true;
  bool fixed = true;
  for_each_instruction(*ptx, [&](const emulator::Instruction& instruction) {
    fixed = fixed && !instruction.has_modifier("approx") && !instruction.has_modifier("full");
  });
  return fixed;
}

Result<LaunchResult> CaseRunner::launch_on(const Case& test_case, CaseTensors& tensors,
                                           const Target& target, const LaunchChoices& choices) {
  const Result<Loaded*> loaded = loaded_for(target);
  if (!loaded) return loaded.error();
  const Result<const Module*> module = module_for(**loaded, *test_case.kernel, target.sm);
  if (!module) return module.error();
  return launch_case(test_case, tensors, *(*loaded)->device, **module, choices);
}

bool CaseRunner::wants_other_order(const Case& test_case, const LaunchResult& launch) const {
  if (!launch.completed || !launch.findings.empty()) return false;
  if (launch.communicates || options_.all_relations) return true;
  return test_case.kernel->deterministic() && fingerprint(test_case.text()) % kOneIn == 1;
}

// Kernels load rows beyond a matrix, and pipelines tiles that do not exist, and use nothing of
// them. The first launch found NaN there in every float format; what mattered to an output, or to
// whether the kernel ends, shows when it is a large positive and a large negative number. Which way
// a warp goes may depend on it: FlashAttention 2 asks of every row's sum, also of those beyond the
// last query, whether there is anything to divide by.
Status CaseRunner::discard_harmless_uninitialized_reads(const Case& test_case, const Target& target,
                                                        LaunchChoices choices, Launched& launched) {
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
    const Result<LaunchResult> again = launch_on(test_case, tensors, target, choices);
    if (!again) return again.error();
    if (!may_be_idle(*again) || again->fingerprint != launched.launch.fingerprint) return {};
  }
  launched.launch.findings.clear();
  return {};
}

// Registers begin as zeros. Where the code reads some before it writes them, and nothing else is to
// be found, the case runs again with other values in them: what depends on these shows.
Status CaseRunner::find_unwritten_registers(const Case& test_case, const Target& target,
                                            LaunchChoices choices, Execution& execution) {
  const LaunchResult& first = execution.launch;
  if (!first.completed || !first.findings.empty() || first.unwritten_registers.empty()) return {};
  CaseTensors tensors = execution.tensors;
  choices.register_garbage = 0xdc;
  choices.keep_writers = false;
  const Result<LaunchResult> again = launch_on(test_case, tensors, target, choices);
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

Status CaseRunner::name_other_accesses(const Case& test_case, const Target& target,
                                       std::uint64_t cta_order, Launched& launched) {
  const auto is_open = [](const Finding& finding) {
    return finding.shared_address && !finding.other;
  };
  LaunchChoices choices{.cta_order = cta_order, .approximation = approximation_of(test_case)};
  for (const Finding& finding : launched.launch.findings) {
    if (is_open(finding)) choices.traced.push_back({finding.cta, *finding.shared_address});
  }
  if (choices.traced.empty()) return {};
  CaseTensors tensors = launched.tensors;
  const Result<LaunchResult> again = launch_on(test_case, tensors, target, choices);
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

Status CaseRunner::reorder_ctas(const Case& test_case, const Target& target, LaunchChoices choices,
                                Execution& execution) {
  choices.cta_order = kOtherOrder;
  Result<LaunchResult> launch = launch_on(test_case, execution.tensors, target, choices);
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
  return discard_harmless_uninitialized_reads(test_case, target, choices, execution);
}

Status CaseRunner::call_again(const Case& test_case, const Target& target, LaunchChoices choices,
                              Execution& execution) {
  Case other = with_fresh_draw(test_case, 0);
  if (!other.literals.empty()) {  // they are the inputs, whatever the seed
    other.literals.clear();
    other.recipe.value_class = "normal";
  }
  Result<CaseTensors> tensors = materialize(other);
  if (!tensors) return tensors.error();
  const Result<LaunchResult> between = launch_on(other, *tensors, target, choices);
  if (!between) return between.error();
  choices.keep_variables = true;
  // Where blocks wait for each other, what the call before left lets some go too early: which
  // others have run by then is the order's doing.
  if (execution.reordered) choices.cta_order = kOtherOrder;
  Result<LaunchResult> launch = launch_on(test_case, execution.tensors, target, choices);
  if (!launch) return launch.error();
  launch->executions = std::move(execution.launch.executions);  // what earlier launches executed
  execution.launch = *std::move(launch);
  execution.called_again = true;
  execution.same_when_called_again = execution.launch.fingerprint == execution.first;
  return discard_harmless_uninitialized_reads(test_case, target, choices, execution);
}

Result<std::optional<std::string>> CaseRunner::broken_relation(const Case& test_case,
                                                               const Target& target,
                                                               const Examined& examined) {
  constexpr double kMostWork = 1e8;
  const std::vector<Relation> relations = relations_of(*test_case.kernel->operation);
  // Each chip tries other ones.
  const std::uint64_t draw = fingerprint(fmt::format("{} {}", test_case.text(), target.name()));
  const std::uint64_t one_in = test_case.kernel->operation->relations_one_in();
  const bool bitwise = !relations.empty() && test_case.kernel->deterministic();
  std::optional<std::string> broken;
  if (!bitwise || test_case.kernel->operation->work(test_case.problem) > kMostWork) return broken;
  if (!options_.all_relations && draw % one_in != 0) return broken;
  for (std::size_t i = 0; i < relations.size(); ++i) {
    const Relation& relation = relations[(draw / one_in + i) % relations.size()];
    std::optional<RelatedRun> run = relation.make(test_case, examined.tensors);
    if (!run) continue;
    const Result<LaunchResult> launch = launch_on(run->test_case, run->tensors, target,
                                                  {.approximation = approximation_of(test_case)});
    if (!launch) return launch.error();
    broken = what_breaks(relation, *run, *launch, examined.tensors);
    if (!broken->empty() || !options_.all_relations) return broken;
  }
  return broken;
}

Result<CaseRunner::FreshDraws> CaseRunner::still_suspect(const Case& test_case,
                                                         const Target& target,
                                                         std::vector<Suspicion> suspicions) {
  for (int i = 0; i < kFreshDraws && !suspicions.empty(); ++i) {
    const Case fresh = with_fresh_draw(test_case, i);
    const Result<Execution> execution = execute(fresh, target);
    if (!execution) return execution.error();
    if (!execution->launch.findings.empty()) {
      return FreshDraws{{},
                        fmt::format("with other inputs of the same class ({}): {}", fresh.text(),
                                    execution->launch.findings.front().text())};
    }
    const std::unique_ptr<CaseOracle> oracle = fresh.kernel->operation->oracle(
        fresh.problem, *fresh.kernel, target.sm, execution->tensors);
    const std::optional<PopulationVerdict> again =
        test_population(fresh, execution->tensors, *oracle, options_.threads);
    suspicions = confirmed(suspicions, again ? again->suspicions : std::vector<Suspicion>());
  }
  return FreshDraws{std::move(suspicions), {}};
}

namespace {

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

Status CaseRunner::load(const Manifest& kernel, const Target& target) {
  return without_exceptions(kernel.name, *options_.give_up,
                            [&] { return try_load(kernel, target); });
}

Result<Execution> CaseRunner::execute(const Case& test_case, const Target& target,
                                      std::uint64_t instruction_budget) {
  return without_exceptions(test_case.text(), *options_.give_up,
                            [&] { return try_execute(test_case, target, instruction_budget); });
}

Result<std::unique_ptr<Examined>> CaseRunner::judge(const Case& test_case, const Target& target,
                                                    Execution execution) {
  return without_exceptions(test_case.text(), *options_.give_up,
                            [&] { return try_judge(test_case, target, std::move(execution)); });
}

Status CaseRunner::try_load(const Manifest& kernel, const Target& target) {
  const Result<Loaded*> loaded = loaded_for(target);
  if (!loaded) return loaded.error();
  const Result<const Module*> module = module_for(**loaded, kernel, target.sm);
  if (!module) return module.error();
  return {};
}

Result<Execution> CaseRunner::try_execute(const Case& test_case, const Target& target,
                                          std::uint64_t instruction_budget) {
  const Status accepted = check_domain(test_case);
  if (!accepted) return accepted.error();
  // What is kept of a case while the next one runs, and the copies that run beside a GPU.
  const int copies = (options_.keep_writers ? 2 : 1) + (target.compare ? 1 : 0);
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
                                                        : options_.loops->of(kernel),
                              .approximation = approximation_of(test_case),
                              .keep_writers = options_.keep_writers};
  Result<LaunchResult> launch = launch_on(test_case, execution.tensors, target, choices);
  if (!launch) return launch.error();
  execution.launch = *std::move(launch);
  execution.first = execution.launch.fingerprint;
  if (execution.launch.completed) {
    options_.loops->completed(kernel, execution.launch.instructions);
  } else if (std::ranges::count(execution.launch.findings, FindingKind::endless_loop,
                                &Finding::kind) > 0) {
    options_.loops->endless(kernel);
  }
  if (target.on_gpu) execution.kernel_ms = execution.launch.elapsed_ms;
  if (const Status asked =
          discard_harmless_uninitialized_reads(test_case, target, choices, execution);
      !asked)
    return asked.error();
  if (const Status asked = find_unwritten_registers(test_case, target, choices, execution); !asked)
    return asked.error();
  for (int i = 1; i < options_.repeat && execution.launch.completed; ++i) {
    LaunchChoices next = choices;
    next.keep_variables = true;
    Result<LaunchResult> again = launch_on(test_case, execution.tensors, target, next);
    if (!again) return again.error();
    execution.different += again->fingerprint != execution.first;
    // The emulator does the same again, unless the kernel finds something that it left behind.
    if (!target.on_gpu && !execution.launch.changed_variables) continue;
    if (target.on_gpu) execution.kernel_ms = std::min(execution.kernel_ms, again->elapsed_ms);
    execution.launch = *std::move(again);
    if (!execution.launch.findings.empty()) break;
  }
  if (target.compare) {
    const Status ran = run_beside(test_case, target, choices, execution);
    if (!ran) return ran.error();
  }
  if (!target.on_gpu && wants_other_order(test_case, execution.launch)) {
    const Status ran = reorder_ctas(test_case, target, choices, execution);
    if (!ran) return ran.error();
  }
  const LaunchResult& last = execution.launch;
  if (last.changed_variables && last.completed && last.findings.empty()) {
    const Status called = call_again(test_case, target, choices, execution);
    if (!called) return called.error();
  }
  return execution;
}

Status CaseRunner::run_beside(const Case& test_case, const Target& target, LaunchChoices choices,
                              Execution& execution) {
  const Target emulator = emulator_beside(target);
  Launched beside{execution.tensors, {}};
  Result<LaunchResult> launch = launch_on(test_case, beside.tensors, emulator, choices);
  if (!launch) return launch.error();
  beside.launch = *std::move(launch);
  if (Status asked = discard_harmless_uninitialized_reads(test_case, emulator, choices, beside);
      !asked)
    return asked;
  execution.beside = std::move(beside);
  return {};
}

Result<std::unique_ptr<Examined>> CaseRunner::examine(const Case& test_case, const Target& target) {
  const auto start = std::chrono::steady_clock::now();
  Result<Execution> execution = execute(test_case, target);
  if (!execution) return execution.error();
  const std::uint64_t cta_order = execution->reordered ? kOtherOrder : 0;
  if (const Status named = name_other_accesses(test_case, target, cta_order, *execution); !named)
    return named.error();
  if (execution->beside) {
    const Status named =
        name_other_accesses(test_case, emulator_beside(target), 0, *execution->beside);
    if (!named) return named.error();
  }
  Result<std::unique_ptr<Examined>> examined = judge(test_case, target, *std::move(execution));
  if (!examined) return examined.error();
  shorten_figures((*examined)->record);
  (*examined)->record.elapsed_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return examined;
}

Result<std::unique_ptr<Examined>> CaseRunner::try_judge(const Case& test_case, const Target& target,
                                                        Execution execution) {
  if (*options_.give_up) return interruption(test_case.text());  // exact values may take minutes
  auto examined = std::make_unique<Examined>();
  static_cast<Execution&>(*examined) = std::move(execution);
  JudgeOptions judging = options_.judge;
  judging.threads = options_.threads;
  const Manifest& kernel = *test_case.kernel;
  examined->oracle =
      kernel.operation->oracle(test_case.problem, kernel, target.sm, examined->tensors);
  CaseRecord& record = examined->record;
  record = judge_case(test_case, examined->tensors, examined->launch, *examined->oracle, judging);
  record.device = target.name();
  record.kernel_ms = examined->kernel_ms;
  if (options_.coverage != nullptr) {
    const Result<Loaded*> loaded = loaded_for(target);
    if (!loaded) return loaded.error();
    const Result<const Module*> module = module_for(**loaded, kernel, target.sm);
    if (!module) return module.error();
    options_.coverage->add(kernel.name, target.name(), **module, examined->launch);
  }
  if (options_.keep_reached) record.reached = reached_codes(examined->launch, target.sm);
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
    std::optional<PopulationVerdict> population =
        test_population(test_case, examined->tensors, *examined->oracle, options_.threads);
    if (population) {
      if (population->broken.empty()) {
        const Result<FreshDraws> fresh = still_suspect(test_case, target, population->suspicions);
        if (!fresh) return fresh.error();
        if (!fresh->finding.empty()) settle(Claim::in_bounds, false, fresh->finding);
        if (!fresh->suspicions.empty()) {
          population->broken = words_of(fresh->suspicions);
        } else if (!population->suspicions.empty()) {
          population->detectable +=
              "; only this draw of inputs shows " + population->suspicions.front().words;
        }
      }
      settle(Claim::population, population->broken.empty(), population->broken);
      record.population = population->detectable;
    }
  }
  if (examined->reordered || examined->called_again || options_.repeat > 1) {
    const bool held = (examined->different == 0 && examined->same_in_any_order &&
                       examined->same_when_called_again) ||
                      !kernel.deterministic();
    settle(
        Claim::deterministic, held,
        examined->different > 0
            ? fmt::format("{} of {} launches gave other bits", examined->different, options_.repeat)
        : !examined->same_in_any_order
            ? "with its CTAs in another legal order the kernel gives other bits"
            : "called again, after a call with other inputs, the kernel gives other bits: it finds "
              "what a call left in a variable of its module");
  }
  if (examined->beside) judge_beside(test_case, target, *examined);
  return examined;
}

void CaseRunner::judge_beside(const Case& test_case, const Target& target, Examined& examined) {
  Launched& beside = *examined.beside;
  const std::string emulator = emulator_beside(target).name();
  const bool both_ended = beside.launch.completed && examined.launch.completed;
  const bool same = both_ended && beside.launch.fingerprint == examined.first;
  const Manifest& kernel = *test_case.kernel;
  std::unique_ptr<CaseOracle> oracle =
      kernel.operation->oracle(test_case.problem, kernel, target.sm, beside.tensors);
  JudgeOptions judging = options_.judge;
  judging.threads = options_.threads;
  // Of the same bits the same would be said.
  LaunchResult findings_alone = beside.launch;
  findings_alone.completed = findings_alone.completed && !same;
  CaseRecord judged = judge_case(test_case, beside.tensors, findings_alone, *oracle, judging);
  for (FindingRecord& finding : judged.findings) {
    finding.text = fmt::format("{}: {}", emulator, finding.text);
    examined.record.findings.push_back(finding);
  }
  CaseRecord& record = examined.record;
  const auto fail = [&](Claim claim, const std::string& reason) {
    record.claims[claim] = record.verdict = Verdict::fail;
    if (record.reason.empty()) record.reason = reason;
  };
  const bool values_break = !same && beside.launch.completed && judged.verdict == Verdict::fail;
  if (values_break && record.verdict != Verdict::fail && examined.launch.completed) {
    std::vector<FindingRecord> findings = std::move(record.findings);
    std::map<Claim, Verdict> claims = std::move(record.claims);
    for (const auto& [claim, verdict] : judged.claims) claims[claim] = verdict;
    judged.claims = std::move(claims);
    judged.findings = std::move(findings);
    judged.device = record.device;
    judged.kernel_ms = record.kernel_ms;
    judged.reached = std::move(record.reached);
    judged.reason = fmt::format("{}, beside the GPU: {}", emulator, judged.reason);
    record = std::move(judged);
    std::swap(static_cast<Launched&>(examined), beside);
    examined.oracle =
        kernel.operation->oracle(test_case.problem, kernel, target.sm, examined.tensors);
  } else if (!beside.launch.findings.empty()) {
    fail(Claim::in_bounds, record.findings.back().text);
  }
  if (!both_ended) return;
  if (same || (kernel.deterministic() && bits_are_fixed(kernel, target.sm))) {
    record.claims[Claim::agrees] = Verdict::pass;
    if (!same) fail(Claim::agrees, "GPU and emulator differ in some output bit");
  } else {
    record.claims[Claim::agrees] = Verdict::skip;
  }
}

std::optional<CaseRecord> CaseRunner::run(const Case& test_case, const Target& target) {
  Result<std::unique_ptr<Examined>> examined = examine(test_case, target);
  if (!examined && *options_.give_up) return std::nullopt;
  if (!examined) return error_record(test_case, target, examined.error());
  return std::move((*examined)->record);
}

}  // namespace plumbline
