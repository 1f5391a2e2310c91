// SPDX-License-Identifier: MIT
#include "harness/run/counterexample.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "fuzz/shrink/shrink.h"
#include "harness/explain/explain.h"
#include "harness/judge/without_exceptions.h"
#include "harness/launch/interrupt.h"
#include "reports/card.h"
#include "reports/excerpt.h"
#include "reports/places.h"

namespace plumbline {
namespace {

// A fault without what belongs to the case: ranges of k, sizes and strides stand in brackets. A
// number with a sign says where a kernel looks.
std::string kind_of(const std::string& fault) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string kind;
  int brackets = 0;
  for (const char c : fault) {
    brackets += (c == '(' || c == '[') - (c == ')' || c == ']');
    const bool within_word = !kind.empty() && kind.back() != ' ' && kind.back() != '(' &&
                             kind.back() != '[';  // bf16, +1
    if (brackets == 0 || !is_digit(c) || within_word) kind += c;
  }
  // How many products are left behind a whole tile of k depends on k.
  if (kind.starts_with("the last ") && kind.find(" k product") != std::string::npos)
    return "the last k products are missing";
  return kind;
}

CaseFile file_of(const Case& failing, const Target& target, const std::string& claim,
                 const std::string& reason) {
  CaseFile file;
  file.test_case = failing;
  file.comments.push_back(fmt::format("{}: {}", claim, reason));
  file.notes.emplace_back("note", "failed on " + target.name());
  return file;
}

// What the record of a case tells.
Counterexample card_as_found(const Job& failed, const CaseRecord& record) {
  Counterexample card;
  card.kernel = record.kernel;
  if (failed.test_case.kernel->added) card.manifest = failed.test_case.kernel->path;
  card.device = record.device;
  card.claim = name(broken_claim(record));
  card.value_class = record.value_class;
  card.original = card.text = record.text;
  card.headline = fmt::format("{}: {}", failed.test_case.problem.text(), record.reason);
  card.findings = record.findings;
  return card;
}

// The lines of source, and paths below the working folder without it.
void show_source(Counterexample& card) {
  std::error_code none;
  const std::string root = std::filesystem::current_path(none).string();
  card.excerpts = source_excerpts(card, root);
  for (FindingRecord& finding : card.findings)
    finding.text = with_relative_paths(std::move(finding.text), root);
}

}  // namespace

std::optional<std::string> save_as_found(const Job& failed, const CaseRecord& record,
                                         const std::string& corpus_folder) {
  const Result<SavedCase> saved =
      save_case(corpus_folder, file_of(failed.test_case, failed.target,
                                       std::string(name(broken_claim(record))), record.reason));
  if (!saved || !saved->is_new) return std::nullopt;
  return saved->path;
}

void keep_faults_of(Counterexample& card, const std::vector<std::string>& as_found) {
  const std::size_t before = card.faults.names.size();
  const auto place = [&](const std::string& fault) -> std::int64_t {
    return std::ranges::find(as_found, kind_of(fault), kind_of) - as_found.begin();
  };
  card.faults.keep_if(
      [&](const std::string& fault) { return place(fault) < std::ssize(as_found); });
  if (card.faults.names.size() == before) return;
  // What explains the case as found best comes first.
  card.faults.sort_by(place);
  if (!card.faults.empty()) return;
  if (as_found.empty()) {
    card.faults = NamedFaults::none(fmt::format(
        "{} this small case, but none the whole of the case as found: by chance, or as a part of "
        "what is wrong",
        before == 1 ? "one simple fault fits" : fmt::format("{} simple faults fit", before)));
  } else if (as_found.size() > kMostNamedFaults) {
    card.faults = NamedFaults::none(
        fmt::format("this small case fits other faults by chance, and the case as found fits {}: "
                    "too many to tell which it is",
                    as_found.size()));
  } else {
    card.faults.names = as_found;
    card.faults.evidence = "this is of the case as found; the small case fits others by chance";
  }
}

void prefer_faults_of(Counterexample& card, const std::vector<std::string>& ordinary) {
  if (ordinary.empty() || ordinary.size() > kMostNamedFaults) return;
  const auto fits_ordinary = [&](const std::string& fault) {
    return std::ranges::find(ordinary, kind_of(fault), kind_of) != ordinary.end();
  };
  if (std::ranges::any_of(card.faults.names, fits_ordinary)) {
    card.faults.keep_if(fits_ordinary);
    return;
  }
  card.faults = {};
  card.faults.names = ordinary;
  card.faults.evidence =
      "this is of the problem as found with ordinary values; the values here do not show it";
}

