// SPDX-License-Identifier: MIT
// Simple faults of row kernels: each is tried on a whole row, or on all sums over rows, and named
// when it gives what the kernel gave, up to its roundings.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "oracles/exact/certified.h"
#include "oracles/reference/named_faults.h"
#include "oracles/reference/rows/row.h"

namespace plumbline {

// Faults that more than one kind of output can suffer from.
namespace row_fault_words {

inline constexpr const char* kNoEps = "eps is missing";
inline constexpr const char* kEpsInSum = "eps is added before the division by n";
inline constexpr const char* kEpsOutside = "eps is added outside the root";
inline constexpr const char* kNoDivision = "the sum of squares is not divided by n";
inline constexpr const char* kBessel = "the sum of squares is divided by n - 1";
inline constexpr const char* kNoMean = "the mean is not subtracted";
inline constexpr const char* kLastColumn = "the last column is missing from the sums";
inline constexpr const char* kTail =
    "the columns after the last multiple of 8 are missing from the sums";
inline constexpr const char* kZeros =
    "zeros after the last column, up to a multiple of 8, are in the sums";
inline constexpr const char* kPaddingInVariance = "columns after the last are in the variance";
inline constexpr const char* kOnePass =
    "the variance is the mean of squares less the square of the mean";
inline constexpr const char* kFusedEps =
    "sum * (1 / n) + eps is one fma, as under mean = \"reciprocal either\"";

inline constexpr const char* kCutProduct =
    "x rstd is truncated before gamma, not rounded to nearest";

}  // namespace row_fault_words

// `got`: all elements of row i of Y or dX.
NamedFaults row_faults(const RowProblem& problem, std::int64_t i, std::span<const double> got,
                       const Format& f);

// `got`: all of dgamma or dbeta.
NamedFaults column_faults(const RowProblem& problem, bool gamma, std::span<const double> got);

// `got`: the mean or rstd of row i.
NamedFaults statistic_faults(const RowProblem& problem, std::int64_t i, bool mean, double got);

// Faults of row i that its stored mean or rstd, `got`, speaks against: they would have changed it
// in another way. Empty where `got` is neither right nor what a fault gives: it is wrong by itself.
std::vector<std::string_view> refuted_faults(const RowProblem& problem, std::int64_t i, bool mean,
                                             double got);

// The contract of a kernel that may add eps by the fma that multiplies by 1 / n; the same one where
// it is no norm's, or does not multiply.
RowContract fused_eps(const RowProblem& problem);

// The mean and rstd of a norm, without its outputs, with the first `columns` columns in its sums
// and the sum of squares divided by `divisor`. Of the contract both are n.
RowResult<Certified> norm_statistics(const RowOf<Certified>& row, bool centered,
                                     std::int64_t columns, std::int64_t divisor);

}  // namespace plumbline
