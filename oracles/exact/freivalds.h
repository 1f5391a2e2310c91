// SPDX-License-Identifier: MIT
// Freivalds' check of a whole product C = A B of integer matrices in quadratic time: C r must equal
// A (B r) for random vectors r. All arithmetic is modulo 2^64 with r uniform over all 64-bit words,
// so nothing can overflow and a true product is never rejected, whatever its size.
//
// A wrong row with errors e, |e_j| < 2^q, passes one vector when sum e_j r_j = 0 mod 2^64. Some e_j
// is an odd multiple of 2^v with v < q, and whatever the other r are, at most 2^v of the 2^64
// values of r_j fit: probability at most 2^(q - 1 - 64), for each vector independently.
#pragma once

#include <cstdint>
#include <optional>

#include "oracles/exact/gemm_operands.h"

namespace plumbline {

struct FreivaldsOptions {
  int lattice_a =
      0;  // the integers are a * 2^-lattice_a, b * 2^-lattice_b and c * 2^-(lattice_a + lattice_b)
  int lattice_b = 0;
  int vectors = 2;
  std::uint64_t seed = 1;
  int threads = 1;
};

// The first row of C that is not the product's; none when C passes. c: [m, n] of the given batch
// element, row-major. A value of c that is no integer or not below 2^63 is wrong; such a value of a
// or b is a bug of the caller.
std::optional<std::int64_t> freivalds_wrong_row(const GemmOperands& operands, std::int64_t batch,
                                                const double* c,
                                                const FreivaldsOptions& options = {});

}  // namespace plumbline
