// SPDX-License-Identifier: MIT
// RowTrace: one row's logits, maxima, probabilities and sum on their way through the contract, with
// what each step may be off. docs/bounds/attention.md has the formulas; the code follows their
// order: attention/trace_logits.cpp, attention/trace.cpp (maxima, factors, P),
// attention/trace_sum.cpp (l and the outputs).
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/bounds/attention_values.h"
#include "oracles/reference/attention/survey.h"

namespace plumbline {

// ex2 gives 0 for results below the smallest normal number.
inline constexpr double kEx2Flushed = 0x1p-126;

class RowTrace {
 public:
  RowTrace(const AttentionOperands& operands, const DetailedRow& detail);

  // |computed - exact score| of key j; for all visible keys before run().
  void set_score_error(std::int64_t j, double error) { errors_[at(j)] = logit_error(j, error); }

  void run();

  // For P . V.
  const ProbabilityRow& probabilities() const { return probabilities_; }

  const std::vector<ValueTile>& tiles() const { return tiles_; }

  // Steps at which f32 may keep the maximum before or take the new one, unlike this row.
  const std::vector<std::size_t>& undecided() const { return undecided_; }

  // The logits are taken as not known, and with them all that depends on undecided steps.
  void give_up() { hopeless_ = true; }

  // The errors of O and LSE before their last rounding. `largest`: of |v| in the column.
  double output_error(const ValueBound& value, double o, double largest) const;
  double lse_error() const;

 private:
  struct Step {  // of the online softmax: a tile, or the sink (no keys)
    std::int64_t first = 0, end = 0;
    KeyRange holders;          // of the maximum, if it is no sink
    double maximum = 0;        // exact: what the step refers to
    double error = 0;          // |computed - exact maximum|
    double low = 0, high = 0;  // the least and the largest the computed maximum may be
    bool moves = false;        // it may be another than before
    double base_rounding = 0;  // |fl(maximum c) - maximum c|
    bool known = false;        // it is the exact one
    bool begins = false;       // this is the first step of its part
    bool ends = false;         // and this the last
  };

  // The argument of ex2: the computed one is within `error` of (logit - maximum) c.
  struct Exponent {
    double error = 0;
    bool zero = false;  // the computed one is exactly 0
  };

  // What happens to a term of l after it was computed.
  struct Journey {
    const Step& step;
    double weight = 1;     // from the step's maximum to the last
    double roundings = 0;  // of factors and additions, relative
    bool lost = false;     // a factor may have been flushed
  };

  // Relative errors of l: with l relative to the computed last maximum, and to the exact one.
  struct SumError {
    double framed = 0, exact = 0;
  };

  std::size_t at(std::int64_t j) const { return static_cast<std::size_t>(j - row_.keys.first); }

  double logit_error(std::int64_t j, double score_error) const;
  bool knows(double logit, double error) const;

  // Whether z * c may be rounded before the maximum is taken from it.
  bool rounds_products() const {
    return contract_.logit_base == LogitBase::two ||
           contract_.logit_base == LogitBase::natural_either;
  }

  bool takes_differences() const { return contract_.logit_base == LogitBase::natural_difference; }

  bool has_sink() const;
  // Whether l takes the sink after all steps, and not with one of them.
  bool adds_sink_at_end() const;

  void find_steps();
  void add_step(Step step, bool begins, double low, double high);
  bool may_decide_otherwise(const Step& before, const Step& step, double low, double high) const;
  void finish_step(Step& step) const;
  void find_last();
  void add_tile(std::size_t t);
  // What rounding takes from the exponent of the factor between two maxima, `change` apart in base
  // 2, beside that of c.
  double factor_rounding(const Step& before, const Step& step, double change) const;
  // Between the maxima of two steps; `worst`: error of the maxima of all that is multiplied.
  ValueFactor factor(const Step& before, const Step& step, double worst) const;
  ValueFactor join_factor(std::size_t t) const;
  std::size_t first_of_part(std::size_t t) const;
  // `apart`: the error of logit - maximum; `error`: of the logit.
  Exponent exponent(const Step& step, double logit, double error, double apart) const;
  void set_probability(const Step& step, std::int64_t j);
  double largest_other(const Step& step, std::int64_t j) const;

  void find_sum_error();
  SumError term_error(const Journey& journey, std::int64_t key, double p, double logit,
                      double error) const;
  SumError sink_error(const Journey& journey) const;
  double known_sum();
  double factor_error() const;
  double overshoot() const;
  double distant_log_error() const;
  // Of LSE in its units, from the error of ln l; that may have the maximum's error in it.
  double base_2_error(double log_error) const;
  double from_base_2_error(double log_error) const;
  double natural_lse_error(double log_error) const;

  const AttentionOperands& operands_;
  const AttentionHead& head_;
  const AttentionContract& contract_;
  const DetailedRow& detail_;
  const SurveyedRow& row_;
  double c_;                    // base 2 per unit of a logit
  bool cap_in_c_;               // the kernel's logits are those here over the softcap
  float c_float_;               // the kernel's c
  double c_error_;              // relative, of c_float_
  std::vector<double> errors_;  // of logits
  std::vector<Step> steps_;
  Step last_;  // the maximum that the outputs are relative to
  std::vector<ValueTile> tiles_;
  ProbabilityRow probabilities_;
  double worst_maximum_ = 0;  // error of any step's maximum
  double lift_ = 0;           // overshoot()
  double rise_ = 0;           // the same, and the rescale threshold: of p above 1
  std::vector<std::size_t> undecided_;
  bool hopeless_ = false;  // the logits are not known to within many binades
  bool any_flushed_ = false, power_of_two_ = false;
  SumError sum_error_;
  double last_skew_ = 0;  // of tiles that were rescaled, relative to the last step
};

}  // namespace plumbline
