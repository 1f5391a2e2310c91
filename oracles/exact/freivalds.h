// SPDX-License-Identifier: MIT
// Freivalds' check of a whole product C = A B in quadratic time (MFCS 1979): for a random vector r,
// C r must equal A (B r). It confirms every sum of a tensor where the referee looks at a sample.
//
// Rows of A and columns of B are counted in units of their own lattices, so that they are integers;
// then so are the sums. All arithmetic is modulo 2^64: nothing can overflow, and a true product of
// any size is never rejected. The entries of r are odd, uniformly random words.
//
// A row with one wrong sum is always found: its error e, |e| < 2^63, times an odd number is not 0.
// A row with errors e_j, |e_j| < 2^q, passes when sum e_j r_j = 0. Some e_j is an odd multiple of
// 2^v with v < q, and for all values of the other r at most 2^(v + 1) of the 2^63 values of r_j
// fit: probability at most 2^(q - 63).
#pragma once

#include <cstdint>
#include <optional>

#include "oracles/exact/gemm_operands.h"
#include "oracles/exact/gemm_sums.h"

namespace plumbline {

struct FreivaldsCheck {
  // Sums that took part. Left out are rows of A and columns of B that are not vectors of integers
  // of norm below 2^31 in any unit, and the rows of C with a sum that is only enclosed.
  std::int64_t sums = 0;
  std::optional<std::int64_t> wrong_row;  // the first, batch * m + i; none when C passes
};

FreivaldsCheck freivalds_check(const GemmOperands& operands, const SumEnclosures& c,
                               std::uint64_t seed, int threads);

}  // namespace plumbline
