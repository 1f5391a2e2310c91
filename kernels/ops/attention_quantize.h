// SPDX-License-Identifier: MIT
// How a model's f32 data become Q, K and V of attention, with a scale per sequence and head or per
// block of rows where the problem has such.
//
// Keys that become 8-bit integers are smoothed first, as SageAttention does: the mean of a
// sequence's keys is subtracted from each. No weight changes by that, and so O does not; LSE then
// lacks scale * q . mean, which no kernel adds. Beside a sink, whose logit stays, or under a
// softcap weights would change: there keys are not smoothed.
#pragma once

#include "kernels/manifest/operation.h"
#include "oracles/reference/attention/attention.h"

namespace plumbline {

// What becomes 8-bit integers in the place of K: where O does not depend on them, without the means
// of its sequences; rows after the last sequence stay.
Tensor smoothed_keys(const AttentionProblem& attention, const Tensor& k);

void quantize_attention(const Problem& problem, const CaseTensors& sources, CaseTensors& tensors);

}  // namespace plumbline
