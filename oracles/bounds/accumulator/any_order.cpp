// SPDX-License-Identifier: MIT
#include "oracles/bounds/accumulator/any_order.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/numbers.h"
#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/exact/bound_arithmetic.h"

namespace plumbline::bound {

// A step takes instruction_length addends, the last one of each accumulator perhaps fewer.
RoundingCounts::RoundingCounts(const BoundModel& model, std::int64_t addends) {
  const NodePlan plan(model);
  const double full =
      std::ceil(static_cast<double>(addends) / static_cast<double>(plan.instruction_length));
  double accumulators = model.parts > 0 ? std::min(full, static_cast<double>(model.parts)) : full;
  if (model.schedule == Schedule::runs) accumulators = full;  // every step may be a run
  const double steps = full + accumulators;
  nodes = steps * static_cast<double>(plan.nodes.size());
  additions = accumulators;
  if (model.fma || model.chaining == Chaining::hopper_fp8) additions += steps;
}

RunningBound any_order_bound(const BoundModel& model, const PreparedProducts& products) {
  const auto k = static_cast<double>(products.value.size());
  double plus = 0, minus = 0, largest = 0;  // magnitudes of positive and of negative products
  RunningBound bound;
  for (std::size_t p = 0; p < products.value.size(); ++p) {
    bound.sum += products.value[p];
    plus += larger(products.value[p], 0);
    minus += larger(-products.value[p], 0);
    largest = larger(largest, products.exponent[p]);
    bound.lattice = smaller(bound.lattice, products.lowest[p]);
  }
  if (bound.lattice == kInfinity) return bound;

  // Truncation moves toward zero, so only roundings to nearest let a partial sum leave the range
  // from the sum of all negative products to the sum of all positive ones.
  const RoundingCounts counts(model, std::ssize(products.value));
  const double growth = std::exp(counts.additions * 0x1p-24) * (1 + k * 0x1p-52);
  const double reach = larger(plus, minus) * growth * kRoundUpAll;
  const double ulp = ulp_of(reach, kF32Ulp);
  if (bound.lattice < ulp) bound.error += counts.additions * ulp / 2;
  if (model.flushes) bound.error += products.lost;
  if (model.flushes && bound.lattice < kF32Minimum)
    bound.error += 3 * counts.additions * kF32Minimum;  // both operands and the sum of each
  if (!model.fma) {
    const NodePlan plan(model);
    const double highest =
        larger(larger(plan.zero_weight, largest), larger(binade(reach), kF32Minimum));
    const double unit = highest * plan.unit, result_ulp = ulp_of(reach, plan.ulp_unit);
    if (bound.lattice < unit) {
      // Every product is cut once toward zero: positive and negative ones move the sum in opposite
      // directions. The accumulator is cut in every node.
      double cut_plus = 0, cut_minus = 0;
      for (std::size_t p = 0; p < products.value.size(); ++p) {
        const double cut =
            smaller(larger(unit - products.lowest[p], 0), magnitude(products.value[p]));
        (products.value[p] > 0 ? cut_plus : cut_minus) += cut;
      }
      bound.error += larger(cut_plus, cut_minus) * (1 + k * 0x1p-52) + counts.nodes * unit;
    }
    if (bound.lattice < result_ulp) bound.error += counts.nodes * result_ulp;
  }
  bound.error *= kRoundUpAll;
  if (bound.error > 0) {
    bound.sum_error = (plus + minus) * (k * 0x1p-52);
    bound.lattice = smaller(bound.lattice, 0x1p-149);  // every f32 is a multiple of it
  }
  if (reach >= kMayOverflow) {
    for (const auto possible :
         {ResultClass::plus_infinity, ResultClass::minus_infinity, ResultClass::nan})
      bound.classes.add(possible);
  }
  return bound;
}

}  // namespace plumbline::bound
