// SPDX-License-Identifier: MIT
// plumbline perf: what kernels move in their launches, counted on the emulator by source line, what
// of it is more than their data need, and what grew since a baseline.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

#include "fuzz/plan/plan.h"
#include "harness/build_info.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "harness/judge/case_runner.h"
#include "harness/launch/interrupt.h"
#include "harness/launch/launcher.h"
#include "harness/launch/memory_limit.h"
#include "harness/perf/advice.h"
#include "harness/perf/occupancy.h"
#include "harness/perf/perf_record.h"
#include "harness/perf/perf_report.h"
#include "harness/perf/regression.h"
#include "harness/perf/roofline.h"
#include "oracles/base/text.h"
#include "reports/count_text.h"

namespace plumbline {
namespace {

// What is counted: a kernel's problem on a chip.
struct PerfJob {
  Case test_case;
  Target target;
};

// Sizes that are no multiples of 8, which copies of 16 bytes do not divide.
std::int64_t odd_sizes(const Problem& problem) {
  return std::ranges::count_if(problem.schema(), [&](const Field& field) {
    return field.kind == FieldKind::integer && !problem.is_default(field.name) &&
           problem.integer(field.name) % 8 != 0;
  });
}

// Whether a size is more than 16 times another one: a row of products, or a long sum.
bool is_long(const Problem& problem) {
  constexpr std::int64_t kFar = 16;
  std::int64_t least = 0, most = 0;
  for (const Field& field : problem.schema()) {
    if (field.kind != FieldKind::integer || problem.is_default(field.name)) continue;
    const std::int64_t size = problem.integer(field.name);
    least = least == 0 ? size : std::min(least, size);
    most = std::max(most, size);
  }
  return most > kFar * least;
}

// Of the quick plan, a problem with as few fields beyond its sizes as there is, of those one with
// round sizes that are not far apart, and of those the largest that is emulated in a moment.
Result<Problem> usual_problem(const Manifest& kernel) {
  constexpr double kMostWork = 0x1p22;
  const Problem* chosen = nullptr;
  std::tuple<std::size_t, std::int64_t, bool, double> best;  // the least wins
  const std::vector<Case> cases = plan_cases(kernel, {.profile = Profile::quick});
  for (const Case& one : cases) {
    const double work = kernel.operation->work(one.problem);
    const std::tuple rank(split(one.problem.text(), ' ').size(), odd_sizes(one.problem),
                          is_long(one.problem), -work);
    if (work == 0 || work > kMostWork || (chosen != nullptr && rank >= best)) continue;
    best = rank;
    chosen = &one.problem;
  }
  if (chosen != nullptr) return *chosen;
  return Error{ErrorKind::bad_input, fmt::format("no small problem of {} is planned", kernel.name),
               kernel.path, "name one: --problem 'm=64 n=64 k=64'"};
}

// Inputs of the usual class and seed. `where` names what the problem is from.
Result<Case> case_of(const Manifest& kernel, const std::string& problem, const std::string& where) {
  const Result<Problem> parsed = parse_problem(kernel.schema(), problem, where);
  if (!parsed) return parsed.error();
  Case made;
  made.kernel = &kernel;
  made.problem = *parsed;
  if (const Status accepted = check_domain(made); !accepted) return accepted.error();
  return made;
}

// The chip that a kernel is counted for: --sm, or the newest it has; nullopt where it has none.
std::optional<Target> target_of(const Manifest& kernel, std::optional<int> sm, Terminal& terminal) {
  std::string skipped;
  const std::vector<Target> targets =
      kernel_targets(kernel, On::emulator, sm, std::nullopt, skipped);
  if (targets.empty()) {
    terminal.note(fmt::format("{}: {}", kernel.name, skipped));
    return std::nullopt;
  }
  return *std::ranges::max_element(targets, {}, &Target::sm);
}

// Those that are named, or else those of the baseline that are here, or else all. What the baseline
// has of kernels that were not asked for goes.
Result<std::vector<const Manifest*>> kernels_of(PerfRecord& baseline, const Registry& registry,
                                                const Arguments& arguments) {
  std::vector<const Manifest*> kernels;
  if (arguments.names.empty() && arguments.manifests.empty() && !baseline.entries.empty()) {
    for (const PerfEntry& entry : baseline.entries) {
      const Manifest* const kernel = registry.find(entry.kernel);
      if (kernel != nullptr && std::ranges::find(kernels, kernel) == kernels.end())
        kernels.push_back(kernel);
    }
    return kernels;
  }
  const auto named = registry.match(arguments.names);
  if (!named) return named.error();
  std::erase_if(baseline.entries, [&](const PerfEntry& entry) {
    return std::ranges::none_of(
        *named, [&](const Manifest* kernel) { return kernel->name == entry.kernel; });
  });
  return *named;
}

// One job for each kernel, or one for each of its entries in the baseline.
Result<std::vector<PerfJob>> jobs_of(const std::vector<const Manifest*>& kernels,
                                     const PerfRecord& baseline, const Arguments& arguments,
                                     Terminal& terminal) {
  std::vector<PerfJob> jobs;
  const std::string where = arguments.problems.empty() ? arguments.baseline : "--problem";
  for (const Manifest* kernel : kernels) {
    std::vector<std::pair<std::string, std::optional<int>>> wanted;
    for (const std::string& problem : arguments.problems)
      wanted.emplace_back(problem, arguments.sm);
    for (const PerfEntry& entry : baseline.entries) {
      if (!arguments.problems.empty() || entry.kernel != kernel->name) continue;
      if (!arguments.sm || *arguments.sm == entry.sm) wanted.emplace_back(entry.problem, entry.sm);
    }
    if (wanted.empty()) {
      const Result<Problem> problem = usual_problem(*kernel);
      if (!problem) return problem.error();
      wanted.emplace_back(problem->text(), arguments.sm);
    }
    for (const auto& [problem, sm] : wanted) {
      Result<Case> test_case = case_of(*kernel, problem, where);
      if (!test_case) return test_case.error();
      const std::optional<Target> target = target_of(*kernel, sm, terminal);
      if (target) jobs.push_back({*std::move(test_case), *target});
    }
  }
  return jobs;
}

// What made the kernel's PTX, and what ptxas makes of it.
void add_compiled(const PerfJob& job, PerfEntry& entry, Terminal& terminal) {
  const Manifest& kernel = *job.test_case.kernel;
  const int build = best_build(kernel, job.target.sm).value_or(job.target.sm);
  const Result<std::string> ptx = read_image(kernel, build);
  if (!ptx) return;  // it has run, and was taken away since
  entry.compiler = compiler_of(*ptx);
  for (PerfLaunch& launch : entry.launches) {
    std::string why;
    launch.compiled = compile_entry(kernel.ptx_path(build), *ptx, launch.entry, why);
    if (launch.compiled) continue;
    terminal.note(fmt::format("{}: registers and spills are not known: {}", launch.entry, why));
  }
}

// Whether all blocks of a launch ran behind one of which only some did.
bool uses_part_of_a_result(const std::vector<CountedLaunch>& launches) {
  const auto in_part = [](const CountedLaunch& one) { return one.traffic.representatives > 0; };
  const auto first = std::ranges::find_if(launches, in_part);
  return !std::all_of(first, launches.end(), in_part);
}

// An Error (cannot_run) says what kept the kernel from its end.
Result<PerfEntry> count(const PerfJob& job, const Arguments& arguments, Terminal& terminal) {
  const Case& test_case = job.test_case;
  if (const Status fits = check_memory(test_case); !fits) return fits.error();
  Result<CaseTensors> tensors = materialize(test_case);
  if (!tensors) return tensors.error();
  RunnerOptions options;
  options.threads = worker_threads(arguments);
  Launcher launcher(options);
  LaunchChoices choices{.approximation = launcher.approximation_of(test_case),
                        .count_traffic = true,
                        .count_representatives = true};
  Result<LaunchResult> launch = launcher.launch(test_case, *tensors, job.target, choices);
  if (launch && uses_part_of_a_result(launch->traffic)) {
    choices.count_representatives = false;
    tensors = materialize(test_case);
    if (!tensors) return tensors.error();
    launch = launcher.launch(test_case, *tensors, job.target, choices);
  }
  if (!launch) return launch.error();
  if (!launch->completed) {
    return Error{ErrorKind::cannot_run,
                 fmt::format("{} did not end: {}", test_case.problem_text(),
                             launch->findings.empty() ? "" : launch->findings.front().text()),
                 "", fmt::format("plumbline replay '{}'", test_case.text())};
  }
  PerfEntry entry{.kernel = test_case.kernel->name,
                  .sm = job.target.sm,
                  .problem = test_case.problem.text(),
                  .useful_macs = {},
                  .launches = {}};
  for (const CountedLaunch& one : launch->traffic) entry.launches.push_back(perf_launch(one));
  add_compiled(job, entry, terminal);
  const Operation& operation = *test_case.kernel->operation;
  if (!operation.factors().empty()) entry.useful_macs = operation.work(test_case.problem);
  return entry;
}

// --- what is printed ---

std::string grouped(std::uint64_t number) { return count_text(static_cast<std::int64_t>(number)); }

double ratio(std::uint64_t over, std::uint64_t under) {
  return under == 0 ? 0 : static_cast<double>(over) / static_cast<double>(under);
}

std::string size_text(const std::array<std::int64_t, 3>& size) {
  if (size[1] == 1 && size[2] == 1) return fmt::format("{}", size[0]);
  return size[2] == 1 ? fmt::format("{} x {}", size[0], size[1])
                      : fmt::format("{} x {} x {}", size[0], size[1], size[2]);
}

// Prints a line of facts: print("global", "...").
using FactPrinter = std::function<void(std::string_view, const std::string&)>;

void print_occupancy(const PerfLaunch& launch, int sm, const Chip* chip, const FactPrinter& print) {
  const Multiprocessor* const on = multiprocessor(sm);
  if (on == nullptr)
    return print("occupancy", fmt::format("unknown: no figures of sm_{} here", sm));
  const Occupancy held = occupancy(*on, launch.needs());
  print("occupancy",
        fmt::format("{} on a multiprocessor, {:.0f} % of its warps, limited by {}{}",
                    counted(held.blocks, "block"), 100 * held.share, name(held.limiter),
                    launch.compiled ? "" : " (registers are not known)"));
  if (chip == nullptr) return;
  const Waves in = waves(launch.blocks(), chip->multiprocessors, held.blocks);
  print("waves", fmt::format("{} of {} with {} multiprocessors, {:.0f} % full", in.count,
                             one_of(*chip), chip->multiprocessors, 100 * in.filled));
}

// "9 % tensor, 12 % memory, ..."
std::string classes_text(const PerfLaunch& launch) {
  std::string text;
  for (std::size_t i = 0; i < kInstructionClasses; ++i) {
    if (launch.classes[i] == 0) continue;
    const double share = ratio(launch.classes[i], launch.totals[Counter::warp_instructions]);
    text += fmt::format("{}{:.0f} % {}", text.empty() ? "" : ", ", 100 * share,
                        name(static_cast<InstructionClass>(i)));
  }
  return text;
}

void print_launch(const PerfLaunch& launch, int sm, const Chip* chip, Terminal& terminal) {
  using enum Counter;
  constexpr std::size_t kColumn = 15;
  const FactPrinter print = [&](std::string_view what, const std::string& text) {
    terminal.print_entry(what, text, kColumn);
  };
  const Counts& all = launch.totals;
  std::string head = fmt::format("{}: {} {} of {} threads, {} bytes of shared memory", launch.entry,
                                 size_text(launch.grid), launch.blocks() == 1 ? "block" : "blocks",
                                 size_text(launch.block), count_text(launch.shared_bytes));
  if (launch.compiled) {
    head += fmt::format(", {} registers", launch.compiled->registers);
    if (launch.compiled->stack_bytes > 0)
      head += fmt::format(", {} bytes of stack", launch.compiled->stack_bytes);
  }
  terminal.print_wrapped("  " + head);
  if (launch.representatives > 0) {
    print("blocks", fmt::format("{} of {} ran; the others are alike by their addresses",
                                launch.representatives, count_text(launch.blocks())));
  } else if (!launch.all_ran_because.empty()) {
    print("blocks", "all ran: " + launch.all_ran_because);
  }
  print("instructions",
        fmt::format("{} of warps: {}; {:.1f} % of their lanes take part",
                    grouped(all[warp_instructions]), classes_text(launch),
                    100 * ratio(all[thread_instructions], 32 * all[warp_instructions])));
  if (all[global_requests] > 0) {
    print("global",
          fmt::format("{} requests, {} sectors: {:.1f} per request, where {:.1f} hold the bytes",
                      grouped(all[global_requests]), grouped(all[global_sectors]),
                      ratio(all[global_sectors], all[global_requests]),
                      ratio(all[global_least_sectors], all[global_requests])));
  }
  if (all[local_requests] > 0) {
    print("local", fmt::format("{} requests, {} sectors", grouped(all[local_requests]),
                               grouped(all[local_sectors])));
  }
  if (all[shared_requests] > 0) {
    print("shared", fmt::format("{} requests, {} wavefronts, {} without bank conflicts",
                                grouped(all[shared_requests]), grouped(all[shared_wavefronts]),
                                grouped(all[shared_least_wavefronts])));
  }
  if (all[bulk_bytes] + all[bulk_fill_bytes] > 0) {
    print("bulk copies", fmt::format("{} bytes, and {} of fill", grouped(all[bulk_bytes]),
                                     grouped(all[bulk_fill_bytes])));
  }
  if (all[tensor_macs] > 0)
    print("tensor cores", fmt::format("{} products", grouped(all[tensor_macs])));
  if (launch.tensor_columns > 0) {
    print("tensor memory", fmt::format("{} columns of 512, {} bytes to and from registers",
                                       launch.tensor_columns, grouped(all[tensor_memory_bytes])));
  }
  if (all[barriers] > 0)
    print("barriers", fmt::format("{} of whole blocks", grouped(all[barriers])));
  print("memory",
        fmt::format("{} bytes at least: {} that are only read, {} that are written",
                    grouped(launch.least_memory_bytes()), grouped(32 * launch.sectors_only_read),
                    grouped(32 * launch.sectors_written)));
  print_occupancy(launch, sm, chip, print);
}

// The lines that move something, those that move most first.
void print_lines(const PerfLaunch& launch, Terminal& terminal) {
  using enum Counter;
  std::vector<const PerfLine*> lines;
  const auto moved = [](const PerfLine* line) {
    return line->counts[global_sectors] + line->counts[shared_wavefronts] +
           line->counts[local_sectors] + line->counts[bulk_bytes] / 32;
  };
  for (const PerfLine& line : launch.lines) {
    if (moved(&line) > 0) lines.push_back(&line);
  }
  std::ranges::stable_sort(lines, std::greater<>(), moved);
  for (const PerfLine* line : lines) {
    std::string text;
    for (const CounterInfo& info : counter_table()) {
      if (line->counts[info.counter] == 0 || info.counter == thread_instructions) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(line->counts[info.counter]),
                          info.words);
    }
    terminal.print_wrapped(fmt::format("    {}: {}", line->text(), text));
  }
}

// Names in PTX may be no UTF-8.
std::string line_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void print_result(const PerfResult& result, const Arguments& arguments, Terminal& terminal) {
  const PerfEntry& entry = result.entry;
  if (arguments.format == OutputFormat::json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(perf_json({{entry}}))["entries"][0];
    json["advice"] = nlohmann::ordered_json::array();
    for (const Advice& one : result.advice)
      json["advice"].push_back({{"rule", one.rule}, {"words", one.words}});
    return terminal.print(line_of(json));
  }
  const std::string title = entry.text();
  if (arguments.format == OutputFormat::line || arguments.quiet) {
    for (const Advice& one : result.advice)
      terminal.print(fmt::format("{}: {}: {}", one.rule, title, one.words));
    return;
  }
  terminal.print_wrapped(terminal.bold(title));
  for (const PerfLaunch& launch : entry.launches) {
    print_launch(launch, entry.sm, result.chip, terminal);
    if (arguments.verbose) print_lines(launch, terminal);
  }
  if (result.chip != nullptr) {
    if (const std::optional<Ceiling> top = ceiling(entry, *result.chip))
      terminal.print_wrapped("  " + ceiling_words(*top, *result.chip));
  }
  for (const Advice& one : result.advice)
    terminal.print_wrapped(
        fmt::format("  {} {}", terminal.yellow(fmt::format("{}:", one.rule)), one.words));
}

ExitCode print_comparison(const PerfComparison& comparison, const Arguments& arguments,
                          Terminal& terminal) {
  int grown = 0;
  const bool json = arguments.format == OutputFormat::json;
  for (const CounterChange& change : comparison.changes) {
    grown += change.grew();
    if (json) {
      std::vector<std::string> lines;
      for (const GrownLine& line : change.lines) lines.push_back(line.words);
      terminal.print(line_of({{"change", change.grew() ? "grew" : "shrank"},
                              {"what", change.what},
                              {"of", change.kernel},
                              {"before", change.before},
                              {"now", change.after},
                              {"lines", lines}}));
      continue;
    }
    const std::string word = change.grew() ? terminal.red("grew  ") : terminal.green("shrank");
    terminal.print_wrapped(fmt::format("  {}  {}", word, change.text()));
  }
  for (const std::string& words : comparison.unclear) {
    json ? terminal.print(line_of({{"change", "unclear"}, {"of", words}}))
         : terminal.print_wrapped(fmt::format("  {}  {}", terminal.yellow("unclear"), words));
  }
  if (!json) {
    terminal.print(fmt::format("perf: {} grew, {} shrank, {} unclear, {} the same", grown,
                               static_cast<int>(comparison.changes.size()) - grown,
                               comparison.unclear.size(), comparison.same));
  }
  if (!arguments.strict) return ExitCode::held;
  return comparison.grew()             ? ExitCode::broken
         : !comparison.unclear.empty() ? ExitCode::mistrusted
                                       : ExitCode::held;
}

Result<const Chip*> chip_for(const Arguments& arguments, int sm) {
  if (arguments.chip.empty()) return usual_chip(sm);
  const Result<const Chip*> chip = find_chip(arguments.chip);
  if (!chip || (*chip)->sm == sm) return chip;
  return Error{ErrorKind::bad_input,
               fmt::format("{} is sm_{}, and the kernel is counted as sm_{}", one_of(**chip),
                           (*chip)->sm, sm),
               "--chip", fmt::format("--sm {}", (*chip)->sm)};
}

}  // namespace

