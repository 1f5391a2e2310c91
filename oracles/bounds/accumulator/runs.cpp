// SPDX-License-Identifier: MIT
#include "oracles/bounds/accumulator/runs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "oracles/base/numbers.h"
#include "oracles/bounds/accumulator/add_node.h"
#include "oracles/bounds/accumulator/node_plan.h"
#include "oracles/exact/bound_arithmetic.h"

namespace plumbline::bound {
namespace {

// t without its bits below the unit 2^u: what alignment keeps of a product.
double cut(double t, double unit) {
  const auto bits = std::bit_cast<std::uint64_t>(t);
  const std::int64_t kept = static_cast<std::int64_t>(bits >> 52 & 0x7ff) -
                            static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(unit) >> 52);
  if (kept < 0) return 0;
  if (kept >= 52) return t;
  return std::bit_cast<double>(bits & ~((std::uint64_t{1} << (52 - kept)) - 1));
}

// The binade of x in steps above that of `from`, both positive.
int binades_above(double x, double from) {
  return static_cast<int>(static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(x) >> 52) -
                          static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(from) >> 52));
}

// A range of what a step's products may lose together: a signed error.
struct Loss {
  double least = 0, most = 0;
};

// What the unit adds to an accumulator at a time: the products of a node, of a Hopper FP8
// instruction, or of one fma.
struct Step {
  double sum = 0;
  double largest = 0;         // the least weight of the highest bit of an aligned term
  double lowest = kInfinity;  // divides all of its products; infinity: they are 0
  double drift = 0;           // what the products' sum is off before it meets the accumulator
};

// The steps of one dot product, and what alignment makes of their products.
class Steps {
 public:
  Steps(const BoundModel& model, const PreparedProducts& products)
      : model_(model), products_(products), plan_(model) {
    const std::int64_t k = std::ssize(products.value);
    for (std::int64_t base = 0; base < k; base += length()) steps_.push_back(step(base, k));
    cuts_.resize(steps_.size());
  }

  std::int64_t length() const { return model_.fma ? 1 : plan_.instruction_length; }

  std::int64_t count() const { return std::ssize(steps_); }

  const NodePlan& plan() const { return plan_; }

  const Step& operator[](std::int64_t at) const { return steps_[static_cast<std::size_t>(at)]; }

  // Of the products of a step, when the alignment unit is that of its own largest product or up to
  // so many binades more.
  Loss loss(std::int64_t at, int binades) {
    std::vector<Loss>& known = cuts_[static_cast<std::size_t>(at)];
    // A unit above all products takes all of them; a larger one does the same.
    binades = std::min(binades, model_.node.fraction_bits + 2);
    while (std::ssize(known) <= binades) {
      const Loss one = loss_at((*this)[at], at * length(), static_cast<int>(std::ssize(known)));
      known.push_back(known.empty() ? one
                                    : Loss{smaller(known.back().least, one.least),
                                           larger(known.back().most, one.most)});
    }
    return known[static_cast<std::size_t>(binades)];
  }

 private:
  struct Terms {
    const PreparedProducts& all;

    Term operator[](std::int64_t p) const {
      const auto at = static_cast<std::size_t>(p);
      return {all.value[at], all.exponent[at], all.lowest[at]};
    }
  };

  Step step(std::int64_t base, std::int64_t k) const {
    Step step;
    const std::int64_t end = std::min(k, base + length());
    for (std::int64_t p = base; p < end; ++p) {
      const auto at = static_cast<std::size_t>(p);
      step.sum += products_.value[at];
      step.largest = larger(step.largest, products_.exponent[at]);
      step.lowest = smaller(step.lowest, products_.lowest[at]);
    }
    if (model_.fma || step.lowest == kInfinity) return step;
    step.largest = larger(step.largest, plan_.zero_weight);
    if (model_.chaining == Chaining::in_order) return step;
    AccumulatorBound fresh;
    for (const auto& offsets : plan_.nodes)
      add_node(fresh, plan_, Terms{products_}, base, offsets, end);
    step.sum = fresh.sum;
    step.drift = (fresh.drift + fresh.sum_error) * kRoundUp;
    step.lowest = smaller(step.lowest, fresh.lattice);
    return step;
  }

