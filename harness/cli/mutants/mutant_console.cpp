// SPDX-License-Identifier: MIT
#include "harness/cli/mutants/mutant_console.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "kernels/manifest/manifest.h"
#include "oracles/base/shell_word.h"
#include "reports/card.h"
#include "reports/record/json.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// "main_loop.cuh:47" as written in the source: beside the kernel, or among the headers kernels
// share. Empty where the source is not here.
std::string source_text(const Manifest& kernel, const std::string& place) {
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos) return {};
  const fs::path folder = fs::path(kernel.path).parent_path();
  const std::string file = place.substr(0, colon);
  for (const fs::path& path : {folder / file, folder.parent_path() / "device" / file}) {
    std::ifstream in(path);
    std::string line;
    for (int left = std::stoi(place.substr(colon + 1)); left > 0; --left) {
      if (!std::getline(in, line)) line.clear();
    }
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos) return line.substr(first);
  }
  return {};
}

}  // namespace

MutantConsole::MutantConsole(const Arguments& arguments, Terminal& terminal, RunFolder& folder)
    : arguments_(arguments), terminal_(terminal), folder_(folder) {
  if (human() && !arguments.quiet) {
    terminal.print_wrapped(fmt::format("{}   mutants, profile {}",
                                       terminal.bold("plumbline " PLUMBLINE_VERSION),
                                       arguments.profile_name));
  }
}

double MutantConsole::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void MutantConsole::begins(const std::string& kernel) {
  kernel_ = kernel;
  outcomes_.clear();
}

void MutantConsole::compiled(std::size_t done, std::size_t total) {
  terminal_.status(
      fmt::format("  {}   {}/{} mutants compiled   {:.0f} s", kernel_, done, total, seconds()));
}

void MutantConsole::planned(const RunRecord& so_far) { folder_.begin(so_far); }

void MutantConsole::unmutated(const CaseRecord& record, std::int64_t done, std::int64_t total) {
  folder_.append(record);
  terminal_.status(fmt::format("  {}   {}/{} cases without a fault   {:.0f} s", kernel_, done,
                               total, seconds()));
}

void MutantConsole::finished(const MutantRecord& record, std::int64_t done, std::int64_t total) {
  folder_.append(record);
  ++outcomes_[record.outcome];
  if (arguments_.format == OutputFormat::json) terminal_.print(mutant_json_line(record));
  if (arguments_.format == OutputFormat::line && record.outcome == MutantOutcome::survived) {
    terminal_.print(fmt::format("survived: {} {} {} {}: {} -> {}", record.kernel, record.id,
                                record.kind, record.source, record.before, record.after));
  }
  if (human() && arguments_.verbose) {
    terminal_.print(fmt::format("  {:<9} {} {}  {}  {}  [{} cases, {:.1f} s]  {}",
                                name(record.outcome), record.id, record.kind, record.source,
                                record.after, record.cases, record.elapsed_ms / 1000,
                                record.reason));
  }
  terminal_.status(fmt::format(
      "  {}   {}/{} mutants   {} caught   {} survived   {} without effect   {:.0f} s", kernel_,
      done, total, outcomes_[MutantOutcome::caught], outcomes_[MutantOutcome::survived],
      outcomes_[MutantOutcome::no_effect], seconds()));
}

void MutantConsole::print_score(const Manifest& kernel, const std::vector<MutantRecord>& mutants) {
  const MutantScore s = score(mutants);
  const std::string percent = fmt::format("{:5.1f} %", s.percent());
  std::string line =
      fmt::format("  {}  {}   {} of {} caught",
                  s.survived == 0 ? terminal_.green(percent) : terminal_.yellow(percent),
                  kernel.name, s.caught, s.effective());
  if (s.by_population > 0)
    line += fmt::format(" ({} only by its errors all at once)", s.by_population);
  if (s.no_effect > 0) line += fmt::format(", {} without observable effect", s.no_effect);
  if (s.duplicates > 0) line += fmt::format(", {} duplicates", s.duplicates);
  if (s.refused > 0) line += fmt::format(", {} refused", s.refused);
  terminal_.print_wrapped(line + fmt::format("   {:.0f} s", seconds()));
}

void MutantConsole::automatic_done(const Manifest& kernel, const AutomaticMutants& faults,
                                   std::int64_t cases, const std::vector<MutantRecord>& mutants) {
  if (!human()) return;
  print_score(kernel, mutants);
  if (!arguments_.quiet) {
    if (faults.executed() > 0) {
      terminal_.print_wrapped(terminal_.dim(fmt::format(
          "          of {} possible faults, {} in instructions that the {} planned cases execute",
          faults.possible(), faults.executed(), cases)));
    }
    print_kinds(mutants);
  }
  print_survivors(kernel, mutants);
}

void MutantConsole::curated_done(const Manifest& kernel, const std::vector<MutantRecord>& mutants) {
  if (!human()) return;
  print_score(kernel, mutants);
  for (const MutantRecord& m : mutants) {
    const bool caught = m.outcome == MutantOutcome::caught;
    if (arguments_.quiet && caught) continue;
    const std::string word = fmt::format("{:<9}", name(m.outcome));
    std::string rest = m.reason;
    if (caught) rest = fmt::format("{}, case {}: {}", caught_by(m), m.cases, m.text);
    if (m.outcome == MutantOutcome::survived) {
      rest = fmt::format("{} of {} cases changed, at most {} of the bound", m.changed, m.cases,
                         share_text(m.worst_share));
    }
    if (m.outcome == MutantOutcome::no_effect)
      rest = fmt::format("no output bit of {} cases changed", m.cases);
    terminal_.print_wrapped(fmt::format("          {} {:<5} {}: {}",
                                        caught ? terminal_.green(word) : terminal_.red(word), m.id,
                                        m.kind, rest));
  }
}

