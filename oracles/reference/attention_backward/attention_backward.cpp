// SPDX-License-Identifier: MIT
#include "oracles/reference/attention_backward/attention_backward.h"

#include "oracles/formats/decode.h"
#include "oracles/reference/attention/head_rows.h"

namespace plumbline {

GradientScales gradient_scales(const AttentionBackwardProblem& problem) {
  const auto value = [](const Tensor* scale) {
    return scale ? static_cast<float>(to_double(format(scale->layout.format), scale->bits(0)))
                 : 1.0f;
  };
  const AttentionProblem& attention = problem.attention;
  return {value(attention.q_scale), value(attention.k_scale), value(attention.v_scale),
          value(problem.do_scale),  value(problem.ds_scale),  attention.scale};
}

std::vector<std::vector<HeadPlace>> gradient_groups(const AttentionBackwardProblem& problem) {
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

GradientGroup gradient_group(const AttentionBackwardProblem& problem,
                             const std::vector<HeadPlace>& places) {
  const GradientScales scales = gradient_scales(problem);
  GradientGroup group;
  group.places = places;
  for (const HeadPlace& place : places) {
    GradientHead head;
    head.head = attention_head(problem.attention, place);
    head.o = head_rows(*problem.o, place.batch, place.head, place.first_query, place.queries);
    head.d_o = head_rows(*problem.d_o, place.batch, place.head, place.first_query, place.queries);
    head.lse = head_rows(*problem.lse, place.batch, place.head, place.first_query, place.queries);
    head.scales = scales;
    group.heads.push_back(std::move(head));
  }
  return group;
}

}  // namespace plumbline
