// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "harness/judge/claims.h"
#include "harness/relations/relations.h"
#include "oracles/base/hash.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

// What the changed problem's launch says: nothing that is wrong, or why not.
ClaimVerdict what_breaks(const Relation& relation, const RelatedRun& run, const Launched& changed,
                         const CaseTensors& first) {
  if (!changed.launch.findings.empty()) {
    return {Claim::in_bounds, Verdict::fail,
            fmt::format("with a changed problem ({}, {}): {}", run.test_case.problem_text(),
                        relation.id, changed.launch.findings.front().text())};
  }
  const auto broken = [&](const std::string& how) {
    return ClaimVerdict{Claim::related, Verdict::fail,
                        fmt::format("{} ({}), but {}", relation.words, relation.id, how)};
  };
  if (!changed.launch.completed) return broken("the changed problem did not run to its end");
  for (const Follow& follow : run.outputs) {
    const Tensor& before = *first.find(follow.output);
    const Tensor& after = *changed.tensors.find(follow.output);
    for (std::int64_t at = 0; at < after.layout.count(); ++at) {
      if (follows(follow, before, at, after.bits(at))) continue;
      return broken(fmt::format("{} of the changed problem is {:.9g} (0x{:x})",
                                element_name(follow.output, after.layout, at),
                                to_double(format(after.layout.format), after.bits(at)),
                                after.bits(at)));
    }
  }
  return {};
}

// The first relation that the outputs break; a pass when all that were tried hold; nothing when
// none was tried.
Result<std::optional<ClaimVerdict>> try_relations(const Case& test_case, const Target& target,
                                                  Launcher& launcher, const Examined& examined) {
  constexpr double kMostWork = 1e8;
  const std::vector<Relation> relations = relations_of(*test_case.kernel->operation);
  // Each chip tries other ones.
  const std::uint64_t draw = fingerprint(fmt::format("{} {}", test_case.text(), target.name()));
  const std::uint64_t one_in = test_case.kernel->operation->relations_one_in();
  const bool bitwise = !relations.empty() && test_case.kernel->deterministic();
  std::optional<ClaimVerdict> broken;
  if (!bitwise || test_case.kernel->operation->work(test_case.problem) > kMostWork) return broken;
  if (!launcher.options().all_relations && draw % one_in != 0) return broken;
  for (std::size_t i = 0; i < relations.size(); ++i) {
    const Relation& relation = relations[(draw / one_in + i) % relations.size()];
    std::optional<RelatedRun> run = relation.make(test_case, examined.tensors);
    if (!run) continue;
    const Result<Launched> changed =
        launch_beside(run->test_case, std::move(run->tensors), target, launcher,
                      {.approximation = launcher.approximation_of(test_case)});
    if (!changed) return changed.error();
    broken = what_breaks(relation, *run, *changed, examined.tensors);
    if (broken->verdict != Verdict::pass || !launcher.options().all_relations) return broken;
  }
  return broken;
}

}  // namespace

Result<std::optional<ClaimVerdict>> judge_related(const Case& test_case, const Target& target,
                                                  Launcher& launcher, Examined& examined) {
  return try_relations(test_case, target, launcher, examined);
}

}  // namespace plumbline
