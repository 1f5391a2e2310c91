// SPDX-License-Identifier: MIT
#include "harness/relations/related_attention.h"

#include <algorithm>
#include <array>

#include "harness/relations/magnitudes.h"
#include "kernels/ops/attention_fields.h"
#include "oracles/formats/decode.h"

namespace plumbline {
namespace {

// What a tensor's dimensions stand for.
enum class Kind : std::uint8_t {
  query_rows,
  key_rows,
  query_scales,
  key_scales,
  bias,
  sink,
  other
};

Kind kind_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Kind>, 15> kKinds = {{
      {"q", Kind::query_rows},
      {"o", Kind::query_rows},
      {"lse", Kind::query_rows},
      {"do", Kind::query_rows},
      {"dq", Kind::query_rows},
      {"k", Kind::key_rows},
      {"v", Kind::key_rows},
      {"dk", Kind::key_rows},
      {"dv", Kind::key_rows},
      {"q_scale", Kind::query_scales},
      {"k_scale", Kind::key_scales},
      {"v_scale", Kind::key_scales},
      {"bias", Kind::bias},
      {"sink", Kind::sink},
      {"workspace", Kind::other},
  }};
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == kKinds.end() ? Kind::other : found->second;
}

constexpr std::int64_t kScaleBlock = 64;  // rows

// Indices of [batch, heads, rows / step, width] or [batch, heads]: shapes as tensors have them.
struct Indexing {
  std::vector<std::int64_t> shape;
  std::int64_t step = 1;

  std::int64_t at(std::size_t dimension) const {
    return dimension < shape.size() ? shape[dimension] : 1;
  }

  AttentionSpot spot(std::int64_t index) const {
    const std::int64_t row = index / at(3);
    return {row / at(2) / at(1), row / at(2) % at(1), row % at(2) * step};
  }

  // Packed sequences have rows in batch 0, but scales of their own; a head's scale has no row.
  std::int64_t index(const AttentionSpot& spot, std::int64_t column) const {
    const std::int64_t batch = std::min(spot.batch, at(0) - 1);
    const std::int64_t row = shape.size() > 2 ? spot.row / step : 0;
    return ((batch * at(1) + spot.head) * at(2) + row) * at(3) + column;
  }
};

// Rows of `to` from rows of `from`.
Source rows_of(const TensorLayout& from, const TensorLayout& to, std::int64_t step,
               const AttentionMove::Origin& origin) {
  return [origin, source = Indexing{from.shape, step}, target = Indexing{to.shape, step}](
             std::int64_t i) { return source.index(origin(target.spot(i)), i % target.at(3)); };
}

// [heads, queries, keys]; heads are those of queries.
Source bias_of(const TensorLayout& from, const TensorLayout& to, std::int64_t group,
               const AttentionMove& move) {
  return [=](std::int64_t i) {
    const std::int64_t key = i % to.shape[2], query = i / to.shape[2] % to.shape[1],
                       head = i / to.shape[2] / to.shape[1];
    const AttentionSpot row = move.queries({0, head, query});
    const AttentionSpot column = move.keys({0, head / group, key});
    return (row.head * from.shape[1] + row.row) * from.shape[2] + column.row;
  };
}

Source source_of(const std::string& name, const RelatedAttention& from, const RelatedRun& run,
                 const AttentionMove& move) {
  const TensorLayout& before = from.tensors.find(name)->layout;
  const TensorLayout& after = run.tensors.find(name)->layout;
  const Kind kind = kind_of(name);
  const std::int64_t step = before.shape.size() == 3 ? kScaleBlock : 1;  // of scales
  const bool one_for_all = before.shape.size() == 1 && kind != Kind::sink;
  if (kind == Kind::other || one_for_all) return [](std::int64_t i) { return i; };
  if (kind == Kind::query_rows) return rows_of(before, after, 1, move.queries);
  if (kind == Kind::key_rows) return rows_of(before, after, 1, move.keys);
  if (kind == Kind::query_scales) return rows_of(before, after, step, move.queries);
  if (kind == Kind::key_scales) return rows_of(before, after, step, move.keys);
  if (kind == Kind::sink)
    return [origin = move.queries](std::int64_t head) { return origin({0, head, 0}).head; };
  const std::int64_t kv_heads = run.tensors.find("k")->layout.shape[1];
  return bias_of(before, after, after.shape[0] / kv_heads, move);
}

}  // namespace

bool RelatedAttention::all_finite() const {
  constexpr std::array<std::string_view, 5> kMatrices = {"q", "k", "v", "o", "do"};
  return std::all_of(kMatrices.begin(), kMatrices.end(), [&](std::string_view name) {
    const bool input = backward || name != "o";
    return !input || magnitudes(tensors, name).finite;
  });
}

bool RelatedAttention::alike() const {
  constexpr std::int64_t kWidestLoad = 16;  // bytes
  if (!alike_everywhere(promises(test_case))) return false;
  if (!backward) return true;
  constexpr std::array<std::string_view, 2> kOfDelta = {"o", "do"};
  return std::all_of(kOfDelta.begin(), kOfDelta.end(), [&](std::string_view name) {
    const TensorLayout& layout = tensors.find(name)->layout;
    return std::all_of(layout.strides.begin(), layout.strides.end() - 1, [&](std::int64_t stride) {
      return stride * format(layout.format).storage_bytes() % kWidestLoad == 0;
    });
  });
}

SequenceRows RelatedAttention::sequence(std::int64_t index) const {
  if (!packed) return {0, queries, 0, keys};
  const auto start = [&](std::string_view name, std::int64_t i) {
    const Tensor& starts = *tensors.find(name);
    return static_cast<std::int64_t>(to_double(format(starts.layout.format), starts.bits(i)));
  };
  SequenceRows rows;
  rows.first_query = start("query_starts", index);
  rows.queries = start("query_starts", index + 1) - rows.first_query;
  rows.first_key = start("key_starts", index);
  rows.keys = start("key_starts", index + 1) - rows.first_key;
  return rows;
}

AttentionContract RelatedAttention::contract() const {
  return attention_contract(test_case.kernel->terms, problem);
}

std::optional<RelatedRun> moved(const RelatedAttention& from, std::optional<RelatedRun> run,
                                const AttentionMove& move,
                                std::span<const std::string_view> outputs) {
  if (!run) return std::nullopt;
  for (const TensorSpec& spec : run->tensors.specs) {
    const Tensor* before = from.tensors.find(spec.name);
    if (!before || kind_of(spec.name) == Kind::other) continue;
    const Source source = source_of(spec.name, from, *run, move);
    if (spec.role == TensorRole::input &&
        !rearrange(*before, *run->tensors.find(spec.name), source))
      return std::nullopt;
    const bool follows = std::find(outputs.begin(), outputs.end(), spec.name) != outputs.end();
    if (spec.role == TensorRole::output && follows) run->outputs.push_back({spec.name, 1, source});
  }
  return run;
}

}  // namespace plumbline
