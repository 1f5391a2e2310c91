// SPDX-License-Identifier: MIT
// What the attention operations share: the fields of a problem, its tensors, the terms of a
// contract, and the way from these to what the oracle sees.
#pragma once

#include <span>
#include <vector>

#include "kernels/manifest/operation.h"
#include "oracles/reference/attention/attention.h"

namespace plumbline {

std::span<const Field> attention_schema();  // of the forward pass
std::span<const Field> attention_backward_schema();
std::span<const Derived> attention_derived();
std::span<const Field> attention_terms();

// The tensors among `names` that the problem has. Errors: heads that do not divide, masks that
// contradict each other, a bias over sequences of varying length.
Result<std::vector<TensorSpec>> attention_tensors(std::span<const TensorName> names,
                                                  const Problem& problem, const Manifest& manifest);

// Whether the starts of the sequences rise from 0 and stay within the tensors.
Status check_attention_starts(const Problem& problem, const CaseTensors& tensors);

// Whether all scales are positive and far from the ends of f32.
Status check_attention_scales(const Problem& problem, const CaseTensors& tensors);

// A product of two matrices, by formats, and the contract of its sums.
struct AttentionProduct {
  Contract sum;
  FormatId a, b;
};

// Whether every target's unit multiplies these.
Status check_attention_products(std::span<const AttentionProduct> products,
                                const Manifest& manifest);

AttentionProblem attention_problem(const Problem& problem, const CaseTensors& tensors);
AttentionContract attention_contract(const Problem& terms, const Problem& problem);

// Multiply-accumulates of Q K^T and P V, a causal mask counted as half.
double attention_work(const Problem& problem);

}  // namespace plumbline
