// SPDX-License-Identifier: MIT
// One output element of a GEMM again, slowly, in words.
#pragma once

#include "oracles/reference/gemm/prepared.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

Explanation explain_gemm(const PreparedGemm& gemm, const GemmPlace& at, const Tensor& got);

}  // namespace plumbline
