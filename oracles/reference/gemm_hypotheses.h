// SPDX-License-Identifier: MIT
// Hypotheses about a wrong GEMM: simple faults, each with a sentence and the exact consequence it
// would have. A hypothesis fits an element when the stored output is admissible for a kernel with
// that fault, by the same interval rule that judges correct kernels; one that fits every failing
// element looked at is worth telling.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "oracles/reference/gemm_case.h"

namespace plumbline {

// Products of k in [begin, end).
struct KRange {
  std::int64_t begin = 0, end = 0;

  bool empty() const { return begin >= end; }
};

// A GEMM gone wrong in one way; what is not mentioned is as it should be.
struct GemmFault {
  std::string sentence;
  KRange skipped, repeated;
  std::function<GemmPlace(const GemmPlace&)> source;  // the element whose product is stored here
  EpilogueScalars scalars;
  EncodeOptions output;
  bool swapped_bias = false;  // indexed by the other dimension
  bool reads_c = false;       // although beta == 0
  std::int64_t bf16_parts =
      0;  // partial sums of this many k ranges rounded to bf16, then added in f32
  std::int64_t bf16_block = 1;  // the ranges are whole numbers of these
  bool zero = false;            // 0 is stored

  explicit GemmFault(const GemmCase& gemm) : scalars(gemm.scalars), output(gemm.contract.output) {}
};

// One row of the table: a kind of fault, and every variant of it that makes sense for a case.
struct GemmHypothesis {
  std::string_view name;
  std::vector<GemmFault> (*variants)(const GemmCase& gemm);
};

std::vector<GemmHypothesis> gemm_hypotheses();

// Whether it is known what a kernel with this fault stores here (not when it reads beyond the
// bias).
bool can_tell(const GemmCase& gemm, const GemmFault& fault, const GemmPlace& at);

// Whether a kernel with this fault may have stored `got` here; true where nobody can tell.
bool fits(const GemmCase& gemm, const GemmFault& fault, const GemmPlace& at, std::uint64_t got);

}  // namespace plumbline
