// SPDX-License-Identifier: MIT
// StagedSum: a contract's sums of products as two stages that can each be exact: the accumulators
// (nodes of a tensor core, or f32 fma), and what promotes or joins them. With both low and operands
// of the contract's formats it is run_accumulator() (oracles/bounds/accumulator/model.h) bit for
// bit; a test says so. It is apart from that because operands here may be any real numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oracles/bounds/contract/contract.h"
#include "oracles/models/real_dot.h"

namespace plumbline {

// The nearest f32.
inline double to_f32(double x) { return static_cast<double>(static_cast<float>(x)); }

// fma(a, b, c) rounded once to f32 from all bits, for all doubles (as long as a * b does not
// underflow in double).
float f32_fma(double a, double b, double c);

// Faults a kernel may have in these two stages.
enum class SumFault : std::uint8_t {
  none,
  narrow_accumulator,  // accumulators of 14 bits, as FP8 wgmma on Hopper has
  bf16_accumulator,    // accumulators rounded to bf16 after every instruction
  narrow_promotion,    // the sum over promotions keeps 14 fraction bits
  no_promotion,        // one accumulator over all of k where an unscaled contract promotes
  bf16_join,           // partial sums rounded to bf16 before they are joined
};

// What such a kernel does, in words; and whether it does so where sums are joined.
std::string words_of(SumFault fault);
bool is_of_join(SumFault fault);

class StagedSum {
 public:
  StagedSum(const Contract& contract, int sm, FormatId a, FormatId b);

  struct Low {
    bool accumulate = true, join = true;
    SumFault fault = SumFault::none;
  };

  // `factors`: of a scaled promotion, per interval of k; empty: all 1.
  double operator()(RealSpan a, RealSpan b, std::span<const double> factors, Low low) const;

  // One accumulator, from `start`. A low one starts from fl(start).
  double chain(RealSpan a, RealSpan b, double start, Low low) const;

  // Whether anything is promoted or joined.
  bool joins() const;

  // Whether accumulators round at all.
  bool accumulates() const { return contract_.unit != Unit::int32; }

  // The faults that would be faults under this contract.
  std::vector<SumFault> faults(bool scaled) const;

 private:
  double promoted(RealSpan a, RealSpan b, std::size_t first_interval,
                  std::span<const double> factors, Low low) const;
  float low_chain(RealSpan a, RealSpan b, float start, SumFault fault) const;

  // Low f32 operations, of numbers that count as 0 below 2^-126 where the contract says so.
  double kept(double x) const;
  double fma(double a, double b, double c) const;

  Contract contract_;
  std::optional<DotModel> model_;  // tensor cores only
};

}  // namespace plumbline
