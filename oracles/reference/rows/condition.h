// SPDX-License-Identifier: MIT
// Condition numbers of the row operations: when every input (x, dy, gamma, beta, and of gradients
// mean and rstd) changes by a factor of at most 1 + e, element j of the result changes by at most
// e * condition[j] * |result|, to first order.
//
//   softmax   |z_j| (1 - p_j) + sum over i != j of p_i |z_i|
//   its dx    1 + (|dy_j| + 2 sum p |dy|) / |dy_j - sum p dy|
//   norms     through d x^_j / d x_i = rstd (delta_ij - 1/n - x^_i x^_j / n), RMSNorm without 1/n
//   their dx  term by term
#pragma once

#include <vector>

#include "oracles/reference/rows/row.h"

namespace plumbline {

// Of one row, which has at least one element. Infinite where the result is 0.
std::vector<double> row_condition(RowKind kind, const RowOf<double>& in);

}  // namespace plumbline