ExitCode perf(const Arguments& arguments, Terminal& terminal) {
  PerfRecord baseline;
  if (!arguments.baseline.empty()) {
    Result<PerfRecord> read = read_perf(arguments.baseline);
    if (!read) return report_error(read.error());
    baseline = *std::move(read);
  } else if (arguments.strict) {
    return report_error(
        {ErrorKind::bad_input, "--strict needs a baseline", "", "--baseline perf.json"});
  }
  if (!arguments.chip.empty()) {
    if (const Result<const Chip*> chip = find_chip(arguments.chip); !chip)
      return report_error(chip.error());
  }
  const Result<Registry> registry = open_registry(arguments, terminal);
  if (!registry) return report_error(registry.error());
  const auto kernels = kernels_of(baseline, *registry, arguments);
  if (!kernels) return report_error(kernels.error());
  const Result<std::vector<PerfJob>> jobs = jobs_of(*kernels, baseline, arguments, terminal);
  if (!jobs) return report_error(jobs.error());
  if (jobs->empty() && baseline.entries.empty()) return ExitCode::nothing_selected;

  const std::string id = run_id(arguments, *kernels, 1, arguments.problems);
  const std::filesystem::path folder = std::filesystem::path(arguments.out) / id;
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    return report_error(
        {ErrorKind::bad_input, "cannot create: " + code.message(), folder.string(), ""});
  }
  PerfReport report{.results = {},
                    .comparison = {},
                    .strict = arguments.strict,
                    .run_id = id,
                    .version = kVersion,
                    .root = std::filesystem::current_path().string()};
  bool broken = false;
  for (const PerfJob& job : *jobs) {
    if (interrupted()) break;
    terminal.status(fmt::format("  {} {}", job.test_case.problem_text(), job.target.name()));
    Result<PerfEntry> entry = count(job, arguments, terminal);
    terminal.clear_status();
    if (!entry) {
      if (interrupted()) break;
      const ExitCode why = report_error(entry.error());
      if (why == ExitCode::wrong_input) return why;
      broken = true;
      continue;
    }
    const Result<const Chip*> chip = chip_for(arguments, entry->sm);
    if (!chip) return report_error(chip.error());
    PerfResult result{.entry = *std::move(entry), .advice = {}, .chip = *chip};
    result.advice = advice(result.entry);
    print_result(result, arguments, terminal);
    report.results.push_back(std::move(result));
  }
  PerfRecord record;
  for (const PerfResult& result : report.results) record.entries.push_back(result.entry);
  report.interrupted = interrupted();
  if (!arguments.baseline.empty() && !report.interrupted)
    report.comparison = compare_perf(baseline, record);
  for (const auto& [file, text] : {std::pair{"perf.json", perf_json(record)},
                                   {"report.html", perf_html(report)},
                                   {"summary.md", perf_markdown(report)},
                                   {"report.sarif", perf_sarif(report)}}) {
    const Status written = write_file(folder / file, text);
    if (!written) return report_error(written.error());
  }
  link_beside(folder, kLatestOfPerf);
  if (arguments.format == OutputFormat::human) {
    terminal.print_wrapped(fmt::format("perf: {}; report: {}", perf_counted(report),
                                       (folder / "report.html").string()));
  }
  if (interrupted()) return ExitCode::interrupted;
  if (!report.comparison) return broken ? ExitCode::could_not_run : ExitCode::held;
  const ExitCode compared = print_comparison(*report.comparison, arguments, terminal);
  return broken && compared != ExitCode::broken ? ExitCode::could_not_run : compared;
}

}  // namespace plumbline
