// SPDX-License-Identifier: MIT
// The survey of an attention head: every output of the stage-faithful reference in FP64, with a
// proved bound on the error of each. Rows are independent; a block of them is two matrix products
// and one pass of exponentials. Nothing of size queries x keys is ever held.
//
// The probabilities in the middle are rounded exactly as the definition rounds them: where FP64
// cannot tell which way, MPFR does.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "oracles/bounds/contract/attention.h"
#include "oracles/reference/attention/attention.h"
#include "oracles/reference/attention/probability_rounding.h"

namespace plumbline {

// Far enough below f32's largest number for any rounding on the way.
inline constexpr double kFarFromOverflow = 0x1p126;

// What a row's outputs are, before any number is looked at.
enum class AttentionRowKind : std::uint8_t {
  regular,
  masked,        // no key is visible: O = 0, LSE as declared
  nan,           // a visible logit is NaN or +Inf: so is everything
  may_overflow,  // f32 may overflow on the way: anything may come out
};

// One head as the survey reads it, prepared once.
class AttentionOperands {
 public:
  AttentionOperands(AttentionHead head, const AttentionContract& contract);

  const AttentionHead& head() const { return head_; }

  const AttentionContract& contract() const { return contract_; }

  const ProbabilityRounding& rounding() const { return rounding_; }

  // Finite elements; NaN and Inf count as 0.
  const std::vector<double>& q() const { return q_; }

  const std::vector<double>& k() const { return k_; }

  // [dv][keys], times the scales of V where these are of blocks.
  const std::vector<double>& v_columns() const { return v_columns_; }

  // Of |v|, in units of O.
  double v_largest(std::int64_t column) const {
    return v_largest_[static_cast<std::size_t>(column)];
  }

  bool special_pair(std::int64_t i, std::int64_t j) const {
    return q_special_[static_cast<std::size_t>(i)] != 0 ||
           k_special_[static_cast<std::size_t>(j)] != 0;
  }

  bool any_special_pair() const { return any_special_pair_; }

  // Keys whose row of V holds NaN or Inf.
  const std::vector<std::int64_t>& special_values() const { return v_special_; }

  // The logit, in the units the kernel keeps, for a score q . k. NaN and Inf by IEEE's rules.
  double logit(double score, std::int64_t i, std::int64_t j) const;

  double sink() const { return static_cast<double>(head_.sink); }

  // What is common to all of V.
  double v_scale() const { return static_cast<double>(head_.v_scale); }

  // Base-2 exponents are differences of logits times this.
  double to_base_2() const { return to_base_2_; }

  // Natural units per unit of a logit.
  double to_natural() const { return to_natural_; }

  // |score in FP64 - exact score| is at most this; 0 where FP64 is exact.
  double score_error(std::int64_t i, KeyRange keys) const;
  // The same for logits of query i whose magnitudes are at most `largest`.
  double logit_error(std::int64_t i, double score_error, double largest) const;

  // Of |scale q . k| of query i.
  double largest_product(std::int64_t i) const;

  // Keys of each part.
  std::int64_t part_keys() const { return contract_.part_keys(head_.keys); }

  bool may_overflow(std::int64_t i, KeyRange keys) const;

  // Whether tiles whose logits are all far below the row's leave nothing, also where they come
  // first.
  bool far_tiles_vanish() const;

 private:
  AttentionHead head_;
  AttentionContract contract_;
  ProbabilityRounding rounding_;
  std::vector<double> q_, k_, v_columns_, v_largest_;
  std::vector<double> q_norm_, q_lowest_;
  std::vector<std::uint8_t> q_special_, k_special_;
  std::vector<std::int64_t> v_special_;
  bool any_special_pair_ = false;
  double k_norm_largest_ = 0, k_lowest_smallest_ = std::numeric_limits<double>::infinity();
  double largest_bias_ = 0, largest_scale_ = 0, largest_value_ = 0;
  double to_base_2_ = 0, to_natural_ = 0;
};

// One step of the online softmax of a row: keys [first, end), all of them visible to it.
struct SurveyedTile {
  std::int64_t first = 0, end = 0;
  double maximum = 0;  // what its probabilities refer to: of its part's logits so far, or older
  double weight = 0;   // 2^((maximum - final maximum) c)
  KeyRange holders;    // one of these keys holds the maximum
};

struct SurveyedRow {
  std::int64_t query = 0;
  AttentionRowKind kind = AttentionRowKind::regular;
  KeyRange keys;                    // visible ones
  std::vector<SurveyedTile> tiles;  // those with a logit above -Inf, in the contract's order
  double maximum = 0;               // what all refer to in the end: of all logits and the sink,
                                    // or an older one under a rescale threshold
  double sum = 0, sum_error = 0;    // l, relative to the maximum; sum_error is relative
  double lse = 0, lse_error = 0;    // in the problem's unit
  double share = 1;                 // of l that the keys have; the rest is the sink's
  double error = 0;                 // |o - exact o| is at most this times the sum of |terms| / l
  // Of a row that may overflow: the keys that have all its weight, in equal parts. Their bias is
  // `maximum`, and so large that f32 logits show nothing beside it.
  std::vector<std::int64_t> chosen;
};

// A row with its logits and probabilities, by key from keys.first on.
struct DetailedRow {
  SurveyedRow row;
  std::vector<double> scores, logits, probabilities, rounded;
  std::vector<double> o;  // [dv]
};

// `flipped`: steps of the softmax, by number, at which the maximum is kept in place of a new one,
// or the other way around, because f32 may decide so. The sink is the last step.
DetailedRow survey_row(const AttentionOperands& operands, std::int64_t query,
                       std::span<const std::size_t> flipped = {});

// Rows [first, end): calls done(row, o) for each of them, in order.
class RowSurveyor {
 public:
  explicit RowSurveyor(const AttentionOperands& operands) : operands_(operands) {}

  // As many rows as are worth taking at once.
  std::int64_t block_rows() const;

  template <typename Done>
  void run(std::int64_t first, std::int64_t end, const Done& done) {
    survey(first, end);
    for (std::int64_t i = first; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i - first);
      done(rows_[at], o_.data() + at * static_cast<std::size_t>(operands_.head().dv));
    }
  }

 private:
  void survey(std::int64_t first, std::int64_t end);

  const AttentionOperands& operands_;
  std::vector<double> scores_, o_;
  std::vector<SurveyedRow> rows_;
};

// The error of o in a column of this row, if no more is known of the terms.
inline double output_error(const SurveyedRow& row, const AttentionOperands& operands,
                           std::int64_t column) {
  // exp2_of() takes what is below 2^-1000 for 0.
  const double largest = operands.v_largest(column);
  return (row.error * row.share + 0x1p-980) * largest + (largest > 0 ? 0x1p-1074 : 0);
}

}  // namespace plumbline
