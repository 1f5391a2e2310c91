// SPDX-License-Identifier: MIT
// The referee: an element recomputed by the definition of GEMM over MPFR numbers
// (gemm/definition.h) and judged again with that sum. And whole tensors of sums by the definition,
// for `--oracle mpfr`.
#pragma once

#include "oracles/exact/gemm_sums.h"
#include "oracles/reference/gemm/element.h"
#include "oracles/reference/gemm/prepared.h"

namespace plumbline {

// Whether the definition's sum lies in the enclosure (or is of the class found), and leads to the
// same verdict.
bool definition_agrees(const PreparedGemm& gemm, const GemmPlace& at, const SumEnclosure& sum,
                       std::uint64_t got, bool passes);

// Every sum at `bits` bits, with what rounding may have lost as the bound. Sums that are not finite
// are 0.
SumEnclosures sums_by_definition(const PreparedGemm& gemm, int bits, int threads);

}  // namespace plumbline
