// SPDX-License-Identifier: MIT
// plumbline doctor: what is wrong or missing here and what to do about it, then what works. Exit 0
// when everything a machine without a GPU needs works.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fuzz/case_file/corpus.h"
#include "harness/build_info.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/launch/interrupt.h"
#include "harness/run/workers.h"
#include "oracles/exact/blas.h"
#include "oracles/models/mma.h"
#include "reports/count_text.h"

namespace plumbline {
namespace {

// Troubles are to be read first, so all is collected before any of it is printed.
class Report {
 public:
  void good(const std::string& what, const std::string& detail) { good_.push_back({what, detail}); }

  // Missing, but everything else works without it.
  void absent(const std::string& what, const std::string& detail) {
    absent_.push_back({what, detail});
  }

  void bad(const std::string& what, const Error& error) { bad_.push_back({what, error.text()}); }

  bool healthy() const { return bad_.empty(); }

  void print(Terminal& terminal) const {
    for (const Line& line : bad_) print(terminal, terminal.red("FAIL"), line);
    for (const Line& line : absent_) print(terminal, terminal.yellow("none"), line);
    for (const Line& line : good_) print(terminal, terminal.green("ok  "), line);
  }

 private:
  struct Line {
    std::string what, detail;
  };

  static void print(Terminal& terminal, const std::string& mark, const Line& line) {
    terminal.print_wrapped(fmt::format("  {}  {:<10} {}", mark, line.what, line.detail));
  }

  std::vector<Line> bad_, absent_, good_;
};

// One small case of a kernel on one target, start to verdict.
struct Probe {
  const Manifest* kernel;
  Target target;
  std::optional<CaseRecord> record = {};  // none after Ctrl-C
  std::string trouble = {};               // why there is no case to run

  std::string chip() const { return target.on_gpu ? "gpu" : fmt::format("sm_{}", target.sm); }
};

// The smallest case with ordinary values.
Result<Case> small_case(const Manifest& kernel, const Registry& registry) {
  std::optional<Case> smallest;
  const auto work = [](const Case& c) { return c.kernel->operation->work(c.problem); };
  for (const Case& c : plan_cases(kernel, {Profile::quick, 1})) {
    if (c.recipe.value_class != "normal" || !(work(c) > 0)) continue;
    if (!smallest || work(c) < work(*smallest)) smallest = c;
  }
  if (!smallest) {
    return Error{ErrorKind::cannot_run, "its plan has no case with ordinary values", kernel.path,
                 "widen [problem] or [[domain]]"};
  }
  return parse_case_line(smallest->text(), registry);
}

// A worker for each kernel: planning and parsing it take longer than its cases.
void run_probes(const Registry& registry, std::vector<Probe>& probes, int threads) {
  const std::vector<Manifest>& kernels = registry.all();
  for_each_on_workers(kernels.size(), threads, [&] {
    return [&, runner = CaseRunner({})](std::size_t i) mutable {
      std::optional<Result<Case>> test_case;
      for (Probe& probe : probes) {
        if (probe.kernel != &kernels[i]) continue;
        if (!test_case) test_case = small_case(kernels[i], registry);
        if (*test_case) {
          probe.record = runner.run(**test_case, probe.target);
        } else {
          probe.trouble = test_case->error().text();
        }
      }
    };
  });
}

// A line for each probe that did not pass, and one for those of a chip that did.
void weigh(const std::vector<Probe>& probes, bool verbose, Report& report) {
  struct Chip {
    std::int64_t passed = 0, differ = 0;
    std::string device;
  };

  std::map<std::string, Chip> chips;
  for (const Probe& probe : probes) {
    const std::string& kernel = probe.kernel->name;
    const auto failed = [&](const std::string& why) {
      report.bad(probe.chip(), {ErrorKind::cannot_run, fmt::format("{}: {}", kernel, why), "",
                                fmt::format("plumbline verify {} --sm {} -x tells more", kernel,
                                            probe.target.sm)});
    };
    if (!probe.trouble.empty()) {
      failed(probe.trouble);
    } else if (!probe.record) {
      failed(interruption("").text());
    } else if (probe.record->verdict != Verdict::pass) {
      failed(fmt::format("{} ({})", probe.record->reason, probe.record->text));
    } else {
      Chip& chip = chips[probe.chip()];
      chip.device = probe.target.name();
      ++chip.passed;
      const auto agrees = probe.record->claims.find(Claim::agrees);
      chip.differ += agrees != probe.record->claims.end() && agrees->second == Verdict::skip;
      if (verbose) {
        report.good(probe.chip(),
                    fmt::format("{} passes on {}: {}", kernel, chip.device, probe.record->text));
      }
    }
  }
  for (const auto& [name, chip] : chips) {
    std::string text = fmt::format("{} pass{} on {}", counted(chip.passed, "kernel"),
                                   chip.passed == 1 ? "es" : "", chip.device);
    if (chip.differ > 0)
      text += fmt::format("; beside the emulator, {} {}", chip.differ, kNotAsked);
    report.good(name, text);
  }
}

}  // namespace

ExitCode doctor(const Arguments& arguments, Terminal& terminal) {
  Report report;
  report.good("plumbline", fmt::format("{} ({})", kVersion, kGitHash));
  const Status blas = blas_self_test();
  blas ? report.good("oracle", fmt::format("FP64 products are exact on {}", blas_description()))
       : report.bad("oracle", blas.error());
  report.good("models", fmt::format("vector path runs on {}", mma_fast_target()));

  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) {
    report.bad("kernels", registry.error());
    report.print(terminal);
    return ExitCode::wrong_input;
  }
  registry->all().empty() ? report.bad("kernels", {ErrorKind::cannot_run, "no manifest found",
                                                   default_kernel_folder(), "build the project"})
                          : report.good("kernels", fmt::format("{} in {}", registry->all().size(),
                                                               default_kernel_folder()));
  const Result<Target> gpu = probe_gpu();
  gpu ? report.good("gpu", fmt::format("{}, driver {}", gpu->name(), gpu->driver))
      : report.absent("gpu", gpu.error().text() + "; verify runs on the emulator");
  terminal.status("  trying a case of each kernel");
  std::vector<Probe> emulated, on_gpu;
  std::map<int, std::size_t> probes_of;  // by chip
  for (const Manifest& kernel : registry->all()) {
    std::string skipped;
    const std::vector<Target> targets =
        kernel_targets(kernel, On::emulator, std::nullopt, std::nullopt, skipped);
    if (arguments.verbose) {
      for (const Target& target : targets) emulated.push_back({&kernel, target});
    } else if (!targets.empty()) {
      // One of its chips, that with the fewest probes so far: most of the time is spent on parsing.
      const Target& target = *std::ranges::min_element(
          targets, {}, [&](const Target& one) { return probes_of[one.sm]; });
      ++probes_of[target.sm];
      emulated.push_back({&kernel, target});
    }
    if (!gpu || !best_build(kernel, gpu->sm)) continue;
    on_gpu.push_back({&kernel, *gpu});
    on_gpu.back().target.compare = true;
  }
  run_probes(*registry, emulated, worker_threads(arguments));
  run_probes(*registry, on_gpu, 1);
  terminal.clear_status();
  weigh(emulated, arguments.verbose, report);
  weigh(on_gpu, arguments.verbose, report);
  report.print(terminal);
  return report.healthy() ? ExitCode::held : ExitCode::could_not_run;
}

}  // namespace plumbline