  Loss loss_at(const Step& step, std::int64_t base, int binades) const {
    const double unit = std::ldexp(step.largest, binades - model_.node.fraction_bits);
    if (step.lowest >= unit) return {};
    const std::int64_t end = std::min<std::int64_t>(base + length(), std::ssize(products_.value));
    double signed_loss = 0;
    for (std::int64_t p = base; p < end; ++p) {
      const double t = products_.value[static_cast<std::size_t>(p)];
      signed_loss += cut(t, unit) - t;
    }
    const double rounding = unit * 0x1p-40;  // at most 32 losses below a unit, added up in double
    return {signed_loss - rounding, signed_loss + rounding};
  }

  const BoundModel& model_;
  const PreparedProducts& products_;
  const NodePlan plan_;
  std::vector<Step> steps_;
  std::vector<std::vector<Loss>> cuts_;
};

// The accumulators of a run that may have begun with any step: prefix sums of what came before, and
// the errors of the worst of them.
struct OpenRun {
  double sum = 0, least = 0, most = 0;  // the prefix sum, and all prefix sums before it
  double above = 0, below = 0;          // error of the run's accumulator: from -below to above

  double reach(double slack) const {
    return (larger(sum - least, most - sum) + larger(above, below) + slack) * kRoundUp;
  }

  void add_error(double down, double up) {
    above = larger(0, (above + up) * kRoundUp);
    below = larger(0, (below + down) * kRoundUp);
  }
};

// How k is dealt to groups: blocks of `grain` in turn to each of `ways`.
struct Dealing {
  std::int64_t grain = 1, ways = 1;
};

// What kernels do: one accumulator per thread, or two, four or eight warps (of fma kernels up to 32
// lanes) that share each block of k.
std::vector<Dealing> dealings(const BoundModel& model, std::int64_t step, std::int64_t steps) {
  std::vector<Dealing> all = {{step, 1}};
  const auto add = [&](std::int64_t grain, std::int64_t most_ways) {
    if (grain % step != 0) return;
    for (std::int64_t ways = 2; ways <= most_ways && grain / step < steps; ways *= 2)
      all.push_back({grain, ways});
  };
  if (model.fma) {
    for (const std::int64_t grain : {1, 2, 4, 8}) add(grain, 32);
  } else {
    const std::int64_t group = model.node.group;
    for (const std::int64_t grain : {8, 16, 32, 64})
      if (grain % group == 0) add(grain / group, 8);
  }
  return all;
}

class RunsBound {
 public:
  RunsBound(const BoundModel& model, const PreparedProducts& products, double plus, double minus,
            double lattice)
      : model_(model),
        steps_(model, products),
        magnitude_(larger(plus, minus)),
        lattice_(lattice),
        slack_((plus + minus) * (static_cast<double>(products.value.size()) * 0x1p-51)) {}

  double reach() const { return reach_; }

  // Of all outputs whose k was dealt so.
  double error(const Dealing& dealing) {
    std::vector<OpenRun> runs(static_cast<std::size_t>(dealing.ways));
    above_ = below_ = gross_ = largest_ = 0;
    const std::int64_t in_block = dealing.grain / steps_.length();
    for (std::int64_t at = 0; at < steps_.count(); ++at) {
      OpenRun& run = runs[static_cast<std::size_t>(at / in_block % dealing.ways)];
      if (steps_[at].lowest < kInfinity) take(run, at);
    }
    const double rounded = gross_ * (static_cast<double>(steps_.count()) * 0x1p-50);
    return joined((larger(above_, below_) + rounded) * kRoundUpAll, dealing);
  }

 private:
  // The step at `at`, on the accumulator of a run that began anywhere before it; or on an empty
  // one, when that run was added to the f32 sum before.
  void take(OpenRun& run, std::int64_t at) {
    const Step& step = steps_[at];
    const double before = run.reach(slack_);
    const Loss products = aligned(step, at, before);
    run.sum += step.sum;
    run.least = smaller(run.least, run.sum);
    run.most = larger(run.most, run.sum);
    run.add_error(step.drift - products.least, step.drift + products.most);
    const double on = accumulator_cut(step, before) + conversion(step, run.reach(slack_));
    const double alone = (magnitude(step.sum) + slack_ + step.drift) * kRoundUp +
                         larger(-products.least, products.most);
    const double anew = joining(before) + conversion(step, alone);
    const double rounded = larger(on, anew);
    run.add_error(rounded, rounded);
    above_ += step.drift + products.most + rounded;
    below_ += step.drift - products.least + rounded;
    gross_ += step.drift + larger(-products.least, products.most) + rounded;
    largest_ = larger(largest_, run.reach(slack_));
  }

