// SPDX-License-Identifier: MIT
// What one block of an output's elements adds to the verdict, for the judges of all operations.
// Adding tallies in block order gives the same verdict on any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "oracles/reference/oracle.h"

namespace plumbline {

struct OutputTally {
  static constexpr int kCells = 64;             // of the histogram
  static constexpr int kBinades = 36;           // of the magnitudes
  static constexpr int kFirstBinade = 10;       // cell i ends at 2^(i - kFirstBinade) ulp
  static constexpr std::size_t kFailures = 16;  // kept with all details

  std::int64_t compared = 0, open = 0, bounded = 0, failed = 0, class_mismatches = 0, nonzero = 0,
               exact_required = 0;
  std::int64_t disagreements = 0, unresolved = 0;
  double worst_ulp = 0, worst_share = 0, worst_relative = 0;
  std::optional<ElementVerdict>
      worst;  // with the largest share; without shares the largest |error_ulp|
  std::vector<ElementVerdict> failures;
  std::array<std::int64_t, kCells> histogram{};
  std::array<std::int64_t, kBinades> magnitudes{};
  std::vector<float> bound_ulps;        // of the elements looked at closely
  std::vector<std::int64_t> pending;    // need the running bound
  std::vector<std::int64_t> undecided;  // went to exact arithmetic

  // An element judged; `anything`: the contract admits every output.
  void count(bool anything) { ++(anything ? open : compared); }

  void add_error(double error_ulp);
  void add(const OutputTally& other);  // all but pending
  void add_failure(const ElementVerdict& failure);
  // An element looked at closely: its bound, share and accuracy, and whether it is the worst.
  void add_figures(const ElementVerdict& element);
  // All of it for an element judged by itself.
  void add_element(const Format& f, const ElementVerdict& element, bool has_to_be_exact);
  OutputVerdict verdict(std::int64_t elements) const;
};

// Whether a is a worse element than b.
bool is_worse(const ElementVerdict& a, const ElementVerdict& b);

// Of outputs that fail the one furthest from exact, which tells the most; of equal ones the first.
// Those of the wrong class, or those of the right one, come before the others.
const ElementVerdict& furthest(const std::vector<ElementVerdict>& failures, bool of_wrong_class);

}  // namespace plumbline
