// SPDX-License-Identifier: MIT
// AttentionBackwardProblem: one attention backward case as its oracle sees it, cut into groups. A
// group is one head of K and V of one sequence with the query heads that share it: dK and dV add
// over them.
#pragma once

#include <vector>

#include "oracles/bounds/contract/attention_backward.h"
#include "oracles/reference/attention/attention.h"

namespace plumbline {

struct AttentionBackwardProblem {
  AttentionProblem attention;   // `output` is the format of the gradients
  const Tensor* o = nullptr;    // [batch, heads, queries, dv], as the forward pass stored it
  const Tensor* lse = nullptr;  // [batch, heads, queries]
  const Tensor* d_o = nullptr;  // [batch, heads, queries, dv]: the gradient of O
  // [1], f32: what dO's elements stand for, times themselves, and what dS is multiplied by before
  // it is rounded; null: 1. Those of Q, K and V beside them are of one element as well.
  const Tensor* do_scale = nullptr;
  const Tensor* ds_scale = nullptr;
};

// The scales of a problem, and the factors that the contract makes of them, rounding by rounding.
struct GradientScales {
  float q = 1, k = 1, v = 1, d_o = 1, ds = 1;
  float scale = 1;  // the problem's own

  float dp() const { return d_o * v; }

  float dq() const { return scale * k / ds; }

  float dk() const { return scale * q / ds; }
};

GradientScales gradient_scales(const AttentionBackwardProblem& problem);

// A query head with what the forward pass left and the gradient that comes in.
struct GradientHead {
  AttentionHead head;
  std::vector<float> o, d_o;  // [queries, dv]
  std::vector<float> lse;     // [queries]
  GradientScales scales;      // the same for all heads
};

struct GradientGroup {
  std::vector<HeadPlace> places;    // of the query heads, in increasing order
  std::vector<GradientHead> heads;  // all with the same K and V
};

// The places of every group, in the order of head_places().
std::vector<std::vector<HeadPlace>> gradient_groups(const AttentionBackwardProblem& problem);

GradientGroup gradient_group(const AttentionBackwardProblem& problem,
                             const std::vector<HeadPlace>& places);

}  // namespace plumbline
