// SPDX-License-Identifier: MIT
// SwigluHidden: what is known of the elements of h. Both sums are GEMMs' with running bounds of
// their own; from the f32 numbers that their accumulators may hold, the contract's steps are
// followed as ranges. It has no opinion; that is swiglu_hidden_judge.
#pragma once

#include <mutex>

#include "oracles/bounds/contract/swiglu.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/reference/gemm/block_bounds.h"
#include "oracles/reference/gemm/prepared.h"
#include "oracles/reference/range_verdict.h"
#include "oracles/reference/swiglu/swiglu.h"

namespace plumbline {

// An accumulator of one of the sums: the exact sum and how far from it a conforming one may be.
struct KnownSum {
  SumEnclosure sum;
  double error = 0;
  ClassSet classes = ResultClass::finite;
};

class SwigluHidden {
 public:
  // The problem's tensors must outlive this.
  SwigluHidden(const SwigluProblem& mlp, const SwigluContract& contract, int sm);

  const SwigluProblem& problem() const { return mlp_; }

  const SwigluContract& contract() const { return contract_; }

  const PreparedGemm& gate() const { return gate_; }

  const PreparedGemm& up() const { return up_; }

  std::int64_t elements() const { return mlp_.tokens() * mlp_.hidden(); }

  // Exact sums of all elements, found once.
  struct Sums {
    SumEnclosures gate, up;
  };

  const Sums& sums(int threads) const;
  // The same by the definition over MPFR numbers.
  Sums sums_by_definition(int bits, int threads) const;

  // Some product is NaN or infinite.
  bool special(const GemmPlace& at) const { return gate_.special(at) || up_.special(at); }

  // No accumulator comes near the end of f32.
  bool cannot_overflow(const GemmPlace& at) const;

  // One sum with its running bound, exactly: slow.
  static KnownSum known_exactly(const PreparedGemm& gemm, const GemmPlace& at);

  // The f32 numbers that an accumulator may hold.
  static F32Range accumulators(const PreparedGemm& gemm, const KnownSum& known);

  // What may be stored, given the accumulators.
  F32Range products(const F32Range& gate, const F32Range& up) const;

  // The exact value, from sums that are finite; by MPFR where double does not do.
  Certified exact(const GemmPlace& at, const SumEnclosure& gate, const SumEnclosure& up) const;
  // Likewise for an element with special products.
  Certified special_value(const GemmPlace& at) const;

  // One element, all of it exactly.
  RangedElement element(const GemmPlace& at) const;

 private:
  Certified by_mpfr(const GemmPlace& at) const;

  SwigluProblem mlp_;
  SwigluContract contract_;
  Tensor x_, w_gate_, w_up_;  // as operands of GEMMs
  PreparedGemm gate_, up_;
  mutable std::once_flag sums_once_;
  mutable Sums sums_;
};

}  // namespace plumbline
