// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <utility>

#include "harness/judge/claims.h"

namespace plumbline {

Result<std::optional<ClaimVerdict>> judge_agrees(const Case& test_case, const Target& target,
                                                 Launcher& launcher, Examined& examined) {
  if (!examined.beside) return std::optional<ClaimVerdict>();
  Launched& beside = *examined.beside;
  const std::string emulator = emulator_beside(target).name();
  const bool both_ended = beside.launch.completed && examined.launch.completed;
  const bool same = both_ended && beside.launch.fingerprint == examined.first;
  const Manifest& kernel = *test_case.kernel;
  std::unique_ptr<CaseOracle> oracle =
      kernel.operation->oracle(test_case.problem, kernel, target.sm, beside.tensors);
  JudgeOptions judging = launcher.options().judge;
  judging.threads = launcher.options().threads;
  // Of the same bits the same would be said.
  LaunchResult findings_alone = beside.launch;
  findings_alone.completed = findings_alone.completed && !same;
  CaseRecord judged = judge_case(test_case, beside.tensors, findings_alone, *oracle, judging);
  for (FindingRecord& finding : judged.findings) {
    finding.text = fmt::format("{}: {}", emulator, finding.text);
    examined.record.findings.push_back(finding);
  }
  CaseRecord& record = examined.record;
  const auto fail = [&](Claim claim, const std::string& reason) {
    record.claims[claim] = record.verdict = Verdict::fail;
    if (record.reason.empty()) record.reason = reason;
  };
  const bool values_break = !same && beside.launch.completed && judged.verdict == Verdict::fail;
  if (values_break && record.verdict != Verdict::fail && examined.launch.completed) {
    std::vector<FindingRecord> findings = std::move(record.findings);
    std::map<Claim, Verdict> claims = std::move(record.claims);
    for (const auto& [claim, verdict] : judged.claims) claims[claim] = verdict;
    judged.claims = std::move(claims);
    judged.findings = std::move(findings);
    judged.device = record.device;
    judged.kernel_ms = record.kernel_ms;
    judged.reached = std::move(record.reached);
    judged.reason = fmt::format("{}, beside the GPU: {}", emulator, judged.reason);
    record = std::move(judged);
    std::swap(static_cast<Launched&>(examined), beside);
    examined.oracle =
        kernel.operation->oracle(test_case.problem, kernel, target.sm, examined.tensors);
  } else if (!beside.launch.findings.empty()) {
    fail(Claim::in_bounds, record.findings.back().text);
  }
  if (!both_ended) return std::optional<ClaimVerdict>();
  const bool asked = kernel.deterministic() && launcher.bits_are_fixed(kernel, target.sm);
  const Verdict verdict = same ? Verdict::pass : asked ? Verdict::fail : Verdict::skip;
  return std::optional(
      ClaimVerdict{Claim::agrees, verdict, "GPU and emulator differ in some output bit"});
}

}  // namespace plumbline
