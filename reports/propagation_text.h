// SPDX-License-Identifier: MIT
// Propagation records as text, for the terminal and for summary.md: tables of at most 60 columns.
#pragma once

#include <string>
#include <vector>

#include "reports/record/propagation.h"

namespace plumbline {

// "12.3 %"; "under 0.1 %" for what is not 0 but would print as such.
std::string percent_text(double share);

// A kind of stage or part of the error in words: "rounding by contract" is one inside a kernel that
// its contract asks for, as of P to bf16 in attention.
std::string kind_text(const std::string& kind);

// Title, table of stages, what the error is made of, condition numbers; the findings are not in it.
std::vector<std::string> propagation_lines(const PropagationRecord& record);

// "64 layers", "50 denoising steps".
std::string steps_text(const DepthRecord& record);

std::vector<std::string> depth_lines(const DepthRecord& record);
std::vector<std::string> gradient_lines(const GradientRecord& record);
std::vector<std::string> stochastic_lines(const StochasticRecord& record);

// "7.9"; "all" where nothing moves.
std::string bits_text(double bits);

}  // namespace plumbline
