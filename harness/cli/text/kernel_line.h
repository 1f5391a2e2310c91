// SPDX-License-Identifier: MIT
// What a run found of a kernel: one line, and the figures behind it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/record/record.h"
#include "reports/representative_error.h"

namespace plumbline {

std::string_view status_word(Verdict verdict);  // "pass", "FAIL", ...

// Widths of the columns that all kernels of a run share.
struct KernelColumns {
  std::size_t verdict = 0, name = 0, cases = 0, compared = 0;
  std::size_t width = 120;  // of the line; what does not fit is left out, the last first
};

KernelColumns kernel_columns(const std::vector<KernelRecord>& kernels, int width);

// "gemm_bf16   1,204 cases   3,211,408 outputs compared   99 % within 0.5 ulp of bf16": what follows
// the verdict. The error is left out where nothing tells it in ulp.
std::string kernel_figures(const KernelRecord& kernel,
                           const std::optional<RepresentativeError>& error,
                           const KernelColumns& columns);

// Why it did not pass, or only on evidence that is mistrusted; saved cases that did not run.
std::vector<std::string> kernel_reasons(const KernelRecord& kernel);

// All that is not in its line: how it was judged, what its code and arithmetic are, how long it
// took.
std::vector<std::string> kernel_details(const KernelRecord& kernel);

}  // namespace plumbline
