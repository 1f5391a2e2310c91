// SPDX-License-Identifier: MIT
// plumbline compare and accept: what changed between two runs, and the file that remembers one.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/cli/changes.h"
#include "harness/cli/session.h"
#include "harness/cli/verbs.h"
#include "oracles/base/suggest.h"

namespace plumbline {
namespace {

constexpr const char* kDefaultBaseline = "plumbline-baseline.json";

std::string painted(const Terminal& terminal, Change change) {
  const std::string word = fmt::format("{:<7}", name(change));
  if (change == Change::better) return terminal.green(word);
  if (change == Change::worse || change == Change::error) return terminal.red(word);
  return change == Change::unclear ? terminal.yellow(word) : word;
}

bool of_emulator(const BaselineRow& row) { return row.device.starts_with("emulator"); }

// A row that a run which left cases out would take the place of, without having all of its cases.
template <typename Accepted>
const BaselineRow* lost_row(const Baseline& old, const Baseline& run, const Accepted& accepted) {
  if (run.filter.empty()) return nullptr;
  const auto lost = std::ranges::find_if(old.rows, [&](const BaselineRow& row) {
    if (!accepted(row)) return false;
    const auto own = std::ranges::find_if(
        run.rows, [&](const BaselineRow& one) { return one.key() == row.key(); });
    return own == run.rows.end() || own->cases < row.cases;
  });
  return lost == old.rows.end() ? nullptr : &*lost;
}

}  // namespace

ExitCode show_changes(const std::vector<KernelChange>& changes, const Arguments& arguments,
                      Terminal& terminal) {
  std::size_t widest = 0;
  for (const KernelChange& change : changes) widest = std::max(widest, change.kernel.size());
  std::vector<std::string> same;
  std::int64_t better = 0, worse = 0, unclear = 0;
  std::set<Verdict> verdicts;
  for (const KernelChange& change : changes) {
    better += change.change == Change::better;
    worse += change.change == Change::worse;
    unclear += change.change == Change::unclear;
    verdicts.insert(verdict_of(change, arguments.strict_baseline));
    if (arguments.format == OutputFormat::json) {
      terminal.print(change_json_line(change));
    } else if (arguments.format == OutputFormat::line) {
      terminal.print(fmt::format("{}: {}: {}", name(change.change), change.kernel, change.words));
    } else if (change.change == Change::same && change.words.empty()) {
      same.push_back(change.kernel);
    } else {
      terminal.print_wrapped(fmt::format("  {}  {:<{}}   {}", painted(terminal, change.change),
                                         change.kernel, widest, change.words));
    }
  }
  const ExitCode code = verdicts.contains(Verdict::fail)         ? ExitCode::broken
                        : verdicts.contains(Verdict::error)      ? ExitCode::could_not_run
                        : verdicts.contains(Verdict::mistrusted) ? ExitCode::mistrusted
                                                                 : ExitCode::held;
  if (arguments.format != OutputFormat::human) return code;
  if (same.size() > 3) {
    terminal.print_wrapped(fmt::format("  same     {} kernels, bit for bit", same.size()));
  } else if (!same.empty()) {
    terminal.print_wrapped(fmt::format("  same     {}, bit for bit", fmt::join(same, ", ")));
  }
  terminal.print(fmt::format("compare: {} better, {} worse, {} unclear", better, worse, unclear));
  return code;
}

ExitCode compare(const Arguments& arguments, Terminal& terminal) {
  if (arguments.names.size() != 2) {
    return report_error({ErrorKind::bad_input, "compare needs an old and a new run", "",
                         "plumbline compare plumbline-baseline.json plumbline-out/latest"});
  }
  const Result<Baseline> before = read_baseline(arguments.names[0]);
  if (!before) return report_error(before.error());
  const Result<Baseline> after = read_baseline(arguments.names[1]);
  if (!after) return report_error(after.error());
  return show_changes(changes(*before, *after), arguments, terminal);
}

ExitCode accept(const Arguments& arguments, Terminal& terminal) {
  if (arguments.names.empty()) {
    return report_error(
        {ErrorKind::bad_input, "accept needs a run", "", "plumbline accept plumbline-out/latest"});
  }
  Result<Baseline> run = read_baseline(arguments.names.front());
  if (!run) return report_error(run.error());
  if (!run->incomplete.empty()) {
    return report_error({ErrorKind::bad_input, "not accepted: " + run->incomplete,
                         arguments.names.front(),
                         "accept a whole run; shards are put together by plumbline report"});
  }
  const std::vector<std::string> wanted(arguments.names.begin() + 1, arguments.names.end());
  std::vector<std::string_view> known;
  for (const BaselineRow& row : run->rows) known.push_back(row.kernel);
  for (const auto& [kernel, count] : run->errors) known.push_back(kernel);
  for (const std::string& kernel : wanted) {
    if (std::find(known.begin(), known.end(), kernel) != known.end()) continue;
    return report_error({ErrorKind::bad_input, fmt::format("the run has no kernel \"{}\"", kernel),
                         arguments.names.front(), did_you_mean(kernel, known)});
  }
  if (!wanted.empty()) {
    std::erase_if(run->rows, [&](const BaselineRow& row) {
      return std::find(wanted.begin(), wanted.end(), row.kernel) == wanted.end();
    });
    std::erase_if(run->errors, [&](const auto& entry) {
      return std::find(wanted.begin(), wanted.end(), entry.first) == wanted.end();
    });
  }
  if (run->rows.empty() && run->errors.empty()) {
    terminal.note("the run has no case to accept");
    return ExitCode::nothing_selected;
  }
  const std::string path = arguments.baseline.empty() ? kDefaultBaseline : arguments.baseline;
  Baseline old;
  std::error_code code;
  const bool there = std::filesystem::exists(path, code);
  if (code) return report_error({ErrorKind::bad_input, code.message(), path, ""});
  if (there) {
    Result<Baseline> read = read_baseline(path);
    if (!read) return report_error(read.error());
    old = *std::move(read);
  }
  // Kernels that are not accepted now keep their rows, and so does a GPU beside the emulator.
  const auto accepted = [&](const BaselineRow& row) {
    return std::any_of(run->rows.begin(), run->rows.end(), [&](const BaselineRow& own) {
      return own.kernel == row.kernel && of_emulator(own) == of_emulator(row);
    });
  };
  if (const BaselineRow* lost = lost_row(old, *run, accepted)) {
    return report_error(
        {ErrorKind::bad_input,
         fmt::format("not accepted: the run left cases out ({}), and the baseline has more of {}, "
                     "{}, class {}",
                     run->filter, lost->kernel, lost->device, lost->value_class),
         path, "accept a run of the whole plan"});
  }
  Baseline replaced = old, next = *run;
  std::erase_if(replaced.rows, [&](const BaselineRow& row) { return !accepted(row); });
  for (const BaselineRow& row : old.rows) {
    if (!accepted(row)) next.rows.push_back(row);
  }
  std::sort(next.rows.begin(), next.rows.end(),
            [](const BaselineRow& a, const BaselineRow& b) { return a.key() < b.key(); });
  show_changes(changes(replaced, *run), arguments, terminal);
  const auto failing = std::find_if(run->rows.begin(), run->rows.end(),
                                    [](const BaselineRow& row) { return row.failed > 0; });
  if (failing != run->rows.end()) {
    std::int64_t failed = 0;
    for (const BaselineRow& row : run->rows)
      failed += row.kernel == failing->kernel ? row.failed : 0;
    terminal.note(
        fmt::format("not accepted: {} breaks its promise ({} of its cases fail, {} of them of "
                    "class {}); name the kernels to accept the others",
                    failing->kernel, failed, failing->failed, failing->value_class));
    return ExitCode::broken;
  }
  if (!run->errors.empty()) {
    terminal.print_wrapped(fmt::format(
        "not accepted: {} could not run ({} cases); name the kernels to accept the others",
        run->errors.begin()->first, run->errors.begin()->second));
    return ExitCode::could_not_run;
  }
  if (arguments.dry_run) {
    terminal.note(fmt::format("nothing written: --dry-run ({})", path));
    return ExitCode::held;
  }
  const Status written = write_file(path, baseline_json(next));
  if (!written) return report_error(written.error());
  terminal.note(fmt::format("accepted: {}; commit it", path));
  return ExitCode::held;
}

}  // namespace plumbline
