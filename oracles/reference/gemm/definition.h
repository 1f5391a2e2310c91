// SPDX-License-Identifier: MIT
// What a GEMM is: the real number each output element stands for, before any rounding. The text in
// gemm/definition.cpp is the specification; the fast paths are checked against it, in tests and on
// a sample of every run, and `--oracle mpfr[:BITS]` runs it on every element.
#pragma once

#include <cstdint>

#include "oracles/exact/gemm_operands.h"
#include "oracles/exact/real.h"
#include "oracles/reference/gemm/gemm.h"

namespace plumbline {

// y_ij = sum over k of (a_ik - zero_a)(b_kj - zero_b), or with scales along k
// y_ij = sum over k blocks of fl(scale_a scale_b) sum over the block of the same, fl being f32 to
// nearest even. NaN and infinities follow IEEE 754. With at least kExactBits it is exact; otherwise
// every operation rounds to the next precision of at_precision() at or above `bits`.
Real gemm_sum(const GemmProblem& problem, std::int64_t batch, std::int64_t i, std::int64_t j,
              int bits = kExactBits);

// activation(alpha scale_a scale_b y_ij + beta c_ij + bias) scale_d + zero_d with the scales that
// do not change along k, likewise; a smooth activation is rounded to the precision. C is not read
// when beta is 0.
Real gemm_value(const GemmProblem& problem, std::int64_t batch, std::int64_t i, std::int64_t j,
                int bits = kExactBits);

// The same number by integer arithmetic that shares nothing with MPFR, from operands already
// decoded (zero points taken off). All values that enter must be finite, and the activation none or
// relu.
Dyadic gemm_value_exact(const GemmProblem& problem, const GemmOperands& operands,
                        std::int64_t batch, std::int64_t i, std::int64_t j);

}  // namespace plumbline
