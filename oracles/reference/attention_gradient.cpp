// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_gradient.h"

#include "oracles/reference/head_rows.h"

namespace plumbline {

std::vector<std::vector<HeadPlace>> gradient_groups(const AttentionGradientProblem& problem) {
  const auto group =
      static_cast<std::size_t>(problem.attention.heads() / problem.attention.kv_heads());
  std::vector<std::vector<HeadPlace>> groups;
  std::vector<HeadPlace> members;
  for (const HeadPlace& place : head_places(problem.attention)) {
    members.push_back(place);
    if (members.size() < group) continue;
    groups.push_back(std::move(members));
    members.clear();
  }
  return groups;
}

GradientGroup gradient_group(const AttentionGradientProblem& problem,
                             const std::vector<HeadPlace>& places) {
  GradientGroup group;
  group.places = places;
  for (const HeadPlace& place : places) {
    GradientHead head;
    head.head = attention_head(problem.attention, place);
    head.o = head_rows(*problem.o, place.batch, place.head, place.first_query, place.queries);
    head.d_o = head_rows(*problem.d_o, place.batch, place.head, place.first_query, place.queries);
    head.lse = head_rows(*problem.lse, place.batch, place.head, place.first_query, place.queries);
    group.heads.push_back(std::move(head));
  }
  return group;
}

}  // namespace plumbline
