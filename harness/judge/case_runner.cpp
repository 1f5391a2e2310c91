// SPDX-License-Identifier: MIT
#include "harness/judge/case_runner.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "harness/judge/code_coverage.h"
#include "harness/judge/figures.h"
#include "harness/judge/without_exceptions.h"

namespace plumbline {

namespace {

struct ListedClaim {
  ClaimJudge* judge;
  bool of_right_values;  // judged only where nothing is wrong with the outputs by themselves
};

constexpr std::array kClaims = {
    ListedClaim{judge_related, true}, ListedClaim{judge_population, true},
    ListedClaim{judge_deterministic, false}, ListedClaim{judge_agrees, false}};

// What was found first is the reason.
void take_verdict(const ClaimVerdict& claim, CaseRecord& record) {
  record.claims[claim.claim] = claim.verdict;
  if (claim.verdict == Verdict::pass || record.verdict == Verdict::fail) return;
  if (record.reason.empty() || claim.verdict == Verdict::fail) record.reason = claim.reason;
  record.verdict = claim.verdict;
}

}  // namespace

Status check_domain(const Case& test_case) {
  const auto reason = test_case.kernel->excluded(test_case.problem);
  if (!reason) return {};
  return Error{ErrorKind::bad_input,
               fmt::format("{} does not accept {}: {}", test_case.kernel->name,
                           test_case.problem.text(), *reason),
               test_case.kernel->path, "its domain is in the manifest"};
}

CaseRecord error_record(const Case& test_case, const Target& target, const Error& error) {
  CaseRecord record = describe_case(test_case);
  record.device = target.name();
  record.verdict = Verdict::error;
  record.reason = error.text();
  return record;
}

Status CaseRunner::load(const Manifest& kernel, const Target& target) {
  return without_exceptions(kernel.name, *launcher_.options().give_up, [&]() -> Status {
    const Result<const Module*> module = launcher_.module(kernel, target);
    return module ? Status() : module.error();
  });
}

Result<Execution> CaseRunner::execute(const Case& test_case, const Target& target,
                                      std::uint64_t instruction_budget) {
  return without_exceptions(test_case.text(), *launcher_.options().give_up,
                            [&]() -> Result<Execution> {
                              if (Status accepted = check_domain(test_case); !accepted)
                                return accepted.error();
                              return execute_case(test_case, target, launcher_, instruction_budget);
                            });
}

Result<std::unique_ptr<Examined>> CaseRunner::judge(const Case& test_case, const Target& target,
                                                    Execution execution) {
  return without_exceptions(test_case.text(), *launcher_.options().give_up,
                            [&] { return try_judge(test_case, target, std::move(execution)); });
}

Result<std::unique_ptr<Examined>> CaseRunner::examine(const Case& test_case, const Target& target) {
  const auto start = std::chrono::steady_clock::now();
  Result<Execution> execution = execute(test_case, target);
  if (!execution) return execution.error();
  const Status named = without_exceptions(
      test_case.text(), *launcher_.options().give_up,
      [&]() -> Status { return name_other_accesses(test_case, target, launcher_, *execution); });
  if (!named) return named.error();
  Result<std::unique_ptr<Examined>> examined = judge(test_case, target, *std::move(execution));
  if (!examined) return examined.error();
  shorten_figures((*examined)->record);
  (*examined)->record.elapsed_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return examined;
}

Result<std::unique_ptr<Examined>> CaseRunner::try_judge(const Case& test_case, const Target& target,
                                                        Execution execution) {
  const RunnerOptions& options = launcher_.options();
  if (*options.give_up) return interruption(test_case.text());  // exact values may take minutes
  auto examined = std::make_unique<Examined>();
  static_cast<Execution&>(*examined) = std::move(execution);
  JudgeOptions judging = options.judge;
  judging.threads = options.threads;
  const Manifest& kernel = *test_case.kernel;
  examined->oracle =
      kernel.operation->oracle(test_case.problem, kernel, target.sm, examined->tensors);
  CaseRecord& record = examined->record;
  record = judge_case(test_case, examined->tensors, examined->launch, *examined->oracle, judging);
  record.device = target.name();
  record.kernel_ms = examined->kernel_ms;
  if (options.coverage != nullptr) {
    const Result<const Module*> module = launcher_.module(kernel, target);
    if (!module) return module.error();
    options.coverage->add(kernel.name, target.name(), **module, examined->launch);
  }
  if (options.keep_reached) record.reached = reached_codes(examined->launch, target.sm);
  const bool right_values = record.verdict == Verdict::pass;
  for (const ListedClaim& claim : kClaims) {
    if (claim.of_right_values && !right_values) continue;
    const Result<std::optional<ClaimVerdict>> verdict =
        claim.judge(test_case, target, launcher_, *examined);
    if (!verdict) return verdict.error();
    if (*verdict) take_verdict(**verdict, examined->record);
  }
  return examined;
}

std::optional<CaseRecord> CaseRunner::run(const Case& test_case, const Target& target) {
  Result<std::unique_ptr<Examined>> examined = examine(test_case, target);
  if (!examined && *launcher_.options().give_up) return std::nullopt;
  if (!examined) return error_record(test_case, target, examined.error());
  return std::move((*examined)->record);
}

}  // namespace plumbline
