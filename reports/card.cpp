// SPDX-License-Identifier: MIT
#include "reports/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>
#include <span>

#include "oracles/base/shell_word.h"
#include "reports/count_text.h"
#include "reports/excerpt.h"

namespace plumbline {

std::string ulp_text(double ulp) {
  if (std::isnan(ulp)) return "-";
  if (std::isinf(ulp)) return "inf ulp";
  if (ulp == 0) return "exact";
  if (ulp < 0.001) return fmt::format("{:.1e} ulp", ulp);
  return ulp < 100 ? fmt::format("{:.3g} ulp", ulp) : fmt::format("{:.4g} ulp", ulp);
}

std::string share_text(double share) {
  if (std::isnan(share)) return "-";
  if (std::isinf(share)) return "any";  // no error was allowed at all
  if (share > 1)
    return share < 1e6 ? fmt::format("{:.3g} x", share) : fmt::format("{:.1e} x", share);
  return fmt::format("{:.0f} %", 100 * share);
}

namespace {

constexpr std::size_t kShownFindings = 3;

std::string of_kernel(const std::string& what, const std::string& manifest) {
  return shell_word(what) + (manifest.empty() ? "" : " --kernel " + shell_word(manifest));
}

// "tile.cuh:31"; empty where the line is not known.
std::string short_place(const std::string& file, int line) {
  return line > 0 ? fmt::format("{}:{}", std::filesystem::path(file).filename().string(), line)
                  : std::string();
}

void add_excerpts(const Counterexample& c, std::vector<std::string>& lines) {
  for (const SourceExcerpt& excerpt : c.excerpts) {
    lines.push_back("");
    for (const std::string& line : excerpt_lines(excerpt)) lines.push_back("        " + line);
  }
}

}  // namespace

std::string replay_subject(const Counterexample& c) {
  if (!c.case_file.empty()) return of_kernel(c.case_file, c.manifest);
  const bool has_recipe = !c.original.empty() && c.original.find(" bits=") == std::string::npos;
  return has_recipe ? of_kernel(c.original, c.manifest) : "";
}

std::string replay_subject(const RunRecord& record, const CaseRecord& planned) {
  const auto kernel = std::ranges::find(record.kernels, planned.kernel, &KernelRecord::name);
  return of_kernel(planned.text, kernel == record.kernels.end() ? "" : kernel->manifest);
}

std::vector<FindingRecord> of_every_kind_first(const std::vector<FindingRecord>& findings) {
  // Where __syncthreads() is missing lanes of one warp race, too: what other warps do says more.
  const auto within_warp = [](const FindingRecord& finding) {
    return finding.text.find("a race between lanes of a warp") != std::string::npos;
  };
  // Reads of what nothing wrote are idle, mostly, and of no account beside anything else.
  const auto may_be_idle = [](const FindingRecord& finding) {
    return finding.kind == "read of unwritten memory";
  };
  std::vector<FindingRecord> sorted = findings;
  std::stable_partition(sorted.begin(), sorted.end(), std::not_fn(within_warp));
  std::stable_partition(sorted.begin(), sorted.end(), std::not_fn(may_be_idle));
  std::set<std::string> kinds;
  std::vector<FindingRecord> first, more;
  for (const FindingRecord& finding : sorted)
    (kinds.insert(finding.kind).second ? first : more).push_back(finding);
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

std::vector<std::string> finding_sentences(const std::vector<FindingRecord>& findings) {
  constexpr std::size_t kMostPlaces = 6;
  const auto place = [](const std::string& source, int line, const std::string& ptx, int ptx_line) {
    return line > 0 ? short_place(source, line) : short_place(ptx, ptx_line);
  };

  struct Row {
    std::string cause, text;
    std::vector<std::string> places;
  };

  std::vector<Row> rows;
  for (const FindingRecord& f : of_every_kind_first(findings)) {
    const std::string own = place(f.source_file, f.source_line, f.ptx_file, f.ptx_line);
    const auto& other = f.other;
    // Without another access each finding stands alone.
    const std::string cause = other ? f.kind + place(other->source_file, other->source_line,
                                                     other->ptx_file, other->ptx_line)
                                    : f.text;
    const auto same = std::ranges::find(rows, cause, &Row::cause);
    if (same == rows.end()) {
      rows.push_back({cause, f.text, {own}});
    } else if (std::ranges::find(same->places, own) == same->places.end()) {
      same->places.push_back(own);
    }
  }
  std::vector<std::string> sentences;
  for (Row& row : rows) {
    const std::size_t more = row.places.size() - 1;
    if (more > 0) {
      const std::size_t named = std::min(more, kMostPlaces);
      row.text += fmt::format("; the same at {}{}",
                              fmt::join(std::span(row.places).subspan(1, named), ", "),
                              more > named ? fmt::format(" and {} other lines", more - named) : "");
    }
    sentences.push_back(std::move(row.text));
  }
  return sentences;
}

std::vector<std::string> card_lines(const Counterexample& counterexample) {
  const Counterexample& c = counterexample;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("FAIL  {}   {} / {}", c.kernel, c.claim, c.value_class));
  lines.push_back("      " + c.headline);
  // The cause stands first; what is said of the values follows them.
  const bool fits_first = c.findings.empty() && !c.faults.empty();
  const auto add_faults = [&] {
    for (const std::string& sentence : c.faults.sentences()) lines.push_back("      " + sentence);
  };
  if (fits_first) add_faults();
  if (!c.elements.empty()) lines.push_back("");
  for (const std::string& element : c.elements) lines.push_back("          " + element);
  if (!c.findings.empty()) lines.push_back("");
  const std::vector<std::string> findings = finding_sentences(c.findings);
  for (std::size_t i = 0; i < std::min(findings.size(), kShownFindings); ++i)
    lines.push_back("      " + findings[i]);
  if (findings.size() > kShownFindings) {
    const auto more = static_cast<std::int64_t>(findings.size() - kShownFindings);
    lines.push_back(fmt::format("      {} in record.json", counted(more, "more finding")));
  }
  // The line of a finding is the cause; that of a store only leads to it.
  if (!c.findings.empty()) add_excerpts(c, lines);
  if (!c.explanation.empty()) lines.push_back("");
  for (const std::string& sentence : c.explanation) lines.push_back("      " + sentence);
  if (!fits_first) add_faults();
  if (c.findings.empty()) add_excerpts(c, lines);
  if (const std::string origin = found_as(c); !origin.empty()) {
    if (!c.excerpts.empty()) lines.push_back("");
    lines.push_back("      " + origin);
  }
  lines.push_back("");
  for (std::string& command : card_commands(c)) lines.push_back(std::move(command));
  return lines;
}

std::vector<std::string> brief_card_lines(const Counterexample& c) {
  std::vector<std::string> lines = {
      fmt::format("FAIL  {}   {} / {}", c.kernel, c.claim, c.value_class), "      " + c.headline};
  const std::vector<std::string> faults = c.faults.sentences();
  if (!faults.empty()) lines.push_back("      " + faults.front());
  for (std::string& command : card_commands(c)) lines.push_back(std::move(command));
  return lines;
}

std::string cause_line(const Counterexample& c) {
  if (!c.findings.empty()) {
    const FindingRecord first = of_every_kind_first(c.findings).front();
    const bool is_shown = !c.excerpts.empty() && c.excerpts.front().what == "where it happens";
    const std::string at = is_shown ? short_place(c.excerpts.front().file, c.excerpts.front().line)
                           : first.source_line > 0
                               ? short_place(first.source_file, first.source_line)
                               : short_place(first.ptx_file, first.ptx_line);
    return at.empty() ? first.kind : fmt::format("{} at {}", first.kind, at);
  }
  std::string line;
  if (!c.faults.empty()) {
    line = "fits: " + c.faults.names.front();
    if (c.faults.names.size() > 1) line += fmt::format(", or {} more", c.faults.names.size() - 1);
  }
  const std::string at = c.excerpts.empty()
                             ? short_place(c.store.source_file, c.store.source_line)
                             : short_place(c.excerpts.front().file, c.excerpts.front().line);
  if (!at.empty()) line += fmt::format("{}stored at {}", line.empty() ? "" : "; ", at);
  return line;
}

std::string found_as(const Counterexample& c) {
  if (c.steps == 0) return {};
  return fmt::format("Found as {}; shrunk in {} of {} {}.", c.original, counted(c.steps, "step"),
                     c.tried, c.tried == 1 ? "try" : "tries");
}

std::vector<std::string> card_commands(const Counterexample& c) {
  std::vector<std::string> lines = {"      case     " + c.text};
  if (const std::string subject = replay_subject(c); !subject.empty()) {
    lines.push_back("      replay   plumbline replay  " + subject);
    lines.push_back("      explain  plumbline explain " + subject);
  }
  return lines;
}

std::string fits_sentence(const Counterexample& counterexample) {
  constexpr std::size_t kListed = 3;
  const std::vector<std::string>& faults = counterexample.faults.names;
  if (faults.size() == 1) return fmt::format("Would explain it exactly: {}.", faults.front());
  const std::vector<std::string> listed(
      faults.begin(), faults.begin() + std::min(std::ssize(faults), std::ptrdiff_t{kListed}));
  return fmt::format("Each of {} simple faults would explain it: {}{}.", faults.size(),
                     fmt::join(listed, "; "), faults.size() > kListed ? "; and others" : "");
}

bool is_meaningful(double ulp, const KernelRecord& kernel) {
  constexpr double kMostUlp = 1000;  // six times the most of the shipped texts, cross entropy's 162
  return ulp <= kMostUlp || kernel.worst_relative > 0;
}

std::string known_note(const KnownRecord& known) {
  if (known.cases == 0) {
    return fmt::format(
        "[[known]] \"{}\" was met in no case: where that holds for the whole plan, take it out of "
        "the manifest",
        known.says);
  }
  return fmt::format("known, in {} case{}: \"{}\" ({})", known.cases, known.cases == 1 ? "" : "s",
                     known.says, known.reason);
}

std::string sampling_note(const KernelRecord& kernel) {
  const auto all = static_cast<double>(kernel.sampled + kernel.unsampled);
  if (kernel.unsampled == 0) return "a stratified sample of outputs was bounded";
  const double missed = static_cast<double>(kernel.unsampled) / all;
  return fmt::format(
      "{} of {:.0f} outputs were bounded one by one, the others held against a bound for any "
      "values "
      "of their size; one wrong output is missed with a probability of {:.2g} %, all of 1,000 with "
      "{:.2g} %",
      kernel.sampled, all, 100 * missed, 100 * std::pow(missed, 1000));
}

std::string accuracy_note(double worst_relative) {
  const double percent = 100 * worst_relative;
  return fmt::format(
      "outputs are up to {} % from exact on values of one sign: the arithmetic that the contract "
      "names can lose that much",
      percent < 10 ? fmt::format("{:.2g}", percent) : fmt::format("{:.0f}", percent));
}

std::string accuracy_note(const KernelRecord& kernel) {
  // Records of older versions have smaller errors there, and such of values of any sign.
  constexpr double kCoarse = 0.01;
  const bool coarse = kernel.worst_relative >= kCoarse &&
                      kernel.least_accurate_case.find(" value=positive ") != std::string::npos;
  return coarse && kernel.failed == 0 ? accuracy_note(kernel.worst_relative) : std::string();
}

}  // namespace plumbline
