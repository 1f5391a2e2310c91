// SPDX-License-Identifier: MIT
// What relations are made of: the same problem with other fields, and inputs with their elements
// at other places, negated or doubled. Editors read one tensor and write another, element by
// logical element, so that layouts stay what they are. They return false where no tensor is the
// result: elements that share storage would differ, or the format lacks a value.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/relations/relations.h"

namespace plumbline {

// nullopt where the relation does not bind.
using Related = std::optional<RelatedRun>;

// The same problem with the same inputs.
RelatedRun same_problem(const Case& test_case, const CaseTensors& tensors);

using FieldEdit = std::pair<std::string_view, std::string>;

// The text of a real field.
std::string real_field(float value);

// The same problem with other fields. Inputs that keep their shape are copied, the others zero.
// nullopt where the kernel does not have the problem.
std::optional<RelatedRun> other_problem(const Case& test_case, const CaseTensors& tensors,
                                        const std::vector<FieldEdit>& edits);

// Where an element comes from, by where it goes: linear indices.
using Source = std::function<std::int64_t(std::int64_t)>;

bool rearrange(const Tensor& from, Tensor& to, const Source& source);
bool negate(const Tensor& from, Tensor& to);
// Exactly, every element; none that is not finite.
bool multiply(const Tensor& from, Tensor& to, double factor);
void fill(Tensor& tensor, double value);

// The reverse order along one dimension of a tensor that is seen as [outer, length, inner].
Source reversed(std::int64_t length, std::int64_t inner);

// The same editors for inputs by name; inputs the problem lacks are skipped.
using Names = std::initializer_list<std::string_view>;
bool negate(const CaseTensors& from, CaseTensors& to, Names names);
bool multiply(const CaseTensors& from, CaseTensors& to, double factor, Names names);

// Whether the contract lets a negated sum end as a negated output, and an element end as the same
// bits wherever it lies.
bool odd(const Contract& contract, FormatId output);
bool alike_everywhere(const Contract& contract);

// Whether the contract has the sums of an output added in the same order in both problems. Where it
// leaves the order open, a kernel may choose it by the problem.
bool same_order(const Case& before, const Case& after, std::string_view output);

// The flags of an operation whose contract has terms of its own, for all its outputs.
inline const Contract& promises(const Case& test_case) {
  return test_case.kernel->promised.contract;
}

// Relations that only change signs: these inputs are negated, and outputs follow by 1 or -1.
Relation negating(std::string_view id, std::string_view words, std::vector<std::string> inputs,
                  std::vector<Follow> outputs);

}  // namespace plumbline
