// SPDX-License-Identifier: MIT
// Steps that attention forward and backward share, each exact or in f32 as their contracts have it.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "oracles/formats/encode.h"
#include "oracles/reference/attention/attention.h"

namespace plumbline {

inline double staged_rounding(FormatId to, double value, const EncodeOptions& options = {}) {
  return to_double(format(to), encode(format(to), value, options));
}

// In units of a scale, or of those of the rows where there are such.
inline std::vector<double> staged_over(const std::vector<float>& values, float scale,
                                       const std::vector<float>& of_rows = {}) {
  std::vector<double> out(values.begin(), values.end());
  const std::size_t width = of_rows.empty() ? 1 : values.size() / of_rows.size();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] /= static_cast<double>(of_rows.empty() ? scale : of_rows[i / width]);
  return out;
}

// An f32 operation's result where the stage is low.
inline double f32_if(bool low, double value) {
  return low ? static_cast<double>(static_cast<float>(value)) : value;
}

// 2^x; low: ex2.approx.ftz as if it were correctly rounded.
inline double staged_exponential(bool low, double x) {
  const double value = f32_if(low, std::exp2(x));
  return low && value < 0x1p-126 ? 0 : value;
}

// tanh of a capped score over its cap; low: tanh.approx as if it were correctly rounded, too.
inline double staged_tanh(bool low, Tanh how, double x) {
  if (!low || how == Tanh::approx) return f32_if(low, std::tanh(x));
  const double e =
      staged_exponential(true, f32_if(true, x * f32_if(true, 2 * std::numbers::log2e)));
  return f32_if(true, 1 - f32_if(true, 2 / f32_if(true, 1 + e)));
}

struct StagedLogit {
  double z = 0;        // in the units a kernel keeps
  double tangent = 0;  // tanh of the capped score; 0 without a cap
};

// From the score of query i and key j. With Tanh::approx the cap is a factor of later steps.
inline StagedLogit staged_logit(const AttentionHead& head, std::int64_t i, std::int64_t j,
                                double score, double scale, bool low, Tanh how = Tanh::ex2) {
  StagedLogit out{score, 0};
  if (!head.natural_units()) return out;
  if (head.softcap == 0) {
    out.z = f32_if(low, score * scale);
  } else {
    const auto cap = static_cast<double>(head.softcap);
    out.tangent = staged_tanh(low, how, f32_if(low, score * f32_if(low, scale / cap)));
    if (how == Tanh::approx) return {out.tangent, out.tangent};
    out.z = f32_if(low, cap * out.tangent);
  }
  if (!head.bias.empty()) {
    out.z = f32_if(
        low, out.z + static_cast<double>(head.bias[static_cast<std::size_t>(i * head.keys + j)]));
  }
  return out;
}

// The factor from those units to base 2.
inline double staged_base2_factor(const AttentionHead& head, double scale, bool low) {
  const double log2e = f32_if(low, std::numbers::log2e);
  return head.natural_units() ? log2e : f32_if(low, scale * log2e);
}

}  // namespace plumbline
