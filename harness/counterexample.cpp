// SPDX-License-Identifier: MIT
#include "harness/counterexample.h"

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/corpus.h"
#include "fuzz/shrink.h"
#include "harness/explain.h"
#include "harness/interrupt.h"

namespace plumbline {
namespace {

// A small case fits many simple faults; the larger one it came from tells them apart.
void narrow_down(Counterexample& card, const Job& failed, CaseRunner& runner) {
  if (card.faults.size() < 2) return;
  const Result<std::unique_ptr<Examined>> original =
      runner.examine(failed.test_case, failed.target);
  if (!original) return;
  const std::vector<std::string> possible = explain_failure(failed.test_case, **original).faults;
  std::vector<std::string> left;
  for (const std::string& fault : possible) {
    if (std::find(card.faults.begin(), card.faults.end(), fault) != card.faults.end())
      left.push_back(fault);
  }
  if (left.empty() || left.size() == card.faults.size()) return;
  card.faults = left;
  card.explanation.push_back(
      fmt::format("on the case as found, {} of these fits: {}",
                  left.size() == 1 ? "only one" : fmt::format("{}", left.size()), left.front()));
}

}  // namespace

std::optional<Counterexample> make_counterexample(const Job& failed, const RunOptions& options,
                                                  Observer& observer) {
  RunnerOptions runner_options = options.runner;
  runner_options.threads = options.jobs;
  runner_options.all_relations = true;
  runner_options.keep_writers = true;
  CaseRunner runner(runner_options);
  // Of the smallest case so far.
  Result<std::unique_ptr<Examined>> examined = runner.examine(failed.test_case, failed.target);
  if (!examined && interrupted()) return std::nullopt;
  const auto fails = [&](const Case& candidate) {
    if (candidate.kernel->excluded(candidate.problem)) return false;
    Result<std::unique_ptr<Examined>> smaller = runner.examine(candidate, failed.target);
    if (!smaller || (*smaller)->record.verdict != Verdict::fail ||
        broken_claim((*smaller)->record) != broken_claim((*examined)->record))
      return false;
    examined = std::move(smaller);
    return true;
  };
  ShrinkResult small;
  small.smallest = failed.test_case;
  if (examined && options.shrink_budget > 0) {
    observer.shrinking(failed.test_case);
    small = shrink(failed.test_case, fails, options.shrink_budget, interrupted);
  }
  Counterexample card;
  card.device = failed.target.name();
  if (examined) {
    card = explain_failure(small.smallest, **examined);
    narrow_down(card, failed, runner);
  } else {
    card.kernel = failed.test_case.kernel->name;
    card.headline = examined.error().text();
  }
  card.original = failed.test_case.text();
  card.text = small.smallest.text();
  card.steps = small.steps;
  card.tried = small.tried;
  card.value_class = failed.test_case.recipe.value_class;
  if (options.corpus_folder.empty()) return card;

  CaseFile file;
  file.test_case = small.smallest;
  file.comments.push_back(
      fmt::format("{}: {}", card.claim, examined ? (*examined)->record.reason : card.headline));
  if (card.steps > 0) file.comments.push_back(fmt::format("shrunk from {}", card.original));
  file.notes.emplace_back("note", "failed on " + failed.target.name());
  const Result<std::string> saved = save_case(options.corpus_folder, file);
  if (saved) {
    card.case_file = *saved;
  } else {
    card.explanation.push_back("The case could not be saved: " + saved.error().text());
  }
  return card;
}

}  // namespace plumbline
