// SPDX-License-Identifier: MIT
// plumbline doctor: what works here, and what to do about the rest. Exit 0 when everything a
// machine without a GPU needs works.
#include <fmt/format.h>

#include "fuzz/case_file/corpus.h"
#include "harness/build_info.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/judge/interrupt.h"
#include "oracles/exact/blas.h"
#include "oracles/models/mma.h"

namespace plumbline {
namespace {

class Report {
 public:
  explicit Report(Terminal& terminal) : terminal_(terminal) {}

  void good(const std::string& what, const std::string& detail) {
    line(terminal_.green("ok   "), what, detail);
  }

  // Missing, but everything else works without it.
  void absent(const std::string& what, const std::string& detail) {
    line(terminal_.yellow("none "), what, detail);
  }

  void bad(const std::string& what, const Error& error) {
    line(terminal_.red("FAIL "), what, error.text());
    healthy_ = false;
  }

  bool healthy() const { return healthy_; }

 private:
  void line(const std::string& mark, const std::string& what, const std::string& detail) {
    terminal_.print_wrapped(fmt::format("  {} {:<10} {}", mark, what, detail));
  }

  Terminal& terminal_;
  bool healthy_ = true;
};

// One small case of a kernel on one target, start to verdict.
void try_kernel(const Registry& registry, const Manifest& kernel, const Target& target,
                Report& report) {
  const std::string what = target.on_gpu ? "gpu" : fmt::format("sm_{}", target.sm);
  std::string problem_text;
  for (const Case& c : plan_cases(kernel, {Profile::quick, 1})) {
    if (kernel.operation->work(c.problem) > 0 && c.recipe.value_class == "normal") {
      problem_text = c.text();
      break;
    }
  }
  const Result<Case> test_case = parse_case_line(problem_text, registry);
  if (!test_case) return report.bad(what, test_case.error());
  CaseRunner runner({});
  const std::optional<CaseRecord> record = runner.run(*test_case, target);
  if (!record) return report.bad(what, interruption(test_case->text()));
  if (record->verdict != Verdict::pass)
    return report.bad(what, {ErrorKind::cannot_run, record->reason, record->text, ""});
  const auto agrees = record->claims.find(Claim::agrees);
  const bool differs = agrees != record->claims.end() && agrees->second == Verdict::skip;
  report.good(what,
              fmt::format("{} passes on {}{}", kernel.name, target.name(),
                          differs ? fmt::format("; beside the emulator it {}", kNotAsked) : ""));
}

}  // namespace

ExitCode doctor(const Arguments& arguments, Terminal& terminal) {
  Report report(terminal);
  report.good("plumbline", fmt::format("{} ({})", kVersion, kGitHash));
  const Status blas = blas_self_test();
  blas ? report.good("oracle", fmt::format("FP64 products are exact on {}", blas_description()))
       : report.bad("oracle", blas.error());
  report.good("models", fmt::format("vector path runs on {}", mma_fast_target()));

  const Result<Registry> registry = open_registry(arguments);
  if (!registry) {
    report.bad("kernels", registry.error());
    return ExitCode::wrong_input;
  }
  registry->all().empty() ? report.bad("kernels", {ErrorKind::cannot_run, "no manifest found",
                                                   default_kernel_folder(), "build the project"})
                          : report.good("kernels", fmt::format("{} in {}", registry->all().size(),
                                                               default_kernel_folder()));
  for (const Manifest& kernel : registry->all()) {
    std::string skipped;
    for (const Target& target :
         kernel_targets(kernel, On::emulator, std::nullopt, std::nullopt, skipped)) {
      try_kernel(*registry, kernel, target, report);
    }
  }
  const Result<Target> gpu = probe_gpu();
  if (!gpu) {
    report.absent("gpu", gpu.error().text() + "; verify runs on the emulator");
  } else {
    report.good("gpu", fmt::format("{}, driver {}", gpu->name(), gpu->driver));
    for (const Manifest& kernel : registry->all()) {
      Target target = *gpu;
      target.compare = true;
      if (best_build(kernel, target.sm)) try_kernel(*registry, kernel, target, report);
    }
  }
  return report.healthy() ? ExitCode::held : ExitCode::could_not_run;
}

}  // namespace plumbline
