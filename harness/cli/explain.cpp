// SPDX-License-Identifier: MIT
// plumbline explain: one case again, slowly, in words. On a case that passes it explains the output
// closest to its bound.
#include "harness/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "harness/cli/cases.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/explain/probe.h"
#include "harness/run/counterexample.h"
#include "reports/card.h"
#include "reports/count_text.h"

namespace plumbline {
namespace {

void print_steps(const std::vector<double>& steps, Terminal& terminal) {
  if (steps.empty()) return;
  constexpr std::size_t kShown = 48;
  const std::size_t stride = (steps.size() + kShown - 1) / kShown;
  terminal.print_wrapped(
      fmt::format("      accumulator minus exact after {} of k, in accumulator ulp:",
                  stride == 1 ? "each step" : fmt::format("every {} steps", stride)));
  std::string line = "       ";
  for (std::size_t i = (steps.size() - 1) % stride; i < steps.size(); i += stride) {
    const std::string cell = fmt::format(" {:.3g}", steps[i]);
    if (line.size() + cell.size() > static_cast<std::size_t>(terminal.width())) {
      terminal.print(line);
      line = "       ";
    }
    line += cell;
  }
  terminal.print(line);
}

void print_lines(std::string_view text, Terminal& terminal) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    terminal.print_wrapped("        " + std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The terms of a contract with what each means, and what the manifest knows and accepts.
void print_terms(const Manifest& kernel, Terminal& terminal) {
  const auto value = [&](const Field& term) {
    return term.kind == FieldKind::word ? std::string(kernel.terms.word(term.name))
                                        : fmt::format("{}", kernel.terms.integer(term.name));
  };
  std::size_t names = 0, values = 0;
  for (const Field& term : kernel.operation->terms()) {
    names = std::max(names, term.name.size());
    values = std::max(values, value(term).size());
  }
  for (const Field& term : kernel.operation->terms()) {
    const std::string name =
        fmt::format("      {:<{}}  {:<{}}", term.name, names, value(term), values);
    terminal.print_entry(name, term.help, name.size() + 4);
  }
  for (const KnownFinding& finding : kernel.known)
    terminal.print_wrapped("        known: " + finding.reason);
}

// An explanation is of the emulator unless the GPU was asked for.
Result<std::optional<Target>> wanted_gpu(On on) {
  return find_gpu(on == On::automatic ? On::emulator : on);
}

// A failure as `verify` explains it: a small case fits simple faults by chance, which the case that
// it came from tells apart.
Counterexample card_of(const Case& test_case, const Target& target, const Examined& examined,
                       CaseRunner& runner) {
  Counterexample card = explain_failure(test_case, examined);
  narrow_down(card, {test_case, target}, runner);
  drop_faults_of_class(card);
  return card;
}

// ", 40 % of the allowed error used", where one is allowed.
std::string share_of(const OutputVerdict& verdict) {
  if (!std::isfinite(verdict.worst_share)) return "";
  return fmt::format(", {} of the allowed error used", share_text(verdict.worst_share));
}

void explain_on(const Case& test_case, const Target& target, const Examined& examined,
                CaseRunner& runner, Terminal& terminal) {
  const CaseRecord& record = examined.record;
  terminal.print_wrapped(
      fmt::format("{}  {}  on {}", name(record.verdict), record.text, record.device));
  terminal.print("      contract:");
  print_lines(test_case.kernel->describe_contract(test_case.problem, target.sm), terminal);
  if (record.verdict == Verdict::fail)
    print_card(card_of(test_case, target, examined, runner), terminal);
  for (std::size_t i = 0; i < record.outputs.size(); ++i) {
    const OutputRecord& output = record.outputs[i];
    const OutputVerdict& v = output.verdict;
    const std::string fixed = v.exact_required == 0 ? ""
                                                    : fmt::format(", {} with every bit fixed",
                                                                  count_text(v.exact_required));
    terminal.print_wrapped(fmt::format("      {}: {}, the worst {}{}{}", output.name,
                                       counted(v.elements, "output"), ulp_text(v.worst_ulp),
                                       share_of(v), fixed));
    if (is_coarse(record, output))
      terminal.print_wrapped("      " + accuracy_note(v.worst_relative));
    if (v.compared == 0) continue;
    const Tensor* got = examined.tensors.find(output.name);
    const std::int64_t index = v.worst.index;
    const Explanation explanation = examined.oracle->explain(static_cast<int>(i), index, *got);
    if (record.verdict != Verdict::fail) {
      terminal.print_wrapped(fmt::format("      the output closest to its bound: {}",
                                         element_name(output.name, got->layout, index)));
      const std::string writer = stored_by(examined.launch, output.name, got->layout, index);
      if (!writer.empty()) terminal.print_wrapped("        stored by " + writer);
      for (const std::string& line : explanation.lines) terminal.print_wrapped("        " + line);
    }
    print_steps(explanation.steps, terminal);
  }
}

// A kernel instead of a case: what it promises, and what probes find.
ExitCode explain_kernel(const Manifest& kernel, const RunOptions& options,
                        const Arguments& arguments, Terminal& terminal) {
  terminal.print_wrapped(fmt::format("{}  {}", kernel.name, kernel.summary));
  RunnerOptions runner_options = options.runner;
  runner_options.threads = options.jobs;
  CaseRunner runner(runner_options);
  const Result<std::optional<Target>> gpu = wanted_gpu(options.on);
  if (!gpu) return report_error(gpu.error());
  std::string skipped;
  std::string unprobed;  // chips
  ExitCode worst = ExitCode::held;
  const Problem any(kernel.schema());
  const std::vector<Target> targets = kernel_targets(kernel, options.on, options.sm, *gpu, skipped);
  if (targets.empty()) {
    terminal.print_wrapped("      " + skipped);
    return ExitCode::nothing_selected;
  }
  const bool has_products = !kernel.operation->factors().empty();
  if (!has_products || !kernel.operation->terms().empty()) {
    terminal.print("");
    terminal.print("    by its contract, on every chip:");
  }
  print_terms(kernel, terminal);
  for (const Target& target : targets) {
    if (has_products) {
      terminal.print("");
      terminal.print(fmt::format("    {}, by its contract:", target.name()));
      print_lines(kernel.describe_products(any, target.sm), terminal);
    }
    const Result<std::vector<ProbedArithmetic>> probed = probe_arithmetic(kernel, target, runner);
    if (!probed) return report_error(probed.error());
    if (probed->empty()) {
      unprobed += fmt::format("{}{}", unprobed.empty() ? "" : " and ", target.name());
      continue;
    }
    terminal.print_wrapped(
        fmt::format("      probes: this kernel computes with {}", words_of(*probed)));
    if (!all_agree(*probed) && !arguments.allow_mistrusted) worst = ExitCode::mistrusted;
  }
  if (!unprobed.empty()) {
    terminal.print("");
    terminal.print_wrapped(
        fmt::format("    not probed on {}: probes of sums take GEMMs of floating-point operands "
                    "with an output in f32, bf16 or f16",
                    unprobed));
  }
  return worst;
}

ExitCode explain_cases(const std::vector<CaseFile>& cases, const RunOptions& options,
                       Terminal& terminal) {
  RunnerOptions runner_options = options.runner;
  runner_options.threads = options.jobs;
  runner_options.all_relations = true;
  runner_options.keep_writers = true;
  CaseRunner runner(runner_options);
  const Result<std::optional<Target>> gpu = wanted_gpu(options.on);
  if (!gpu) return report_error(gpu.error());
  ExitCode worst = ExitCode::held;
  bool any = false;
  for (const CaseFile& file : cases) {
    std::string skipped;
    const std::vector<Target> targets =
        kernel_targets(*file.test_case.kernel, options.on, options.sm, *gpu, skipped);
    if (targets.empty())
      terminal.print_wrapped(fmt::format("{}: {}", file.test_case.text(), skipped));
    for (const Target& wanted : targets) {
      const Target target = target_for(file.test_case, wanted);
      any = true;
      const Result<std::unique_ptr<Examined>> examined = runner.examine(file.test_case, target);
      if (!examined) return report_error(examined.error());
      explain_on(file.test_case, target, **examined, runner, terminal);
      terminal.print("");
      if ((*examined)->record.verdict == Verdict::fail) worst = ExitCode::broken;
    }
  }
  return any ? worst : ExitCode::nothing_selected;
}

// What one word of the command line means: kernels, or cases.
struct Subject {
  std::vector<const Manifest*> kernels;
  std::vector<CaseFile> cases;
};

bool names_cases(const std::string& name) {
  std::error_code ignored;
  return name.find_first_of(" /") != std::string::npos || name.ends_with(".case") ||
         std::filesystem::exists(name, ignored);
}

Result<Subject> subject_of(const std::string& name, const Registry& registry) {
  if (!registry.find(name) && names_cases(name)) {
    Result<std::vector<CaseFile>> cases = named_cases({name}, registry);
    if (!cases) return cases.error();
    return Subject{{}, *std::move(cases)};
  }
  Result<std::vector<const Manifest*>> kernels = registry.match({name});
  if (!kernels) return kernels.error();
  return Subject{*std::move(kernels), {}};
}

// A broken promise outranks mistrusted evidence, and both the rest. What some subject ran is not
// "nothing".
ExitCode worse(ExitCode a, ExitCode b) {
  for (const ExitCode code : {ExitCode::broken, ExitCode::mistrusted, ExitCode::held}) {
    if (a == code || b == code) return code;
  }
  return a;
}

}  // namespace

ExitCode explain(const Arguments& arguments, Terminal& terminal) {
  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) return report_error(registry.error());
  std::vector<std::string> names = arguments.names;
  if (names.empty()) {  // the kernels of --kernel
    for (const std::string& path : arguments.manifests)
      names.push_back(std::filesystem::path(path).stem().string());
  }
  if (names.empty()) {
    return report_error({ErrorKind::bad_input, "explain needs a case or a kernel", "",
                         "a .case file, a case text in quotes, or a kernel's name"});
  }
  const Result<RunOptions> options = run_options(arguments, {});
  if (!options) return report_error(options.error());
  std::vector<Subject> subjects;
  for (const std::string& name : names) {
    Result<Subject> subject = subject_of(name, *registry);
    if (!subject) return report_error(subject.error());
    subjects.push_back(*std::move(subject));
  }
  ExitCode worst = ExitCode::nothing_selected;
  const auto take = [&](ExitCode code) {
    worst = worse(worst, code);
    return code == ExitCode::could_not_run || code == ExitCode::wrong_input ||
           code == ExitCode::interrupted;
  };
  for (const Subject& subject : subjects) {
    for (const Manifest* kernel : subject.kernels) {
      if (const ExitCode code = explain_kernel(*kernel, *options, arguments, terminal); take(code))
        return code;
    }
    if (subject.kernels.empty() && subject.cases.empty())
      terminal.print_wrapped("there is no .case file in a folder that was named");
    if (subject.cases.empty()) continue;
    if (const ExitCode code = explain_cases(subject.cases, *options, terminal); take(code))
      return code;
  }
  return worst;
}

}  // namespace plumbline
