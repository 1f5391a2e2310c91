// SPDX-License-Identifier: MIT
#include "kernels/ops/attention_layout.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "kernels/manifest/bad_input.h"

namespace plumbline {
namespace {

enum Dimension : std::size_t { kBatch, kHead, kLength };

// The first three dimensions from the slowest to the fastest, as the layout's letters say.
std::array<Dimension, 3> order_of(std::string_view layout) {
  std::array<Dimension, 3> order{};
  for (std::size_t i = 0; i < 3; ++i) {
    order[i] = layout[i] == 'b' ? kBatch : layout[i] == 'h' ? kHead : kLength;
  }
  return order;
}

}  // namespace

std::int64_t attention_kv_heads(const Problem& problem) {
  const std::int64_t given = problem.integer("kv_heads");
  return given != 0 ? given : problem.integer("heads");
}

std::int64_t attention_value_width(const Problem& problem) {
  const std::int64_t given = problem.integer("dv");
  return given != 0 ? given : problem.integer("d");
}

bool attention_lengths_vary(const Problem& problem) { return problem.word("lengths") != "full"; }

Result<TensorLayout> attention_layout(const Problem& problem, AttentionMatrix matrix,
                                      FormatId format) {
  using enum AttentionMatrix;
  const bool shareable = matrix == k || matrix == v;
  const bool keys = shareable || matrix == dk || matrix == dv;
  const bool values = matrix == v || matrix == o || matrix == dv;
  const bool vary = attention_lengths_vary(problem);
  const std::int64_t length = problem.integer(keys ? "keys" : "queries");
  const std::int64_t batch = problem.integer("batch");
  TensorLayout layout;
  layout.format = format;
  layout.shape = {vary ? 1 : batch, keys ? attention_kv_heads(problem) : problem.integer("heads"),
                  vary ? batch * length : length,
                  values ? attention_value_width(problem) : problem.integer("d")};
  layout.strides.assign(4, 1);
  std::int64_t stride = layout.shape[3] + problem.integer("pad");
  const std::array<Dimension, 3> order = order_of(problem.word("layout"));
  for (std::size_t i = order.size(); i-- > 0;) {
    layout.strides[order[i]] = stride;
    if (__builtin_mul_overflow(stride, layout.shape[order[i]], &stride)) {
      return bad_input(
          fmt::format("rows of {} elements and {} of padding reach further than 63 bits",
                      layout.shape[3], problem.integer("pad")),
          "use less padding");
    }
  }
  if (shareable && problem.word("kv") == "shared") layout.strides[kBatch] = 0;
  if (const Status usable = layout.check(); !usable) return usable.error();
  return layout;
}

}  // namespace plumbline
