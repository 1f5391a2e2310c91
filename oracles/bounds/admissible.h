// SPDX-License-Identifier: MIT
// The interval rule: a stored output is admissible when it is g(z) for a value z the accumulator
// can hold with |z - y| <= E. y is the exact sum of products, E the running bound, g the epilogue
// bit for bit; nothing is compared with a tolerance. Since g is monotone, the admissible outputs
// lie between g of the two ends, and membership is a bisection over the accumulator's numbers (an
// output grid finer than the accumulator's has codes between the ends that no z gives). Factors of
// 0, Inf or NaN in the epilogue make NaN of some values: then the rule holds for each range of
// numbers between them. Where a smooth activation, or numbers that may count as 0, leave g
// uncertain, its range over the two ends stands for g of all between: every output in it is
// admissible.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/bounds/accumulator/grid.h"
#include "oracles/bounds/contract/epilogue.h"
#include "oracles/bounds/contract/value_class_set.h"

namespace plumbline {

class Dyadic;

// An exact sum known to lie in [hi + lo - bound, hi + lo + bound]; bound 0: it is hi + lo.
struct SumEnclosure {
  double hi = 0, lo = 0, bound = 0;
};

// The nearest double, the remainder's nearest double, and what is left.
SumEnclosure enclosure_of(const Dyadic& exact);

// Grid indices of the accumulator values within E of y. Empty when first > last.
struct GridRange {
  std::int64_t first = 0, last = -1;

  bool operator==(const GridRange&) const = default;
};

// `outer` holds every value within E of some sum in the enclosure, `inner` those within E of all of
// them. They are equal when bound == 0. E itself may be taken larger by a factor 1 + 2^-50, never
// smaller.
struct AccumulatorRange {
  GridRange outer, inner;
};

AccumulatorRange accumulator_range(const AccumulatorGrid& grid, const SumEnclosure& sum,
                                   double error);
AccumulatorRange accumulator_range(const AccumulatorGrid& grid, const Dyadic& sum, double error);

// The rule for one element.
class ElementRule {
 public:
  ElementRule(const Epilogue& epilogue, const AccumulatorGrid& grid,
              const EpilogueOperands& operands)
      : epilogue_(epilogue),
        grid_(grid),
        operands_(operands),
        regular_(epilogue.regular(operands)),
        falling_(epilogue.falling(operands)) {}

  // True when `got` is admissible for every E. For sums that cannot overflow on the way.
  bool surely_admissible(const SumEnclosure& sum, std::uint64_t got) const;

  // Between the outputs of the ends of a range: necessary for being inside, and cheap. Finite
  // numbers only.
  bool lies_between(const GridRange& range, std::uint64_t got) const;

  struct Judgement {
    bool inside = false;
    bool class_mismatch = false;      // not inside, and no admissible output is of got's class
    std::uint64_t low = 0, high = 0;  // the smallest and the largest admissible output
  };

  Judgement judge(const GridRange& range, ClassSet classes, std::uint64_t got) const;

  // Of an accumulator that is known.
  Judgement judge_value(float accumulator, std::uint64_t got) const;

  // Output of the accumulator value nearest to the sum, which is admissible if any finite value is.
  std::uint64_t expected(const SumEnclosure& sum) const;

  // e_min: the smallest |z - y| with g(z) = got; infinity when no z gives got. `within` limits the
  // search: pass the range in which got was found inside, or the whole grid. Where g is uncertain,
  // the smallest e whose range over [y - e, y + e] has got, to a thousandth.
  double smallest_error(const SumEnclosure& sum, const GridRange& within, std::uint64_t got) const;

  GridRange whole_grid() const { return {grid_.lowest(), grid_.highest()}; }

  // Equal as results: the same code, two NaN, or two zeros.
  bool same_result(std::uint64_t x, std::uint64_t y) const;

 private:
  float value(std::int64_t index) const { return epilogue_.value(grid_.value(index), operands_); }

  // Parts of a range, in order, over which g is monotone or NaN throughout.
  struct Piece {
    GridRange range;
    bool nan;
  };

  std::vector<Piece> pieces(const GridRange& range) const;

  F32Range numbers(const GridRange& range) const;

  // Whether g is known to a bound only over numbers of the accumulator, and what it may be there.
  bool uncertain(const GridRange& range) const {
    return !epilogue_.certain() && epilogue_.uncertain(numbers(range), operands_);
  }

  F32Range image(const GridRange& range) const;
  // Whether got is the output of a value in a range.
  bool has(const F32Range& values, std::uint64_t got) const;
  double smallest_uncertain_error(const SumEnclosure& sum, const GridRange& within,
                                  std::uint64_t got) const;

  // Of a range without NaN, whose output orders rise, or fall where falling_. The first index whose
  // order passes, where all behind one that does pass too; one past the range where none does.
  template <typename Passed>
  std::int64_t first_where(GridRange range, const Passed& passed) const;
  std::int64_t first_with_order(GridRange range, std::int64_t order) const;  // or beyond it
  bool reaches(GridRange range, std::int64_t order) const;
  // Indices with output order exactly `order`; empty if none.
  GridRange with_order(GridRange range, std::int64_t order) const;

  const Epilogue& epilogue_;
  const AccumulatorGrid& grid_;
  EpilogueOperands operands_;
  bool regular_, falling_;
};

}  // namespace plumbline