void narrow_down(Counterexample& card, const Job& as_found, CaseRunner& runner) {
  const std::shared_ptr<const Case>& larger = as_found.test_case.shrunk_from;
  if (larger != nullptr && check_domain(*larger))
    return narrow_down(card, {*larger, as_found.target}, runner);
  const auto explained = [&](const Case& test_case) -> std::optional<Counterexample> {
    const Result<std::unique_ptr<Examined>> examined = runner.examine(test_case, as_found.target);
    if (!examined || (*examined)->record.verdict != Verdict::fail) return std::nullopt;
    Counterexample found = explain_failure(test_case, **examined);
    return found.explanation.empty() ? std::nullopt : std::optional(std::move(found));
  };
  if (!card.faults.empty() && card.text != as_found.test_case.text()) {
    if (const auto found = explained(as_found.test_case)) keep_faults_of(card, found->faults.names);
  }
  constexpr const char* kOrdinary = "normal";
  if (card.claim != name(Claim::bound) || as_found.test_case.recipe.value_class == kOrdinary)
    return;
  Case ordinary = as_found.test_case;
  ordinary.literals.clear();
  ordinary.recipe.value_class = kOrdinary;
  const auto found = explained(ordinary);
  if (found && found->claim == card.claim) prefer_faults_of(card, found->faults.names);
}

// Whether a finding says where in the code it is.
bool has_place(const CaseRecord& record) {
  return std::ranges::any_of(record.findings,
                             [](const FindingRecord& finding) { return finding.ptx_line > 0; });
}

namespace {

Result<Explained> try_explain(const Job& failed, const CaseRecord& record,
                              const RunOptions& options) {
  RunnerOptions runner_options = options.runner;
  runner_options.threads = options.jobs;
  runner_options.all_relations = true;
  runner_options.keep_writers = true;
  CaseRunner runner(runner_options);
  // Of the smallest case so far.
  Result<std::unique_ptr<Examined>> examined =
      interrupted() ? interruption(record.text) : runner.examine(failed.test_case, failed.target);
  if (!examined) return examined.error();
  const auto fails = [&](const Case& candidate) {
    if (candidate.kernel->excluded(candidate.problem)) return false;
    Result<std::unique_ptr<Examined>> smaller = runner.examine(candidate, failed.target);
    if (!smaller || (*smaller)->record.verdict != Verdict::fail ||
        broken_claim((*smaller)->record) != broken_claim((*examined)->record))
      return false;
    // A smaller case is no gain where it loses the line.
    if (has_place((*examined)->record) && !has_place((*smaller)->record)) return false;
    examined = std::move(smaller);
    return true;
  };
  ShrinkResult small;
  small.smallest = failed.test_case;
  if (options.shrink_budget > 0) {
    const auto end = std::chrono::steady_clock::now() + options.shrink_time;
    small = shrink(failed.test_case, fails, options.shrink_budget, [&] {
      return interrupted() || (options.enough && options.enough()) ||
             std::chrono::steady_clock::now() > end;
    });
  }
  Counterexample card = explain_failure(small.smallest, **examined);
  narrow_down(card, failed, runner);
  drop_faults_of_class(card);
  card.original = failed.test_case.text();
  card.text = small.smallest.text();
  card.steps = small.steps;
  card.tried = small.tried;
  card.value_class = failed.test_case.recipe.value_class;
  show_source(card);
  CaseFile file = file_of(small.smallest, failed.target, card.claim, (*examined)->record.reason);
  if (card.steps > 0) {
    const std::shared_ptr<const Case>& larger = failed.test_case.shrunk_from;
    file.comments.push_back(std::string(kShrunkFrom) + (larger ? larger->text() : card.original));
  }
  return Explained{std::move(card), std::move(file)};
}

}  // namespace

Explained explain_small(const Job& failed, const CaseRecord& record, const RunOptions& options) {
  Result<Explained> explained = without_exceptions(
      record.text, *options.runner.give_up, [&] { return try_explain(failed, record, options); });
  if (explained) return *std::move(explained);
  Counterexample card = card_as_found(failed, record);
  card.explanation.push_back(
      interrupted() ? "the run was interrupted before this case was made small and explained"
                    : "it could not be explained: " + explained.error().text());
  show_source(card);
  CaseFile file = file_of(failed.test_case, failed.target, card.claim, record.reason);
  return {std::move(card), std::move(file)};
}

void save_explained(Explained& explained, const RunOptions& options) {
  if (options.corpus_folder.empty()) return;
  const Result<SavedCase> saved = save_case(options.corpus_folder, explained.file);
  if (saved) {
    explained.card.case_file = saved->path;
  } else {
    explained.card.explanation.push_back("The case could not be saved: " + saved.error().text());
  }
}

Counterexample make_counterexample(const Job& failed, const CaseRecord& record,
                                   const RunOptions& options) {
  Explained explained = explain_small(failed, record, options);
  save_explained(explained, options);
  return std::move(explained.card);
}

}  // namespace plumbline
