// SPDX-License-Identifier: MIT
// Contract: the arithmetic a kernel promises. It is written in the kernel's manifest and is never a
// bare tolerance. A verdict only has a meaning relative to a contract: the admissible outputs of
// one element are all those some execution under the contract can produce.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracles/base/result.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"
#include "oracles/models/generation.h"

namespace plumbline {

// How products reach the accumulator.
enum class Unit : std::uint8_t {
  tensor_core,  // nodes of the target's model: (sm, instruction, operand formats)
  fma_f32,      // one f32 FMA per product, in k order
  int32,        // exact modulo 2^32; unless it is stored as s32, then x = float(sum)
};

enum class Schedule : std::uint8_t {
  sequential,  // one accumulator, increasing k
  promote,     // a fresh accumulator every `interval` of k, added to an f32 sum
  split_k,     // `parts` accumulators over k ranges, joined at the end
  runs,        // increasing k in whole instructions; where accumulators begin and end is open: runs
               // of any length, added to f32 sums in order, at most `parts` of which are added in
               // any order; or every other block of k to one of 2, 4 or 8 such sums
  any,         // nothing is promised: any order of k, any products to a node, at most `parts`
               // accumulators (0: one for every step), joined by f32 additions to nearest even
};

enum class Join : std::uint8_t {
  f32_ordered,    // ((p0 + p1) + p2) + ..., each to nearest even
  f32_any_order,  // f32 additions in some order
  f32_atomic,  // the same by atomics on global memory, from +0: they flush subnormal operands and
               // sums to zero (PTX ISA, atom and red)
  bf16,        // partial sums rounded to bf16, joined by bf16 additions in some order
};

// How a fresh accumulator p of Schedule::promote joins the f32 sum; both round to nearest even.
enum class Promotion : std::uint8_t {
  add,         // sum = fl(sum + p)
  scaled_fma,  // sum = fma(p, fl(scale_a * scale_b), sum): block scales of this interval of k. The
               // product of the two scales is rounded to f32 once and belongs to the function, not
               // to its error. A sum starts at +0. Of int32 sums p is the f32 nearest to each
  scaled,      // the same function by any steps: p times one scale after the other, or times their
               // product, then an addition, with or without fma. Bits are left open
};

// What an activation is, as a function of real numbers.
enum class Activation : std::uint8_t {
  none,
  relu,       // max(x, 0)
  gelu,       // x (1 + erf(x / sqrt 2)) / 2
  gelu_tanh,  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  silu,       // x / (1 + e^-x)
};

// One step between accumulator and stored output, each an f32 operation to nearest even but for the
// smooth activations: they are several, which activation_range.h lists, and known to a bound.
// The order here is the usual one, for steps a contract does not name.
enum class EpilogueStep : std::uint8_t {
  scale_a,           // x = fl(x * scale_a), of the tensor or of the row
  scale_b,           // x = fl(x * scale_b), of the tensor or of the column
  scale_ab,          // x = fl(x * fl(scale_a * scale_b)), in place of the two above
  alpha,             // x = fl(alpha * x)
  beta_c,            // x = fl(x + fl(beta * c)); skipped, and C not read, when beta == 0
  beta_c_fma,        // x = fma(beta, c, x); skipped, and C not read, when beta == 0
  alpha_beta_c_fma,  // x = fma(alpha, x, fl(beta * c)), in place of alpha and beta_c; fl(alpha *
                     // x), and C not read, when beta == 0
  bias,              // x = fl(x + bias)
  bias_fma,   // x = fma(f, x, bias), where the step before is x = fl(f * x): that rounding is left
              // out. x = fl(x + bias) where the problem has no such step
  relu,       // x = x < 0 ? 0 : x; NaN propagates
  relu_max,   // x = max(x, 0) of IEEE 754-2008, as fmaxf(x, 0) and max.f32 have it: NaN becomes 0
  gelu_erff,  // by erff
  gelu_tanh_tanhf,        // by tanhf
  gelu_tanh_tanh_approx,  // by tanh.approx.f32
  gelu_tanh_expf,         // x / (1 + e^-2u) by expf, u being tanh's argument
  gelu_tanh_ex2_approx,   // the same by ex2.approx.f32
  silu_expf,              // x / (1 + e^-x) by expf
  silu_ex2_approx,        // the same by ex2.approx.f32
  silu_tanh_approx,       // x (1 + tanh(x / 2)) / 2 by tanh.approx.f32
  scale_d,                // x = fl(x * scale_d)
  zero_d,                 // x = fl(rint(x) + zero_d), rint to nearest even
};

struct Contract {
  Unit unit = Unit::tensor_core;
  Instruction instruction = Instruction::mma_sync;
  // The instruction takes scales of blocks of k (.block_scale): they belong to its nodes.
  bool block_scale = false;
  // k of the instruction's shape (8 for mma.m16n8k8), where that is fewer products than the chip
  // can take into one node; 0: no fewer. Of e2m1 with block scales 32 is kind::mxf8f6f4 in place of
  // kind::mxf4 and kind::mxf4nvf4.
  std::int64_t instruction_k = 0;
  // What a tensor core rounds the result of each node to: f32 (or, as FP8 units of some chips do,
  // fewer bits of it), or f16, to nearest even.
  FormatId accumulator = FormatId::f32;
  Schedule schedule = Schedule::sequential;
  // promote: elements of k per fresh accumulator. split_k: a range is a whole number of these (0:
  // of one element); part s covers [s * range, (s + 1) * range) with range = ceil(k / parts)
  // rounded up to such a number.
  std::int64_t interval = 0;
  Promotion promotion = Promotion::add;
  std::int64_t parts = 1;  // split_k; runs, any: the most there may be
  Join join = Join::f32_ordered;
  // B's elements become this format before they are multiplied: fl_format(fl((b - zero_b) *
  // scale_b)), the inner rounding to f32. The rounded values are the operand, so that this rounding
  // belongs to the function, not to its error.
  std::optional<FormatId> dequantize_b{};
  std::vector<EpilogueStep> epilogue{};
  EncodeOptions output{};  // the conversion to the output format
  // f32 operations outside of the unit may take numbers below 2^-126 for 0, as operands and as
  // results (nvcc's --use_fast_math). May: what does nothing to a number, a factor of 1 say, is an
  // operation all the same where a kernel has it.
  bool subnormals_flushed = false;
  bool bits =
      true;  // outputs are those of the contract's arithmetic bit for bit, where it fixes them
  bool deterministic = true;
  bool odd_symmetric = true;         // C(-A, B) = -C(A, B) bitwise
  bool position_independent = true;  // permuting rows of A permutes rows of D

