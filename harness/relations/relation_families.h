// SPDX-License-Identifier: MIT
// The relations of each family of operations.
#pragma once

#include <string_view>
#include <vector>

#include "harness/relations/relations.h"

namespace plumbline {

std::vector<Relation> gemm_relations();
std::vector<Relation> grouped_gemm_relations();
std::vector<Relation> linear_backward_relations();
std::vector<Relation> swiglu_relations();

// By the operation's name: softmax, rmsnorm, layernorm and their gradients.
std::vector<Relation> row_relations(std::string_view operation);

// Of attention: the same rows elsewhere or described otherwise, and values negated or doubled.
std::vector<Relation> attention_place_relations(bool backward);
std::vector<Relation> attention_value_relations();
std::vector<Relation> attention_backward_value_relations();

}  // namespace plumbline
