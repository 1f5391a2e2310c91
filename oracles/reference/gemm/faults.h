// SPDX-License-Identifier: MIT
// Hypotheses about a wrong GEMM: simple faults, each with a sentence and the exact consequence it
// would have. A fault fits an element when the stored output is admissible for a kernel with that
// fault, by the same interval rule that judges correct kernels. Those that fit every failing
// element of a sample are named.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/reference/gemm/prepared.h"

namespace plumbline {

struct SurveyedElement;

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
  float (*value)(float) = nullptr;  // what becomes of it

  bool any() const { return missing || from_other_side || place || value; }
};

// Where in its storage an operand is read for an element of it. Empty: at its own place.
using OperandOffset = std::function<std::int64_t(const GemmPlace&)>;

// What is multiplied of a row of A or a column of B in place of its values. False: the fault
// does not say.
using OperandChange =
    std::function<bool(const PreparedGemm&, const GemmPlace&, std::vector<float>&)>;

// A GEMM gone wrong in one way; what is not mentioned is as it should be.
struct GemmFault {
  std::string sentence;
  KRange skipped, repeated;
  std::function<GemmPlace(const GemmPlace&)> source;  // the element whose product is stored here
  EpilogueScalars scalars;
  std::vector<EpilogueStep> steps;  // the contract's
  EncodeOptions output;
  std::function<std::int64_t(const GemmPlace&)> bias_index;  // which bias is added
  bool reads_c = false;                                      // although beta == 0
  std::int64_t bf16_parts =
      0;  // partial sums of this many k ranges rounded to bf16, then added in f32
  std::int64_t bf16_block = 1;  // the ranges are whole numbers of these
  bool zero = false;            // 0 is stored
  ScaleFault scale_a, scale_b;
  std::optional<FormatId> a_read_as, b_read_as;  // the stored codes taken for another format
  OperandOffset a_offset, b_offset;
  OperandChange a_change, b_change;
  bool scales_in_turn = false;   // not as their rounded product
  bool nan_is_infinite = false;  // a scale that is NaN is taken for infinity
  int sum_bits =
      0;  // significant bits that the sum keeps between additions, cut toward zero; 0: all
  bool no_promotion = false;
  bool flushes = false;  // f32 operations may take numbers below 2^-126 for 0
  // Unit::int32: what is added to the sum by mistake, and whether it is clamped instead of wrapped.
  std::function<std::int64_t(const PreparedGemm&, const GemmPlace&)> added;
  bool clamped = false;
  // Unit::int32: products that are added exactly before their sum joins one in f32; 0: there is
  // none.
  std::int64_t f32_block = 0;
  bool zeros_in_f32 = false;       // Unit::int32: zero points are taken out of the sum in f32
  std::optional<FormatId> sum_in;  // the accumulator is rounded to this before the epilogue
  std::function<double(double)> activation;    // a function in place of the contract's
  bool zeros_skipped = false;                  // products with 0, also those of NaN and Inf
  std::optional<std::uint64_t> nan_stored_as;  // what should be NaN has this code
  bool small_is_zero = false;                  // stored numbers below the smallest normal one are 0
  // What it may give is a wide range. Unless that excludes what is due for half of the wrong
  // elements it has to fit all others too, and is unlikely.
  bool wide = false;
  bool unlikely = false;  // told after all others: it would fit any small error

  // Whether it changes nothing but small numbers, NaN and sums beyond 2^24.
  bool is_of_rare_values() const {
    return flushes || zeros_skipped || nan_stored_as || small_is_zero || f32_block > 0 ||
           zeros_in_f32 || sentence.starts_with("subnormal");
  }

  // Whether what is summed is as it should be.
  bool keeps_products() const {
    return skipped.empty() && repeated.empty() && bf16_parts == 0 && !scale_a.any() &&
           !scale_b.any() && !a_read_as && !b_read_as && !a_offset && !b_offset && !a_change &&
           !b_change && !added && !clamped && f32_block == 0 && !zeros_in_f32 && !sum_in &&
           !activation && !no_promotion && sum_bits == 0 && !scales_in_turn;
  }

  explicit GemmFault(const PreparedGemm& gemm, std::string what = {})
      : sentence(std::move(what)),
        scalars(gemm.scalars),
        steps(gemm.contract.epilogue),
        output(gemm.contract.output) {}
};

// One row of the table: a kind of fault, and every variant of it that makes sense for a case.
struct GemmFaultKind {
  std::string_view name;
  std::vector<GemmFault> (*variants)(const PreparedGemm& gemm);
  bool is_local = false;  // it may befall one element alone: what is read or stored there
};

std::vector<GemmFaultKind> gemm_fault_kinds();

// Rows of the table about the epilogue, in constant_faults.cpp.
std::vector<GemmFault> sum_rounded(const PreparedGemm& gemm);
std::vector<GemmFault> special_values_lost(const PreparedGemm& gemm);
std::vector<GemmFault> activation_mistaken(const PreparedGemm& gemm);

// Constants of the epilogue that would give what is stored in all these elements in place of the
// contract's: alpha, beta, scale_d, those of the activation.
std::vector<GemmFault> other_constants(const PreparedGemm& gemm,
                                       const std::vector<SurveyedElement>& elements);

// Whether it is known what a kernel with this fault stores here (not when it reads beyond the
// bias, the scales or the operands).
bool can_tell(const PreparedGemm& gemm, const GemmFault& fault, const GemmPlace& at);

// Whether a kernel with this fault may have stored `got` here; true where that is not known.
bool fits(const PreparedGemm& gemm, const GemmFault& fault, const GemmPlace& at, std::uint64_t got);

}  // namespace plumbline
