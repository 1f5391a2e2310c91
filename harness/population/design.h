// SPDX-License-Identifier: MIT
// The errors of an output as the theorems about many errors want them
// (oracles/population/population.h). Both follow from how inputs of class `normal` are drawn: every
// element is symmetric about zero, and independent of all others.
//
//   sign symmetry   A row of A has a sign of its own, and with it a row of D. Where a batch shares
//                   A, the rows that one row of A makes have their sign in common, and count as
//                   one. In attention it is a column of V that has a sign: weights do not depend on
//                   V, so column d of O changes its sign with column d of V, in all rows and heads
//                   that read it. Rows are those columns then, and queries take the columns' place.
//   rank position   Columns of B are drawn alike, and so are those of V. Matrices of a batch, or
//                   heads, that have their own are matrices apart, independent of each other; those
//                   that share one lie below each other. So do the groups of a grouped GEMM, some
//                   of which have few rows: their columns are alike when the same ones of every B
//                   are exchanged together.
#pragma once

#include <optional>
#include <vector>

#include "fuzz/case/case.h"
#include "oracles/population/population.h"
#include "oracles/reference/oracle.h"

namespace plumbline {

// nullopt and empty where a theorem's premises do not hold, or there are too few errors for it to
// say much.
struct PopulationDesign {
  std::optional<ErrorMatrix> with_signs;  // every row has a sign of its own
  std::vector<ErrorMatrix> drawn_alike;   // all columns of each are
};

// What is known without looking at errors.
bool may_have_design(const Case& test_case, const CaseTensors& tensors, const CaseOracle& oracle,
                     int output);

// For a case whose inputs are of class `normal`, with nothing added to its products, and that may
// have a design. `exact`: all elements of the output. Both are empty, too, where an error is not
// finite or all are 0.
PopulationDesign population_design(const Case& test_case, const CaseTensors& tensors,
                                   const CaseOracle& oracle, int output,
                                   const std::vector<double>& exact);

}  // namespace plumbline
