// SPDX-License-Identifier: MIT
#include "fuzz/attention/backward_designed.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "fuzz/attention/designed.h"
#include "fuzz/attention/shapes.h"
#include "kernels/manifest/manifest.h"

namespace plumbline {

namespace {

bool has_scales(const Manifest& manifest) {
  return std::any_of(manifest.schema().begin(), manifest.schema().end(), [](const Field& field) {
    return field.name == "scales" && field.choices.size() > 1;
  });
}

}  // namespace

std::vector<DesignedCase> attention_backward_designed(const Manifest& manifest) {
  std::vector<DesignedCase> cases = attention_designed(manifest);
  const AttentionTile tile = attention_tile(manifest);
  const std::int64_t width = attention_narrow_width(manifest);
  const auto add = [&](std::int64_t queries, std::int64_t keys, std::string_view rest,
                       std::string_view value, std::string_view shape, std::string_view purpose) {
    cases.push_back(
        {fmt::format("queries={} keys={} d={} scale=0.3 {}", queries, keys, width, rest),
         std::string(value), std::string(shape), "bhs", std::string(purpose)});
  };
  const std::int64_t q = tile.queries, k = tile.keys;
  const std::string_view delta = "delta left out, of another row, or of a rounded product";
  for (const std::string_view rest : {"", "out=f32", "heads=3 layout=bsh batch=2", "dv=40"}) {
    add(9, 12, rest, "parallel_gradient", "tiny", delta);
    add(q + 3, k + 5, rest, "parallel_gradient", "more_keys", delta);
  }
  const std::string_view last = "the last rows, or the last tile, of either side left out";
  for (const std::string_view rest : {"", "causal=bottom_right", "causal=top_left", "out=f32"}) {
    add(2 * q + 1, 2 * k + 1, rest, "late_gradient", "square", last);
    add(q + 1, 2 * k + 1, rest, "late_gradient", "more_keys", last);
    add(2 * q + 1, k + 1, rest, "late_gradient", "more_queries", last);
    add(q + 1, k + 1, rest, "normal", "square", last);
  }
  const std::string_view group = "dK and dV of some query heads only, or joined in f16";
  for (const std::string_view heads :
       {"heads=6 kv_heads=2", "heads=3 kv_heads=1", "heads=12 kv_heads=2 batch=2"}) {
    add(9, 12, heads, "normal", "grouped_heads", group);
    add(q + 1, 20, fmt::format("{} out=f32", heads), "normal", "grouped_heads", group);
  }
  const std::string_view cap = "the derivative of the cap left out";
  for (const std::string_view rest : {"softcap=1.5", "softcap=2 out=f32", "softcap=1.5 bias=f32"})
    add(9, 20, rest, "normal", "more_keys", cap);
  if (has_scales(manifest)) {
    const std::string_view steps =
        "a scale that one of the products lacks, has twice, or has of another";
    for (const std::string_view rest :
         {"", "out=f32", "heads=4 kv_heads=2", "softcap=2 out=f32", "bias=f32", "dv=40",
          "causal=bottom_right sink=f32", "lengths=gaps batch=4", "kv=shared batch=2"}) {
      for (const std::string_view value : {"normal", "parallel_gradient"})
        add(9, 12, fmt::format("scales=tensor {}", rest), value, "tiny", steps);
    }
    for (const std::string_view value :
         {"high_scores", "equal_scores", "outliers", "wide", "large", "subnormal", "late_gradient"})
      add(q + 9, k + 9, "scales=tensor out=f32", value, "square",
          "weights that saturate or become 0 where they should not, or the other way round");
    for (const std::string_view rest :
         {"", "batch=2", "heads=2", "dv=24", "causal=bottom_right", "layout=bsh", "lengths=random"})
      add(40, 60, fmt::format("scales=tensor out=f32 {}", rest), "lowest_scores", "more_keys",
          "factors of the scores multiplied in another order than forward");
  }
  const std::string_view nothing = "gradients left as they were in memory";
  for (const std::string_view rest :
       {"", "out=f32", "heads=4 kv_heads=2", "lengths=gaps batch=5", "lengths=slack batch=3"})
    add(9, 12, rest, "zero_gradient", "tiny", nothing);
  for (const std::string_view word : {"gaps", "slack", "ones"}) {
    add(40, k, fmt::format("lengths={} batch=4 heads=2 kv_heads=1", word), "normal", "batched",
        "empty sequences, and rows after the last: their gradients are written too");
  }
  return cases;
}

}  // namespace plumbline
