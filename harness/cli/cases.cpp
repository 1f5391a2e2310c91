// SPDX-License-Identifier: MIT
#include "harness/cli/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/cli/text/progress.h"
#include "harness/judge/case_runner.h"
#include "harness/run/estimate.h"
#include "reports/count_text.h"

namespace plumbline {

Result<std::vector<CaseFile>> named_cases(const std::vector<std::string>& names,
                                          const Registry& registry) {
  namespace fs = std::filesystem;
  std::vector<CaseFile> cases;
  for (const std::string& name : names) {
    std::error_code code;
    if (fs::is_directory(name, code)) {
      std::vector<std::string> paths;
      fs::recursive_directory_iterator entry(name, code);
      for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
        if (entry->path().extension() == ".case") paths.push_back(entry->path().string());
      }
      if (code)
        return Error{ErrorKind::bad_input, "cannot look for cases: " + code.message(), name, ""};
      std::sort(paths.begin(), paths.end());
      for (const std::string& path : paths) {
        Result<CaseFile> file = read_case(path, registry);
        if (!file) return file.error();
        cases.push_back(*std::move(file));
      }
      continue;
    }
    if (name.find(' ') != std::string::npos && !fs::exists(name, code)) {
      Result<Case> parsed = parse_case_line(name, registry, "command line");
      if (!parsed) return parsed.error();
      CaseFile file;
      file.test_case = *std::move(parsed);
      cases.push_back(std::move(file));
      continue;
    }
    Result<CaseFile> file = read_case(name, registry);
    if (!file) return file.error();
    cases.push_back(*std::move(file));
  }
  for (const CaseFile& file : cases) {
    const Status accepted = check_domain(file.test_case);
    if (!accepted) return accepted.error();
  }
  return cases;
}

namespace {

// "normal, one_tile, row_major, designed": the classes it was made from.
std::string classes_of(const Case& c) {
  std::string text;
  for (const std::string& one : {c.recipe.value_class, c.shape_class, c.layout_class, c.origin}) {
    if (!one.empty()) text += (text.empty() ? "" : ", ") + one;
  }
  return text;
}

std::string json_of(const Job& job) {
  const Case& c = job.test_case;
  const nlohmann::ordered_json json = {{"case", c.text()},
                                       {"device", job.target.name()},
                                       {"kernel", c.kernel->name},
                                       {"value_class", c.recipe.value_class},
                                       {"shape_class", c.shape_class},
                                       {"layout_class", c.layout_class},
                                       {"origin", c.origin},
                                       {"estimated_seconds", estimated_seconds(job)}};
  return json.dump();
}

}  // namespace

void print_plan(const std::vector<Job>& jobs, const RunRecord& planned, int threads,
                const Arguments& arguments, Terminal& terminal) {
  if (arguments.format == OutputFormat::json) {
    for (const Job& job : jobs) terminal.print(json_of(job));
    return;
  }
  std::map<std::string, std::vector<Job>> by_kernel;
  for (const Job& job : jobs) {
    by_kernel[job.test_case.kernel->name].push_back(job);
    const std::string text = fmt::format("{} [{}]: {}", job.test_case.text(), job.target.name(),
                                         classes_of(job.test_case));
    arguments.format == OutputFormat::line ? terminal.print("case: " + text)
                                           : terminal.print_wrapped("  " + text);
  }
  if (arguments.format != OutputFormat::human) return;
  terminal.print("");
  for (const KernelRecord& kernel : planned.kernels) {
    const std::vector<Job>& own = by_kernel[kernel.name];
    terminal.print_wrapped(
        own.empty()
            ? fmt::format("  {}: {}", kernel.name,
                          kernel.reasons.empty() ? "no case was selected" : kernel.reasons.front())
            : fmt::format("  {}: {}, about {}", kernel.name,
                          counted(static_cast<std::int64_t>(own.size()), "case"),
                          duration_text(estimated_seconds(own, threads))));
  }
  terminal.print_wrapped(fmt::format(
      "{} of {} on {}: about {} on {}; nothing ran",
      counted(static_cast<std::int64_t>(jobs.size()), "case"),
      counted(static_cast<std::int64_t>(planned.kernels.size()), "kernel"),
      planned.devices.empty() ? "no device" : fmt::format("{}", fmt::join(planned.devices, " + ")),
      duration_text(estimated_seconds(jobs, threads)), counted(threads, "thread")));
}

}  // namespace plumbline
