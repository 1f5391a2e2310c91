// SPDX-License-Identifier: MIT
// The families of relations. Each gives those of an operation, by its name, and none of operations
// that it does not know.
#pragma once

#include <string_view>
#include <vector>

#include "harness/relations/relations.h"

namespace plumbline {

std::vector<Relation> gemm_relations(std::string_view operation);
std::vector<Relation> grouped_gemm_relations(std::string_view operation);
std::vector<Relation> linear_backward_relations(std::string_view operation);
std::vector<Relation> swiglu_relations(std::string_view operation);

// Of softmax, the norms and their gradients.
std::vector<Relation> row_relations(std::string_view operation);

// Of attention and its gradient: the same rows elsewhere or described otherwise, and values negated
// or doubled.
std::vector<Relation> attention_place_relations(std::string_view operation);
std::vector<Relation> attention_value_relations(std::string_view operation);
std::vector<Relation> attention_backward_value_relations(std::string_view operation);

}  // namespace plumbline
