// SPDX-License-Identifier: MIT
// One gradient under judgement: a sum known to an enclosure, the bound E of a kernel's accumulator,
// then one multiplication by the factor of its sums and one rounding to the output, by the interval
// rule.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "oracles/bounds/admissible.h"
#include "oracles/reference/attention_backward/operands.h"
#include "oracles/reference/attention_backward/special.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

struct GradientKnowledge {
  SumEnclosure sum;
  double error = 0;  // E
  ClassSet classes = ResultClass::finite;
  bool bounded = false;  // E is the running bound, not a weaker one
  Due due = Due::regular;

  // Whether every output is admissible: where f32 may overflow on the way.
  bool admits_anything() const {
    return due < Due::anything ? std::isinf(error) : due == Due::anything;
  }
};

struct GradientDecision {
  bool decided = true;
  ElementRule::Judgement judgement;
  GridRange range;
};

class GradientRule {
 public:
  GradientRule(float factor, FormatId stored, const BoundModel& model);

  bool surely_admissible(const SumEnclosure& sum, std::uint64_t got) const {
    return rule_.surely_admissible(sum, got);
  }

  // Not even within the bound that is given; cheap.
  bool surely_wrong(const SumEnclosure& sum, double error, std::uint64_t got) const;

  GradientDecision decide(const GradientKnowledge& known, std::uint64_t got) const;
  // With the exact sum: always decided.
  GradientDecision decide(const GradientKnowledge& known, const Dyadic& exact,
                          std::uint64_t got) const;

  // The gradient a sum stands for.
  double value(const SumEnclosure& sum) const;

  // (got - exact) in ulp of the output; NaN where it has no meaning.
  double error_ulp(const SumEnclosure& sum, std::uint64_t got) const;

  ElementVerdict describe(std::int64_t index, const GradientKnowledge& known,
                          const GradientDecision& decision, std::uint64_t got) const;

  bool is_nonzero(std::uint64_t code) const { return epilogue_.order_of(code) != 0; }

  bool is_nan(std::uint64_t code) const { return epilogue_.is_nan(code); }

  const Format& stored() const { return epilogue_.output(); }

 private:
  GradientDecision by_class(Due due, std::uint64_t got) const;
  double share(const GradientKnowledge& known, const GradientDecision& decision,
               std::uint64_t got) const;

  Epilogue epilogue_;
  AccumulatorGrid grid_;
  ElementRule rule_;
};

}  // namespace plumbline
