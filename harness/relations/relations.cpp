// SPDX-License-Identifier: MIT
#include "harness/relations/relations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/relations/relation_families.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

constexpr std::array kFamilies = {gemm_relations,
                                  grouped_gemm_relations,
                                  linear_backward_relations,
                                  swiglu_relations,
                                  row_relations,
                                  attention_place_relations,
                                  attention_value_relations,
                                  attention_backward_value_relations};

// Whether a power of two commutes with every rounding near this result: in its format, and in f32
// with some room for the factors of an epilogue.
bool far_from_the_ends(const Format& f, double result) {
  const double magnitude = std::fabs(result);
  return magnitude >= std::ldexp(1.0, std::max(f.emin() + 1, -60)) &&
         magnitude < std::ldexp(1.0, std::min(f.emax() - 1, 100));
}

}  // namespace

std::vector<Relation> relations_of(const Operation& operation) {
  std::vector<Relation> all;
  for (const auto family : kFamilies) {
    for (Relation& relation : family(operation.name())) all.push_back(std::move(relation));
  }
  return all;
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
