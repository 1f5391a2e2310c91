// SPDX-License-Identifier: MIT
// Softmax, the norms and their gradients in stages, the steps of oracles/bounds/contract/rows.h:
//   quantize inputs   the matrices and vectors as stored, in place of what they were made from;
//                     mean and rstd, where they are inputs, are taken as given
//   argument          of a softmax: (z - m) log2 e in f32
//   exponential       ex2 to nearest
//   row sums          along the rows, in f32, lane by lane
//   root              1 / sqrt(mean square + eps), rounded once
//   normalize | gradient   what is done with them to every element
//   column sums       dgamma and dbeta, stripe by stripe
//   output            the conversion of Y or dX; f32 has none
// Each operation has those that it needs. A sum along a row is joined as a block of threads does
// it: lanes of a warp at distances 16, 8 ... 1, then neighboring warps.
#pragma once

#include <memory>

#include "oracles/reference/rows/row.h"
#include "oracles/stages/staged.h"

namespace plumbline {

// `before`: the same problem with f32 inputs, as they were. Tensors outlive the result; everything
// must be finite.
std::unique_ptr<StagedComputation> staged_rows(const RowProblem& problem, const RowProblem& before);

}  // namespace plumbline