  double highest(const Step& step, double before) const {
    return larger(step.largest, before > 0 ? larger(binade(before), kF32Minimum) : 0);
  }

  // What alignment takes of the products.
  Loss aligned(const Step& step, std::int64_t at, double before) {
    if (model_.fma || model_.chaining == Chaining::hopper_fp8) return {};
    return steps_.loss(at, binades_above(highest(step, before), step.largest));
  }

  // And of the accumulator. One above all products has no bits below the unit, which has as many.
  double accumulator_cut(const Step& step, double before) const {
    if (model_.fma || model_.chaining == Chaining::hopper_fp8 || before == 0) return 0;
    const NodePlan& plan = steps_.plan();
    const double unit =
        (plan.unit <= plan.ulp_unit ? step.largest : highest(step, before)) * plan.unit;
    return lattice_ < unit ? unit - lattice_ : 0;
  }

  // What converting the result loses: toward zero, or to nearest for an addition in f32.
  double conversion(const Step& step, double after) const {
    if (model_.fma || model_.chaining == Chaining::hopper_fp8) {
      const bool flushes = model_.fma && model_.flushes && lattice_ < kF32Minimum;
      return to_nearest(after) + (flushes ? 2 * kF32Minimum : 0);
    }
    const NodePlan& plan = steps_.plan();
    const double ulp = ulp_of(after, plan.ulp_unit);
    const double kept = larger(step.largest * plan.unit, lattice_);
    return kept < ulp ? ulp - kept : 0;
  }

  double to_nearest(double sum) const {
    const double ulp = ulp_of(sum, kF32Ulp);
    return lattice_ < ulp ? ulp / 2 : 0;
  }

  // What adding two sums in f32 loses, where the result is no larger than `sum`.
  double joining(double sum) const {
    if (sum == 0) return 0;
    return to_nearest(sum) + (model_.flushes && lattice_ < kF32Minimum ? 3 * kF32Minimum : 0);
  }

  // The groups' sums, in any order and tree: of m of them together, no sum is beyond m times the
  // largest, nor beyond all products of one sign.
  double joined(double error, const Dealing& dealing) const {
    const std::int64_t groups =
        std::min(steps_.count(), std::max<std::int64_t>(model_.parts, dealing.ways));
    error += static_cast<double>(groups) * joining(largest_);  // of each group's last run
    for (std::int64_t m = 2; m <= groups; ++m) {
      error += joining((smaller(static_cast<double>(m) * largest_, magnitude_) + error + slack_) *
                       kRoundUp);
    }
    reach_ = larger(reach_, smaller(static_cast<double>(groups) * largest_, magnitude_) + error);
    return error * kRoundUpAll;
  }

  const BoundModel& model_;
  Steps steps_;
  const double magnitude_;  // of all products of one sign
  const double lattice_;    // divides all products
  const double slack_;      // of a prefix sum in double
  double above_ = 0, below_ = 0, gross_ = 0, largest_ = 0;
  mutable double reach_ = 0;
};

}  // namespace

RunningBound runs_bound(const BoundModel& model, const PreparedProducts& products) {
  const auto k = static_cast<double>(products.value.size());
  RunningBound bound;
  double plus = 0, minus = 0;
  for (std::size_t p = 0; p < products.value.size(); ++p) {
    bound.sum += products.value[p];
    plus += larger(products.value[p], 0);
    minus += larger(-products.value[p], 0);
    bound.lattice = smaller(bound.lattice, products.lowest[p]);
  }
  if (bound.lattice == kInfinity) return bound;
  plus *= kRoundUpAll;
  minus *= kRoundUpAll;

  RunsBound family(model, products, plus, minus, bound.lattice);
  const std::int64_t step = model.fma ? 1 : NodePlan(model).instruction_length;
  const std::int64_t steps = (std::ssize(products.value) + step - 1) / step;
  for (const Dealing& dealing : dealings(model, step, steps))
    bound.error = larger(bound.error, family.error(dealing));
  if (model.flushes) bound.error = (bound.error + products.lost) * kRoundUp;
  if (bound.error > 0) {
    bound.sum_error = (plus + minus) * (k * 0x1p-52);
    bound.lattice = smaller(bound.lattice, 0x1p-149);  // every f32 is a multiple of it
  }
  if (family.reach() >= kMayOverflow) {
    for (const auto possible :
         {ResultClass::plus_infinity, ResultClass::minus_infinity, ResultClass::nan})
      bound.classes.add(possible);
  }
  return bound;
}

}  // namespace plumbline::bound
