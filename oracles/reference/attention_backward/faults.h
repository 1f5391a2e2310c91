// SPDX-License-Identifier: MIT
// Simple faults of attention backward kernels, as a table: each computes a line of dQ, dK or dV the
// wrong way in FP64, and fits when that is what the kernel stored in the whole line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracles/reference/attention_backward/operands.h"

namespace plumbline {

// A gradient gone wrong in one way; what is not mentioned is as it should be.
struct GradientFault {
  std::string sentence;
  std::optional<AttentionMask> mask;
  std::int64_t diagonal = 0;  // the whole mask moves by this many keys
  bool no_delta = false, no_slope = false, no_cap = false, no_bias = false, no_sink = false;
  bool keep_p = false, keep_ds = false;  // not rounded
  bool truncate_p = false, truncate_ds = false;
  std::optional<FormatId> p_in, ds_in;  // rounded to these in place of the contract's
  bool masked_capped = false;           // a key that is not seen has the least score of the cap
  bool no_p_shift = false;              // neither applied nor taken back
  bool no_delta_scale = false, no_dp_scale = false;
  double factor = 1;    // on the result
  double exponent = 1;  // of the softmax: ln 2 takes 2^ for e^
  double lse_factor = 1;
  std::int64_t only_head = -1;                // of the group
  std::int64_t head_step = 0, row_step = 0;   // where dO is read instead: another head, another row
  std::int64_t end_query = -1, end_key = -1;  // of what is taken; -1: all
  std::int64_t dp_width = -1, delta_width = -1;  // columns taken; -1: all
  std::int64_t line_step = 0;                    // the line of this other row is stored here
};

// Those that make sense for a problem and an output.
std::vector<GradientFault> gradient_faults(const GradientOperands& operands, GradientOutput output);

// The line a kernel with this fault stores, before the rounding to the output, and how far a
// conforming detail may move each element of it. Empty where it is not known.
struct FaultyLine {
  std::vector<double> values, slack;
};

FaultyLine faulty_line(const GradientOperands& operands, GradientOutput output, std::int64_t line,
                       const GradientFault& fault);

}  // namespace plumbline
