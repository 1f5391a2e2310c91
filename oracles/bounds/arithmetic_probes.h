// SPDX-License-Identifier: MIT
// Probes of the arithmetic itself: dot products of a few powers of two whose results say how a unit
// adds: how many bits it aligns products to, how many its results have, whether it rounds, how many
// products it adds at once, and where along k a fresh accumulator starts. They see what a bound
// cannot: two units may both be accurate enough and still differ.
//
// With M a large power of two, u one so small that no sum of u changes M in f32, and zeros
// elsewhere:
//   alignment  M, -M and M 2^-d in one step: what is left is 0 from some d on
//   width      M in one step, M 2^-d in a later one: the result is M from some d on
//   rounding   the same with 1.5 M 2^-d: above half an ulp, below one
//   tree       M first, -M at j, u everywhere else: the u that are added while M is in the sum are
//              lost. Their number, for every j, is the size of the subtree in which 0 and j meet
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "oracles/formats/format.h"

namespace plumbline {

// One dot product: a[i] * b[i] are its terms.
struct ArithmeticProbe {
  std::vector<float> a, b;
};

// What the results of all probes say. Numbers are 0 where the probes did not reach the limit.
struct Arithmetic {
  int fraction_bits = 0;               // of the alignment, below the largest product
  int result_bits = 0;                 // significant bits of an accumulator
  bool rounds = false;                 // to nearest; otherwise toward zero
  std::int64_t products_per_step = 0;  // added at once; 0: the results are no dot products
  // Elements of k per accumulator, where sums of them are added up, and so on upward; empty: one
  // accumulator for all of k.
  std::vector<std::int64_t> fresh_every;

  bool operator==(const Arithmetic&) const = default;
  // "13 fraction bits, 14-bit results cut toward zero, 32 products per step, a fresh accumulator
  // every 128 of k"
  std::string words() const;
};

constexpr std::int64_t kProbeDepth = 512;  // k of every probe

// What the results can be read in. In 8 significant bits M is taken away again in a third step of
// the width and rounding probes, which leaves powers of two, and a tree probe is two, of the u in
// either half of k: their sum is a number of at most 256.
enum class ProbeResults : std::uint8_t { f32, narrow };

// The probes in formats a and b; all values are exact in them.
std::vector<ArithmeticProbe> arithmetic_probes(ProbeResults kind = ProbeResults::f32);

// `results`: of the probes in their order.
Arithmetic arithmetic_of(std::span<const float> results, ProbeResults kind = ProbeResults::f32);

}  // namespace plumbline
