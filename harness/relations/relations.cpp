// SPDX-License-Identifier: MIT
#include "harness/relations/relations.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/relations/relation_families.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

std::vector<Relation> joined(std::vector<Relation> some, std::vector<Relation> others) {
  some.insert(some.end(), std::make_move_iterator(others.begin()),
              std::make_move_iterator(others.end()));
  return some;
}

// Whether a power of two commutes with every rounding near this result: in its format, and in f32
// with some room for the factors of an epilogue.
bool far_from_the_ends(const Format& f, double result) {
  const double magnitude = std::fabs(result);
  return magnitude >= std::ldexp(1.0, std::max(f.emin() + 1, -60)) &&
         magnitude < std::ldexp(1.0, std::min(f.emax() - 1, 100));
}

}  // namespace

std::vector<Relation> relations_of(const Operation& operation) {
  const std::string_view name = operation.name();
  if (name == "gemm") return gemm_relations();
  if (name == "grouped_gemm") return grouped_gemm_relations();
  if (name == "linear_backward") return linear_backward_relations();
  if (name == "swiglu_mlp") return swiglu_relations();
  if (name == "attention")
    return joined(attention_place_relations(false), attention_value_relations());
  if (name == "attention_backward")
    return joined(attention_place_relations(true), attention_backward_value_relations());
  return row_relations(name);
}

bool follows(const Follow& follow, const Tensor& first, std::int64_t index, std::uint64_t bits) {
  const std::uint64_t before = first.bits(follow.source ? follow.source(index) : index);
  if (follow.factor == 1 && bits == before) return true;
  const Format& f = format(first.layout.format);
  const double x = to_double(f, before), y = to_double(f, bits);
  if (std::fabs(follow.factor) == 1) return std::isnan(x) ? std::isnan(y) : y == follow.factor * x;
  return !far_from_the_ends(f, x) || y == follow.factor * x;
}

}  // namespace plumbline
