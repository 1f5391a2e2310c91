// SPDX-License-Identifier: MIT
// GradientOperands: one group's data as its judge works with them. Elements that are NaN or Inf
// count as 0 here; attention_backward/special.h knows what they do.
//
// All three gradients are weighted sums of rows, "lines" of weights times rows in the order in
// which a kernel adds them:
//   dQ of query i   a line over the keys          weights G_ij   rows of K
//   dK of key j     a line over all queries       weights G_ij   rows of Q
//   dV of key j     a line over all queries       weights P_ij   rows of dO
// Weights and rows are as a kernel's accumulator meets them: P * 2^p_shift, dS * ds_scale, elements
// as they are stored. "All queries" are those of the group's heads, one head after the other. A
// head starts with an instruction of its own: its queries are padded to a multiple of what one
// takes, with zeros.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "oracles/bounds/accumulator/a_priori.h"
#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/bounds/contract/f32_range.h"
#include "oracles/bounds/uncertain_sum.h"
#include "oracles/formats/format.h"
#include "oracles/reference/attention_backward/attention_backward.h"

namespace plumbline {

enum class GradientOutput : std::uint8_t { dq, dk, dv };

// A contract on a chip: the models of its five products.
struct GradientModels {
  BoundModel score, dp, dv, dk, dq;

  GradientModels(const AttentionBackwardProblem& problem, const AttentionBackwardContract& contract,
                 int sm);
};

// Rows [rows, width] with what bounds need of them.
struct GradientRows {
  std::int64_t rows = 0, width = 0;
  std::vector<float> value;        // not finite: 0
  std::vector<double> wide;        // the same
  std::vector<double> transposed;  // [width, rows]
  std::vector<VectorSize> size;    // of each row
  std::vector<VectorSize> column;  // of each column
  PreparedColumns prepared;

  GradientRows() = default;
  GradientRows(const std::vector<float>& values, std::int64_t row_count, std::int64_t row_width,
               int minimum_exponent);

  const float* row(std::int64_t r) const { return value.data() + r * width; }
};

// What row i of a query head brings along.
struct GradientQuery {
  bool live = false;                           // its LSE is finite
  double lse = 0, delta = 0, delta_error = 0;  // delta in FP64 and how far off that may be
  F32Range kernel_delta;                       // what a kernel may have computed
  float kernel_lse = 0;                        // fl(LSE * fl(log2 e))
};

struct GradientOperands {
  AttentionBackwardContract contract;
  GradientModels models;
  GradientGroup group;
  GradientScales scales;
  std::int64_t queries = 0, padded = 0, keys = 0, d = 0, width_v = 0;  // `padded` queries per head
  FormatId output = FormatId::bf16;
  GradientRows q, d_o;  // [heads * padded, ...]
  GradientRows k, v;
  std::vector<GradientQuery> query;  // [heads * padded]

  GradientOperands(const AttentionBackwardProblem& problem,
                   const AttentionBackwardContract& contract_of_kernel, int sm,
                   const std::vector<HeadPlace>& places);

  std::int64_t heads() const { return static_cast<std::int64_t>(group.heads.size()); }

  const AttentionHead& head(std::int64_t h) const {
    return group.heads[static_cast<std::size_t>(h)].head;
  }

  const GradientQuery& query_of(std::int64_t h, std::int64_t i) const {
    return query[static_cast<std::size_t>(h * padded + i)];
  }

  // Lines, terms per line and width of an output. Lines of dQ are queries, head after head.
  std::int64_t lines(GradientOutput o) const {
    return o == GradientOutput::dq ? heads() * queries : keys;
  }

  std::int64_t terms(GradientOutput o) const {
    return o == GradientOutput::dq ? keys : heads() * padded;
  }

  const GradientRows& rows(GradientOutput o) const {
    return o == GradientOutput::dq ? k : o == GradientOutput::dk ? q : d_o;
  }

  const BoundModel& model(GradientOutput o) const {
    return o == GradientOutput::dq ? models.dq : o == GradientOutput::dk ? models.dk : models.dv;
  }

  FormatId weight_format(GradientOutput o) const {
    return o == GradientOutput::dv ? contract.p : contract.ds;
  }

  // What an output's sums are multiplied by.
  float factor(GradientOutput o) const;
};

// Where a pair of a line and a term lies.
struct GradientPair {
  std::int64_t head, i, j;
};

}  // namespace plumbline
