// SPDX-License-Identifier: MIT
// What a wrong gradient means for training, beyond its largest error. With g exact, h as computed
// and d = h - g:
//
//   relative     ||d|| / ||g||
//   cosine gap   1 - <h, g> / (||h|| ||g||), without cancellation
//   parallel     <d, g> / ||g||^2: a gradient systematically too short or too long
//   orthogonal   ||d - parallel g|| / ||g||
//   of spread    over draws: the mean of ||d||^2 over the trace of g's covariance: small beside 1
//                where errors drown in what batches differ by (those without a bias, that is)
//   bias         over draws: U / V, U the mean of <d_r, d_s> over r != s (its expectation is the
//                square of the mean error, without bias of its own), V the mean of ||d_r||^2. About
//                0 where errors are random, 1 where they are the same in every draw
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/formats/format.h"

namespace plumbline {

struct GradientDifference {
  double relative = 0, cosine_gap = 0, parallel = 0, orthogonal = 0;
  double descent = 0;     // <h, g> / ||g||^2: what an SGD step along h gains, to first order
  double lost = 0;        // part of the elements with g != 0 that have h = 0
  double not_finite = 0;  // part of the elements that are NaN or infinite in h but not in g; the
                          // other measures leave them out
};

GradientDifference compare_gradients(const std::vector<double>& exact,
                                     const std::vector<double>& got);

// The relative difference of every row (of `width` elements), or of every column of every block of
// `height` rows; ascending. Those of an exact 0 are left out, and elements that are not finite.
std::vector<double> row_differences(const std::vector<double>& exact,
                                    const std::vector<double>& got, std::int64_t width);
std::vector<double> column_differences(const std::vector<double>& exact,
                                       const std::vector<double>& got, std::int64_t height,
                                       std::int64_t width);

// The value at or above which `share` of an ascending list lies not.
double quantile(const std::vector<double>& ascending, double share);

// U / V over draws added one after the other; needs memory for one draw only.
class BiasStatistic {
 public:
  void add(const std::vector<double>& difference);

  double value() const;  // at least two draws
  // The standard deviation of value() if the draws' errors are independent of each other with mean
  // 0: sqrt(2 / (R (R - 1) D)), D the effective number of elements they spread over.
  double noise() const;

 private:
  std::int64_t draws_ = 0;
  std::vector<double> sum_, squares_;  // by element
  double norms_ = 0;                   // sum of ||d_r||^2
};

// The error beside the spread of the exact gradients, draws added one after the other.
class DrawSpread {
 public:
  void add(const std::vector<double>& exact, const std::vector<double>& got);

  double value() const;  // infinite where exact gradients do not differ and computed ones are off

 private:
  std::int64_t draws_ = 0;
  std::vector<double> sum_;             // of exact gradients, by element
  double norms_ = 0, differences_ = 0;  // sums of ||g_r||^2, ||d_r||^2
};

// Adam's update directions from the same start with exact and computed gradients, step by step.
// Elements computed as NaN or infinite are taken for exact: they are counted elsewhere.
class AdamComparison {
 public:
  void step(const std::vector<double>& exact, const std::vector<double>& got);

  double difference() const;  // of the last updates, relative
  double flips() const;       // part of the last exact update's magnitude whose sign is another

  // The learning rate, over the weights' root mean square, below which half of the last exact
  // updates are less than half an ulp of their weight: weights kept in `format` stay as they are. 0
  // where there are no updates.
  double stagnation_rate(const std::vector<double>& weights, const Format& format) const;

 private:
  struct State {
    std::vector<double> mean, square, update;
    void step(const std::vector<double>& gradient, std::int64_t time);
  };

  std::int64_t time_ = 0;
  State exact_, got_;
};

}  // namespace plumbline
