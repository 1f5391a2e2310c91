// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "harness/judge/claims.h"
#include "harness/relations/relations.h"
#include "oracles/base/hash.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

// What contradicts the relation, in words; empty when nothing does.
std::string what_breaks(const Relation& relation, const RelatedRun& run, const LaunchResult& launch,
                        const CaseTensors& first) {
  if (!launch.completed)
    return fmt::format("{} ({}), but the changed problem did not run to its end", relation.words,
                       relation.id);
  for (const Follow& follow : run.outputs) {
    const Tensor& before = *first.find(follow.output);
    const Tensor& after = *run.tensors.find(follow.output);
    for (std::int64_t at = 0; at < after.layout.count(); ++at) {
      if (follows(follow, before, at, after.bits(at))) continue;
      return fmt::format("{} ({}), but {} of the changed problem is {:.9g} (0x{:x})",
                         relation.words, relation.id, element_name(follow.output, after.layout, at),
                         to_double(format(after.layout.format), after.bits(at)), after.bits(at));
    }
  }
  return {};
}

// The first relation that the outputs break, in words; empty when all that were tried hold; nothing
// when none was tried.
Result<std::optional<std::string>> broken_relation(const Case& test_case, const Target& target,
                                                   Launcher& launcher, const Examined& examined) {
  constexpr double kMostWork = 1e8;
  const std::vector<Relation> relations = relations_of(*test_case.kernel->operation);
  // Each chip tries other ones.
  const std::uint64_t draw = fingerprint(fmt::format("{} {}", test_case.text(), target.name()));
  const std::uint64_t one_in = test_case.kernel->operation->relations_one_in();
  const bool bitwise = !relations.empty() && test_case.kernel->deterministic();
  std::optional<std::string> broken;
  if (!bitwise || test_case.kernel->operation->work(test_case.problem) > kMostWork) return broken;
  if (!launcher.options().all_relations && draw % one_in != 0) return broken;
  for (std::size_t i = 0; i < relations.size(); ++i) {
    const Relation& relation = relations[(draw / one_in + i) % relations.size()];
    std::optional<RelatedRun> run = relation.make(test_case, examined.tensors);
    if (!run) continue;
    const Result<LaunchResult> launch =
        launcher.launch(run->test_case, run->tensors, target,
                        {.approximation = launcher.approximation_of(test_case)});
    if (!launch) return launch.error();
    broken = what_breaks(relation, *run, *launch, examined.tensors);
    if (!broken->empty() || !launcher.options().all_relations) return broken;
  }
  return broken;
}

}  // namespace

Result<std::optional<ClaimVerdict>> judge_related(const Case& test_case, const Target& target,
                                                  Launcher& launcher, Examined& examined) {
  const Result<std::optional<std::string>> broken =
      broken_relation(test_case, target, launcher, examined);
  if (!broken) return broken.error();
  if (!*broken) return std::optional<ClaimVerdict>();
  const Verdict verdict = (*broken)->empty() ? Verdict::pass : Verdict::fail;
  return std::optional(ClaimVerdict{Claim::related, verdict, **broken});
}

}  // namespace plumbline
