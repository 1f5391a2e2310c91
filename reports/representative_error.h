// SPDX-License-Identifier: MIT
// One number for the errors of a kernel, the same on the terminal, in summary.md and on the page:
// how close to exact 99 % of its outputs are where values have one sign. Elsewhere sums cancel, and
// a conforming kernel is legitimately millions of ulp from exact.
#pragma once

#include <optional>
#include <string>

#include "reports/record/record.h"

namespace plumbline {

struct RepresentativeError {
  double ulp = 0;
  std::string format;
};

// Of the narrowest output format in which 99 % are not exact: in a wider one the sum's own error is
// many ulp. None where no case has values of one sign, and where they cancel all the same.
std::optional<RepresentativeError> representative_error(const RunRecord& record,
                                                        const KernelRecord& kernel);

// By how much a kernel exceeds what its contract allows: "40 x what is allowed", "beyond what is
// allowed"; empty where it does not.
std::string describe_excess(const KernelRecord& kernel);

// That, or the representative error: "0.5 ulp of bf16", "exact"; empty where there is neither. The
// share of its bound that a passing kernel uses is not said: contracts that fix an arithmetic have
// bounds that every kernel reaches.
std::string describe_error(const RunRecord& record, const KernelRecord& kernel);

}  // namespace plumbline
