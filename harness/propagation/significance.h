// SPDX-License-Identifier: MIT
// What many runs with random rounding say about an output: how many of its bits are significant,
// and whether their mean is right. Element by element and without keeping the runs.
//
// Significant bits and their confidence: Sohier, de Oliveira Castro, Févotte, Lathuilière, Petit
// and Jamond, *Confidence intervals for stochastic arithmetic*, ACM TOMS 47(2), 2021.
#pragma once

#include <cstdint>
#include <vector>

#include "oracles/formats/tensor.h"
#include "reports/record/propagation.h"

namespace plumbline {

// How many bits fewer than -log2(deviation / |mean|) are certain after `draws` normally distributed
// draws: they are right in `probability` of all runs, at this confidence.
double bits_uncertainty(std::int64_t draws, double probability, double confidence);

// In what part of all runs something holds that held in every one of `draws`, at this confidence.
double shared_probability(std::int64_t draws, double confidence);

// One output over the draws.
class DrawTally {
 public:
  void add(const Tensor& output);

  std::int64_t draws() const { return draws_; }

  // Of an element that was finite in every draw; the deviation is that of a sample.
  struct Spread {
    double mean = 0, deviation = 0;
    double farthest = 0;  // of any draw from the mean
  };

  bool finite(std::size_t element) const { return !not_finite_[element]; }

  Spread spread(std::size_t element) const;

  std::size_t elements() const { return first_.size(); }

 private:
  std::int64_t draws_ = 0;
  // Draws less the first one: sums of them and of their squares, the largest and the smallest.
  std::vector<double> first_, sum_, squares_, low_, high_;
  std::vector<bool> not_finite_;
};

// The mean against the exact values, in deviations (StochasticRecord::bias, toward_zero).
struct MeanBias {
  double bias = 0, toward_zero = 0;
};

MeanBias mean_bias(const DrawTally& tally, const std::vector<double>& exact);

// How far the contract lets one element be from the exact value.
struct ElementBound {
  std::size_t element = 0;
  double bound = 0;
};

// Every number of the record; names and findings are left to the caller.
StochasticRecord significance(const DrawTally& tally, const std::vector<double>& exact,
                              const std::vector<ElementBound>& bounds);

// Whether `bias` deserves a sentence.
bool is_biased(double bias);

// Sentences: significant bits, the bound beside them, bias and where it comes from.
std::vector<std::string> significance_findings(const StochasticRecord& record);

}  // namespace plumbline
