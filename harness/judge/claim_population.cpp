// SPDX-License-Identifier: MIT
#include "harness/population/population.h"

#include <fmt/format.h>

#include "fuzz/case/fresh_draw.h"
#include "harness/judge/claims.h"

namespace plumbline {
namespace {

// Of what all errors at once made suspect, what is suspect again on every fresh draw of inputs.
struct FreshDraws {
  std::vector<Suspicion> suspicions;
  std::string finding;  // what the device found on one of them; then nothing else is known
};

Result<FreshDraws> still_suspect(const Case& test_case, const Target& target, Launcher& launcher,
                                 std::vector<Suspicion> suspicions) {
  for (int i = 0; i < kFreshDraws && !suspicions.empty(); ++i) {
    const Case fresh = with_fresh_draw(test_case, i);
    const Result<Execution> execution = execute_case(fresh, target, launcher);
    if (!execution) return execution.error();
    if (!execution->launch.findings.empty()) {
      return FreshDraws{{},
                        fmt::format("with other inputs of the same class ({}): {}", fresh.text(),
                                    execution->launch.findings.front().text())};
    }
    const std::unique_ptr<CaseOracle> oracle = fresh.kernel->operation->oracle(
        fresh.problem, *fresh.kernel, target.sm, execution->tensors);
    const std::optional<PopulationVerdict> again =
        test_population(fresh, execution->tensors, *oracle, launcher.options().threads);
    suspicions = confirmed(suspicions, again ? again->suspicions : std::vector<Suspicion>());
  }
  return FreshDraws{std::move(suspicions), {}};
}

}  // namespace

Result<std::optional<ClaimVerdict>> judge_population(const Case& test_case, const Target& target,
                                                     Launcher& launcher, Examined& examined) {
  std::optional<PopulationVerdict> population =
      test_population(test_case, examined.tensors, *examined.oracle, launcher.options().threads);
  if (!population) return std::optional<ClaimVerdict>();
  std::string finding;
  if (population->broken.empty()) {
    const Result<FreshDraws> fresh =
        still_suspect(test_case, target, launcher, population->suspicions);
    if (!fresh) return fresh.error();
    finding = fresh->finding;
    if (!fresh->suspicions.empty()) {
      population->broken = words_of(fresh->suspicions);
    } else if (!population->suspicions.empty()) {
      population->detectable +=
          "; only this draw of inputs shows " + population->suspicions.front().words;
    }
  }
  examined.record.population = population->detectable;
  if (!finding.empty()) {
    examined.record.claims[Claim::population] = Verdict::pass;
    return std::optional(ClaimVerdict{Claim::in_bounds, Verdict::fail, finding});
  }
  const Verdict verdict = population->broken.empty() ? Verdict::pass : Verdict::fail;
  return std::optional(ClaimVerdict{Claim::population, verdict, population->broken});
}

}  // namespace plumbline
