// SPDX-License-Identifier: MIT
// Hypotheses about a wrong GEMM: simple faults, each with a sentence and the exact consequence it
// would have. A kind fits an element when the stored output is admissible for a kernel with
// that fault, by the same interval rule that judges correct kernels; one that fits every failing
// element looked at is worth telling.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/reference/gemm/prepared.h"

namespace plumbline {

// Products of k in [begin, end).
struct KRange {
  std::int64_t begin = 0, end = 0;

  bool empty() const { return begin >= end; }
};

// Where a scale is read: for a row of A or column of B, at an element of k.
struct ScalePlace {
  std::int64_t vector = 0, p = 0;
};

struct ScaleFault {
  bool missing = false;          // 1 is used
  bool from_other_side = false;  // scale_b for A, scale_a for B
  std::function<ScalePlace(const ScalePlace&)> place;

  bool any() const { return missing || from_other_side || place; }
};

// Where in its storage an operand is read for an element of it; nothing where it lies.
using OperandOffset = std::function<std::int64_t(const GemmPlace&)>;

// A GEMM gone wrong in one way; what is not mentioned is as it should be.
struct GemmFault {
  std::string sentence;
  KRange skipped, repeated;
  std::function<GemmPlace(const GemmPlace&)> source;  // the element whose product is stored here
  EpilogueScalars scalars;
  std::vector<EpilogueStep> steps;  // the contract's
  EncodeOptions output;
  bool swapped_bias = false;  // indexed by the other dimension
  bool reads_c = false;       // although beta == 0
  std::int64_t bf16_parts =
      0;  // partial sums of this many k ranges rounded to bf16, then added in f32
  std::int64_t bf16_block = 1;  // the ranges are whole numbers of these
  bool zero = false;            // 0 is stored
  ScaleFault scale_a, scale_b;
  std::optional<FormatId> a_read_as, b_read_as;  // the stored codes taken for another format
  OperandOffset a_offset, b_offset;
  bool scales_in_turn = false;   // not as their rounded product
  bool nan_is_infinite = false;  // a scale that is NaN is taken for infinity
  int sum_bits =
      0;  // significant bits that the sum keeps between additions, cut toward zero; 0: all
  bool no_promotion = false;
  bool flushes = false;  // f32 operations may take numbers below 2^-126 for 0
  // Unit::int32: what is added to the sum by mistake, and whether it is clamped instead of wrapped.
  std::function<std::int64_t(const PreparedGemm&, const GemmPlace&)> added;
  bool clamped = false;
  // What it may give is a wide range. Unless that excludes what is due for half of the wrong
  // elements it has to fit all others too, and is unlikely.
  bool wide = false;
  bool unlikely = false;  // told after all others: it would fit any small error

  explicit GemmFault(const PreparedGemm& gemm)
      : scalars(gemm.scalars), steps(gemm.contract.epilogue), output(gemm.contract.output) {}
};

// One row of the table: a kind of fault, and every variant of it that makes sense for a case.
struct GemmFaultKind {
  std::string_view name;
  std::vector<GemmFault> (*variants)(const PreparedGemm& gemm);
};

std::vector<GemmFaultKind> gemm_fault_kinds();

// Whether it is known what a kernel with this fault stores here (not when it reads beyond the
// bias, the scales or the operands).
bool can_tell(const PreparedGemm& gemm, const GemmFault& fault, const GemmPlace& at);

// Whether a kernel with this fault may have stored `got` here; true where nobody can tell.
bool fits(const PreparedGemm& gemm, const GemmFault& fault, const GemmPlace& at, std::uint64_t got);

}  // namespace plumbline
