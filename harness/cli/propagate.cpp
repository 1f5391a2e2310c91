// SPDX-License-Identifier: MIT
// plumbline propagate: where errors come from, and where they go.
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "fuzz/case_file/corpus.h"
#include "fuzz/case_file/sweep.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/launch/interrupt.h"
#include "harness/propagation/gradients.h"
#include "harness/propagation/propagate.h"
#include "harness/propagation/stacks.h"
#include "harness/propagation/stochastic.h"
#include "reports/propagation_text.h"
#include "reports/record/json.h"
#include "reports/sweep.h"

namespace plumbline {
namespace {

// Names with a space in them are case texts, all others kernels.
struct Named {
  std::vector<Case> cases;
  std::vector<std::string> globs;
};

Result<Named> split_names(const std::vector<std::string>& names, const Registry& registry) {
  Named named;
  for (const std::string& name : names) {
    if (name.find(' ') == std::string::npos) {
      named.globs.push_back(name);
      continue;
    }
    Result<Case> parsed = parse_case_line(name, registry, "command line");
    if (!parsed) return parsed.error();
    named.cases.push_back(*std::move(parsed));
  }
  return named;
}

struct Selected {
  std::vector<SweptCase> cases;      // without a word where nothing is swept
  std::string why_none;              // there are no cases: what people can do about it
  std::vector<std::string> refused;  // values of the sweep that a kernel does not accept
};

// A kernel that accepts none of the problems that propagate knows.
std::string describe_refusal(const Manifest& kernel, const std::string& refusal) {
  std::string fields;
  for (const Field& field : kernel.schema()) {
    if (must_be_given(field)) fields += fmt::format(" {}=...", field.name);
  }
  return fmt::format(
      "nothing selected: {} accepts none of the problems that propagate has for {} ({}). Name a "
      "case that it accepts, as in: plumbline propagate{} \"{}{} value=normal seed=1\"",
      kernel.name, kernel.operation->name(), refusal,
      kernel.added ? fmt::format(" --kernel {}", kernel.path) : "", kernel.name, fields);
}

// Every case once for each value of --sweep.
Result<Selected> with_sweep(std::vector<Case> cases, std::string why_none,
                            const Arguments& arguments, const Registry& registry) {
  Selected selected;
  selected.why_none = std::move(why_none);
  if (arguments.sweep.empty()) {
    for (Case& one : cases) selected.cases.push_back({std::move(one), ""});
    return selected;
  }
  const Result<Sweep> sweep = parse_sweep(arguments.sweep);
  if (!sweep) return sweep.error();
  for (const Case& one : cases) {
    Result<SweptCases> swept = swept_cases(one, *sweep, registry);
    if (!swept) return swept.error();
    selected.cases.insert(selected.cases.end(), swept->cases.begin(), swept->cases.end());
    selected.refused.insert(selected.refused.end(), swept->refused.begin(), swept->refused.end());
  }
  return selected;
}

// The cases asked for: those named, and of every kernel the first of its propagation cases, or what
// --only leaves of them.
Result<Selected> selected_cases(const Arguments& arguments, const Registry& registry) {
  Result<Named> named = split_names(arguments.names, registry);
  if (!named) return named.error();
  std::vector<Case> cases = std::move(named->cases);
  std::string why_none;
  if (!cases.empty() && named->globs.empty())
    return with_sweep(std::move(cases), "", arguments, registry);
  const auto kernels = registry.match(named->globs);
  if (!kernels) return kernels.error();
  std::optional<Filter> filter;
  if (!arguments.only.empty()) {
    const Result<Filter> parsed = Filter::parse(arguments.only, *kernels);
    if (!parsed) return parsed.error();
    filter = *parsed;
  }
  for (const Manifest* kernel : *kernels) {
    const PropagationCases all = propagation_cases(*kernel, arguments.seed.value_or(1));
    if (all.cases.empty() && !all.refusal.empty() && why_none.empty())
      why_none = describe_refusal(*kernel, all.refusal);
    for (const Case& test_case : all.cases) {
      if (arguments.draws > 0 && !has_gradients(*kernel->operation)) continue;
      if (filter && !filter->holds(test_case)) continue;
      cases.push_back(test_case);
      if (!filter) break;
    }
  }
  return with_sweep(std::move(cases), std::move(why_none), arguments, registry);
}

// The newest chip the kernel runs on, or the one asked for.
std::optional<Target> target_of(const Manifest& kernel, const Arguments& arguments,
                                const std::optional<Target>& gpu, std::string& skipped) {
  const std::vector<Target> targets =
      kernel_targets(kernel, arguments.on, arguments.sm, gpu, skipped);
  if (targets.empty()) return std::nullopt;
  return targets.back();
}

// Findings, then the table, as the output format has it. Of a sweep one table comes at its end.
void print_found(const std::string& name, const std::vector<std::string>& findings,
                 const std::vector<std::string>& lines, const Arguments& arguments,
                 Terminal& terminal) {
  if (arguments.format == OutputFormat::json) return;
  if (arguments.format == OutputFormat::line) {
    for (const std::string& finding : findings)
      terminal.print(fmt::format("{}: {}", name, finding));
    return;
  }
  for (const std::string& finding : findings) terminal.print_wrapped("  " + finding);
  if (arguments.quiet) return;
  terminal.print("");
  for (const std::string& line : lines) terminal.print("  " + line);
  terminal.print("");
}

// Into the record, and a line of record.jsonl: a killed run still has it.
template <typename Found>
void keep_found(std::vector<Found> RunRecord::* list, Found one, RunFolder& folder,
                RunRecord& record) {
  RunRecord found;
  (found.*list).push_back(one);
  folder.append_found(found);
  (record.*list).push_back(std::move(one));
}

// What belongs to a case: its stages, and its gradients when they are asked for.
void propagate_one(const SweptCase& swept, const Target& target, CaseRunner& runner,
                   const Arguments& arguments, RunFolder& folder, Terminal& terminal,
                   RunRecord& record) {
  const Case& test_case = swept.test_case;
  const bool alone = swept.word.empty() || arguments.verbose;
  if (arguments.format == OutputFormat::human)
    terminal.print_wrapped(alone ? terminal.bold(test_case.text()) : test_case.text());
  const auto keep = [&](CaseRecord judged) {
    folder.append(judged);
    record.cases.push_back(std::move(judged));
    record.cases.back().position = static_cast<std::int64_t>(record.cases.size()) - 1;
  };
  const auto give_up = [&](const Error& error) {
    if (interrupted()) return;  // as if it had not begun
    terminal.note("  " + error.text());
    keep(error_record(test_case, target, error));
  };
  if (arguments.draws > 0) {
    auto compared = compare_gradients_of(runner, test_case, target, {.draws = arguments.draws});
    if (!compared) return give_up(compared.error());
    for (CaseRecord& judged : compared->judged) keep(std::move(judged));
    for (GradientRecord& gradient : compared->outputs) {
      gradient.swept = swept.word;
      if (alone)
        print_found(fmt::format("{}: {}", gradient.text, gradient.output), gradient.findings,
                    gradient_lines(gradient), arguments, terminal);
      keep_found(&RunRecord::gradients, std::move(gradient), folder, record);
    }
    return;
  }
  if (arguments.stochastic > 0) {
    auto drawn = run_stochastically(
        runner, test_case, target,
        {.draws = arguments.stochastic, .seed = record.seed, .threads = worker_threads(arguments)});
    if (!drawn) return give_up(drawn.error());
    keep(std::move(drawn->judged));
    for (StochasticRecord& output : drawn->outputs) {
      output.swept = swept.word;
      if (alone)
        print_found(fmt::format("{}: {}", output.text, output.output), output.findings,
                    stochastic_lines(output), arguments, terminal);
      keep_found(&RunRecord::stochastics, std::move(output), folder, record);
    }
    return;
  }
  auto done = propagate_case(runner, test_case, target, {.seed = record.seed});
  if (!done) return give_up(done.error());
  keep(std::move(done->judged));
  for (PropagationRecord& output : done->outputs) {
    output.swept = swept.word;
    if (alone)
      print_found(fmt::format("{}: {}", output.text, output.output), output.findings,
                  propagation_lines(output), arguments, terminal);
    keep_found(&RunRecord::propagations, std::move(output), folder, record);
  }
}

// The kernels' part of a run.
void propagate_kernels(const std::vector<SweptCase>& cases,
                       const std::vector<const Manifest*>& kernels,
                       const std::optional<Target>& gpu, const Arguments& arguments,
                       RunFolder& folder, Terminal& terminal, RunRecord& record) {
  RunnerOptions runner_options;
  runner_options.threads = worker_threads(arguments);
  runner_options.approximation = {.direction = ApproximationErrors::Direction::nearest};
  CaseRunner runner(runner_options);
  for (const Manifest* kernel : kernels) {
    std::string skipped;
    const std::optional<Target> target = target_of(*kernel, arguments, gpu, skipped);
    add_kernel(record, *kernel, target ? std::vector{*target} : std::vector<Target>{}, skipped);
    folder.begin(record);
    if (!target) {
      terminal.note(fmt::format("{}: {}", kernel->name, skipped));
      continue;
    }
    for (const SweptCase& one : cases) {
      if (one.test_case.kernel == kernel && !interrupted())
        propagate_one(one, target_for(one.test_case, *target), runner, arguments, folder, terminal,
                      record);
    }
  }
}

// What the stacks run with: once, or once for each value of --sweep.
struct SweptModel {
  StackModel model;
  std::string word;  // "width=64"; empty: nothing is swept
};

StackRuns stack_runs(const Arguments& arguments, std::uint64_t seed) {
  return {.depth = arguments.depth,
          .decode = arguments.decode,
          .denoise = arguments.denoise,
          .seed = seed,
          .threads = worker_threads(arguments)};
}

// What --model and, where no kernel is named, --sweep say.
Result<std::vector<SweptModel>> swept_models(const Arguments& arguments) {
  const StackRuns runs = stack_runs(arguments, 1);
  if (!runs.any()) {
    if (arguments.model.empty()) return std::vector<SweptModel>();
    return Error{ErrorKind::bad_input, "it describes the stacks of --depth, --decode and --denoise",
                 "--model", "add --depth 32"};
  }
  std::vector<SweptModel> models;
  const auto add = [&](const std::string& text, const std::string& word) -> Status {
    Result<StackModel> model = parse_stack_model(text, "--model");
    if (!model) return model.error();
    if (Status checked = check_stacks(runs, *model); !checked) return checked;
    models.push_back({*std::move(model), word});
    return {};
  };
  if (arguments.sweep.empty() || !arguments.names.empty()) {
    if (Status added = add(arguments.model, ""); !added) return added.error();
    return models;
  }
  const Result<Sweep> sweep = parse_sweep(arguments.sweep);
  if (!sweep) return sweep.error();
  for (const std::string& value : sweep->values) {
    if (Status added = add(sweep->placed(arguments.model, value), sweep->word(value)); !added) {
      Error error = added.error();
      error.where = "--sweep " + sweep->word(value);
      return error;
    }
  }
  return models;
}

// One table of a sweep comes at its end, instead of one for each value.
void propagate_stacks(const std::vector<SweptModel>& models, const Arguments& arguments,
                      RunFolder& folder, Terminal& terminal, RunRecord& record) {
  for (const SweptModel& one : models) {
    run_stacks(stack_runs(arguments, record.seed), one.model, [&](DepthRecord curves) {
      curves.swept = one.word;
      const bool alone = one.word.empty() || arguments.verbose;
      if (arguments.format == OutputFormat::human)
        terminal.print_wrapped(alone ? terminal.bold(curves.stack)
                                     : fmt::format("{}: {}", steps_text(curves), curves.stack));
      if (alone)
        print_found(curves.stack, curves.findings, depth_lines(curves), arguments, terminal);
      keep_found(&RunRecord::depths, std::move(curves), folder, record);
    });
  }
}

void print_sweeps(const RunRecord& record, const Arguments& arguments, Terminal& terminal) {
  const std::vector<SweepTable> tables = sweep_tables(record);
  const bool human = arguments.format == OutputFormat::human;
  if (human && !tables.empty()) terminal.print("");
  for (const SweepTable& table : tables) {
    if (human) terminal.print_wrapped(terminal.bold(table.title));
    print_found(table.title, table.findings, sweep_lines(table), arguments, terminal);
  }
}

}  // namespace

ExitCode propagate(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) return report_error(registry.error());
  const Result<std::vector<SweptModel>> models = swept_models(arguments);
  if (!models) return report_error(models.error());
  if (!models->empty() && arguments.names.empty() &&
      (arguments.draws > 0 || arguments.stochastic > 0)) {
    return report_error(Error{ErrorKind::bad_input,
                              "--draws and --stochastic are of kernels, and none is named",
                              "command line", "plumbline propagate gemm_bf16 --stochastic 64"});
  }
  const Result<Selected> selected = !models->empty() && arguments.names.empty()
                                        ? Selected()
                                        : selected_cases(arguments, *registry);
  if (!selected) return report_error(selected.error());
  const std::vector<SweptCase>& cases = selected->cases;
  for (const std::string& refused : selected->refused) terminal.note("left out: " + refused);
  if (cases.empty() && models->empty()) {
    terminal.note(
        !selected->why_none.empty()
            ? selected->why_none
            : "nothing selected: no kernel with stages (or gradients), or --only leaves no case");
    return ExitCode::nothing_selected;
  }
  const Result<std::optional<Target>> gpu = find_gpu(arguments.on);
  if (!gpu) return report_error(gpu.error());
  std::vector<const Manifest*> kernels;
  for (const SweptCase& one : cases) {
    if (std::find(kernels.begin(), kernels.end(), one.test_case.kernel) == kernels.end())
      kernels.push_back(one.test_case.kernel);
  }
  RunRecord record;
  record.seed = arguments.seed.value_or(1);
  label_record(record, arguments, run_id(arguments, kernels, record.seed));
  record.planned = std::ssize(cases) * std::max(1, arguments.draws);
  describe_environment(record);
  Result<RunFolder> folder = create_run_folder(arguments, record.run_id);
  if (!folder) return report_error(folder.error());

  const auto start = std::chrono::steady_clock::now();
  folder->begin(record);
  propagate_kernels(cases, kernels, *gpu, arguments, *folder, terminal, record);
  propagate_stacks(*models, arguments, *folder, terminal, record);
  print_sweeps(record, arguments, terminal);
  record.interrupted = interrupted();
  summarize(record);
  record.elapsed_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const Status written = folder->finish(record, false);
  folder->link_as_latest();
  if (arguments.format == OutputFormat::json) terminal.print(record_json(record));
  if (record.interrupted && arguments.format == OutputFormat::human)
    terminal.print_wrapped("interrupted; what had finished is in the record");
  if (written && arguments.format == OutputFormat::human && !arguments.quiet) {
    terminal.print(
        terminal.dim(fmt::format("record: {}", (folder->path() / "record.json").string())));
  }
  return unless_unwritten(written, exit_code(record, arguments));
}

}  // namespace plumbline
