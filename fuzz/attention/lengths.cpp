// SPDX-License-Identifier: MIT
#include "fuzz/attention/lengths.h"

#include <algorithm>

#include "fuzz/grouped/routing.h"

namespace plumbline {

namespace {

using Rows = std::vector<std::int64_t>;

// A quarter of the rows, and at least one, belong to no sequence.
std::int64_t without_slack(std::int64_t rows) {
  return std::max<std::int64_t>(0, rows - std::max<std::int64_t>(1, rows / 4));
}

// Every sequence has one key, as each has one query; or any number, as when decoding a batch.
Rows keys_of_ones(std::int64_t rows, std::int64_t batch, Random random) {
  const bool one = random.below(2) == 0;
  return grouped_sizes(one ? "ones" : "random", rows, batch, random);
}

}  // namespace

std::vector<SequenceLengths> attention_lengths(std::string_view word, std::int64_t batch,
                                               std::int64_t queries, std::int64_t keys,
                                               Random random) {
  std::vector<SequenceLengths> lengths(static_cast<std::size_t>(batch), {queries, keys});
  if (word == "full") return lengths;
  std::int64_t query_rows = batch * queries, key_rows = batch * keys;
  if (word == "slack") {
    query_rows = without_slack(query_rows);
    key_rows = without_slack(key_rows);
  }
  // Drawn apart: with gaps, sequences have queries and no keys, keys and no queries, both, neither.
  const std::string_view routing = word == "slack" ? "random" : word;
  const Rows of_queries = grouped_sizes(routing, query_rows, batch, random.fork(1));
  const Rows of_keys = routing == "ones" ? keys_of_ones(key_rows, batch, random.fork(2))
                                         : grouped_sizes(routing, key_rows, batch, random.fork(2));
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = {of_queries[i], of_keys[i]};
  return lengths;
}

}  // namespace plumbline
