// SPDX-License-Identifier: MIT
// What a forward pass would have left for the backward pass: O and LSE, computed in double by
// operations that are the same on every machine, and rounded to their formats.
#pragma once

#include <span>
#include <vector>

#include "kernels/manifest/operation.h"
#include "oracles/reference/attention/attention.h"

namespace plumbline {

// Of one query.
struct StoredRow {
  std::vector<double> o;  // [dv]
  double lse = 0;
};

StoredRow stored_attention_row(const AttentionHead& head, std::int64_t query);

}  // namespace plumbline
