// SPDX-License-Identifier: MIT
// Where the sequences of an attention problem begin: what the words of its field `lengths` mean.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "oracles/base/random.h"

namespace plumbline {

struct SequenceLengths {
  std::int64_t queries = 0, keys = 0;
};

// `batch` lengths that add up to at most batch * queries and batch * keys; exactly, but for the
// word "slack".
std::vector<SequenceLengths> attention_lengths(std::string_view word, std::int64_t batch,
                                               std::int64_t queries, std::int64_t keys,
                                               Random random);

}  // namespace plumbline