// A table of operators: how many of each were caught, survived, had no effect; and by which claims.
void MutantConsole::print_kinds(const std::vector<MutantRecord>& mutants) {
  std::map<std::string, std::vector<MutantRecord>> kinds;
  std::map<std::string, int> claims;
  for (const MutantRecord& m : mutants) {
    kinds[m.kind].push_back(m);
    if (m.outcome == MutantOutcome::caught) ++claims[caught_by(m)];
  }
  std::vector<std::pair<int, std::string>> by_count;
  for (const auto& [claim, count] : claims) by_count.emplace_back(-count, claim);
  std::sort(by_count.begin(), by_count.end());
  std::string line = "          caught by ";
  for (const auto& [count, claim] : by_count)
    line += fmt::format("{}{} {}", line.ends_with("by ") ? "" : ", ", claim, -count);
  if (!by_count.empty()) terminal_.print_wrapped(line);
  terminal_.print(terminal_.dim(fmt::format("          {:<12} {:>7} {:>9} {:>10}", "operator",
                                            "caught", "survived", "no effect")));
  for (const auto& [kind, of_kind] : kinds) {
    const MutantScore s = score(of_kind);
    terminal_.print(fmt::format("          {:<12} {:>7} {:>9} {:>10}", kind, s.caught, s.survived,
                                s.no_effect));
  }
}

void MutantConsole::peers(const std::vector<PeerRecord>& rules,
                          const std::vector<MutantRecord>& mutants) {
  if (!human() || rules.empty()) return;
  terminal_.print("");
  terminal_.print(terminal_.dim(fmt::format("  {:<32} {:>14} {:>16}", "rules of other projects",
                                            "lets through", "false alarms")));
  for (const PeerRecord& rule : rules) {
    const PeerScore s = peer_score(mutants, rule);
    terminal_.print(fmt::format("  {:<32} {:>5} of {:>5} {:>5} of {:>4} cases", rule.rule,
                                s.let_through, s.asked, rule.false_alarms, rule.cases));
  }
}

// By source line: unrolled loops and templates repeat a line, and what is to be done about it
// stands there once.
void MutantConsole::print_survivors(const Manifest& kernel,
                                    const std::vector<MutantRecord>& mutants) {
  std::map<std::string, std::vector<const MutantRecord*>> by_source;
  for (const MutantRecord& m : mutants) {
    if (m.outcome == MutantOutcome::survived) by_source[m.source].push_back(&m);
  }
  for (const auto& [source, survivors] : by_source) {
    const std::string place =
        source.empty() ? fs::path(kernel.ptx_path(kernel.targets.front())).filename().string()
                       : source;
    terminal_.print("");
    terminal_.print_wrapped(fmt::format("{}  {}   {}", terminal_.yellow("survived"), place,
                                        terminal_.dim(source_text(kernel, source))));
    for (const MutantRecord* m : survivors) {
      terminal_.print(fmt::format(
          "          {}  {}, PTX line {}; {} of {} cases changed, at most {} of the bound", m->id,
          m->kind, m->line, m->changed, m->cases, share_text(m->worst_share)));
      terminal_.print(fmt::format("            - {}", m->before));
      terminal_.print(fmt::format("            + {}", m->after));
    }
  }
}

// Where the faulty kernels are that --only left.
void MutantConsole::print_kernels(const std::vector<MutantRecord>& mutants) {
  for (const MutantRecord& m : mutants) {
    for (const fs::path& root : {fs::path(arguments_.out), folder_.path()}) {
      const std::string name = m.kernel + "_" + m.id;
      const fs::path manifest = root / "mutants" / m.id / (name + ".toml");
      std::error_code code;
      if (!fs::exists(manifest, code)) continue;
      terminal_.print(terminal_.dim(fmt::format("kernel: plumbline verify {} --kernel {}", name,
                                                shell_word(manifest.string()))));
    }
  }
}

void MutantConsole::summary(const RunRecord& record) {
  terminal_.clear_status();
  if (arguments_.format == OutputFormat::json) return;
  if (human()) {
    for (const KernelRecord& kernel : record.kernels) {
      for (const std::string& reason : kernel.reasons) {
        terminal_.print_wrapped(
            fmt::format("  {} {}  {}", terminal_.red("not tested"), kernel.name, reason));
      }
    }
    if (record.interrupted)
      terminal_.print_wrapped("interrupted; what had finished is in the record");
    if (!arguments_.quiet) {
      terminal_.print("");
      if (!arguments_.only.empty()) print_kernels(record.mutants);
      terminal_.print(
          terminal_.dim(fmt::format("record: {}", (folder_.path() / "record.json").string())));
    }
  }
  const MutantScore total = score(record.mutants);
  terminal_.print(fmt::format("mutants: {} caught, {} survived, {} without effect", total.caught,
                              total.survived, total.no_effect));
}

}  // namespace plumbline