  // The format in which B is multiplied.
  FormatId multiplied_b(FormatId stored) const { return dequantize_b.value_or(stored); }

  // How the unit adds on a chip, by instructions of this shape; none where the chip has no such
  // unit.
  std::optional<DotModel> unit_model(int sm, FormatId a, FormatId b) const;

  // The depths of block scales are multiples of this, and of e2m1 in kind::mxf4nvf4 they may be in
  // e4m3 (ue4m3, without its sign) as in ue8m0.
  std::int64_t scale_depth(FormatId a, FormatId b) const;

  // Block scales multiply sums, of intervals of k, and not operands in the instruction.
  bool scales_sums() const { return promotion != Promotion::add; }

  // Sums are integers modulo 2^32 to the end: nothing of them is bounded.
  bool exact_integers() const { return unit == Unit::int32 && !scales_sums(); }

  // Where accumulators begin and end, and how they are added, is not said.
  bool order_is_open() const { return schedule == Schedule::any || schedule == Schedule::runs; }

  // What of docs/bounds/accumulator.md applies, in words ("mma.sync bf16 nodes of 16 products and
  // 25 fraction bits, ...").
  std::string describe(int sm, FormatId a, FormatId b) const;

  // Whether the contract can be kept at all: the chip has the instruction for these formats,
  // intervals and parts are positive, scales have a promotion to go through, no epilogue step is
  // named twice.
  Status check(int sm, FormatId a, FormatId b) const;
};

}  // namespace plumbline
