// SPDX-License-Identifier: MIT
// Relations of attention, forward and backward, that move rows or describe the same rows
// otherwise: what a row's outputs are is settled by the row, its head's keys and values, and which
// of them it sees; by tiles that are counted from the sequence's first key; and by nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/relations/magnitudes.h"
#include "harness/relations/related_attention.h"
#include "harness/relations/relation_families.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 5> kOutputs = {"o", "lse", "dq", "dk", "dv"};
// All of them; or those that have rows of queries, and are sums over keys.
constexpr std::span<const std::string_view> kAllOutputs(kOutputs), kRowOutputs(kOutputs.data(), 3);

std::string text(std::int64_t value) { return fmt::format("{}", value); }

// Heads that share keys keep sharing them. Their gradients dK and dV add up head by head, in the
// other order then.
Related reversed_heads(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  const std::int64_t batch = from.packed ? 1 : from.batch;
  if (!from.alike() || batch * from.heads < 2) return std::nullopt;
  const auto reverse = [packed = from.packed, batch](std::int64_t heads) {
    return [=](AttentionSpot spot) -> AttentionSpot {
      return {packed ? spot.batch : batch - 1 - spot.batch, heads - 1 - spot.head, spot.row};
    };
  };
  return moved(from, from.same(), {reverse(from.heads), reverse(from.kv_heads)},
               from.kv_heads == from.heads ? kAllOutputs : kRowOutputs);
}

// Without a mask all rows see the same keys. dK and dV add up rows.
Related reversed_queries(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  if (!from.alike() || from.packed || from.has_mask() || from.has_block_scales() ||
      from.queries < 2)
    return std::nullopt;
  AttentionMove move;
  move.queries = [queries = from.queries](AttentionSpot spot) -> AttentionSpot {
    return {spot.batch, spot.head, queries - 1 - spot.row};
  };
  return moved(from, from.same(), move, kRowOutputs);
}

// The last sequence that has queries and keys.
Related one_sequence(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  if (!from.alike() || from.batch < 2 || (from.packed && from.has_block_scales()))
    return std::nullopt;
  std::int64_t index = from.batch - 1;
  while (index > 0 && (from.sequence(index).queries == 0 || from.sequence(index).keys == 0))
    --index;
  const SequenceRows rows_of_sequence = from.sequence(index);
  if (rows_of_sequence.queries == 0) return std::nullopt;
  AttentionMove move;
  move.queries = [=](AttentionSpot spot) -> AttentionSpot {
    return {index, spot.head, rows_of_sequence.first_query + spot.row};
  };
  move.keys = [=](AttentionSpot spot) -> AttentionSpot {
    return {index, spot.head, rows_of_sequence.first_key + spot.row};
  };
  return moved(from,
               from.with_fields({{"batch", "1"},
                                 {"lengths", "full"},
                                 {"queries", text(rows_of_sequence.queries)},
                                 {"keys", text(rows_of_sequence.keys)}}),
               move, kAllOutputs);
}

void set_starts(Tensor& starts, std::int64_t length) {
  for (std::int64_t i = 0; i < starts.layout.count(); ++i)
    starts.set_bits(i, encode(format(starts.layout.format), static_cast<double>(i * length)));
}

// A batch of one length is a special case of packed sequences.
Related packed_batch(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  if (!from.alike() || from.packed || from.has_block_scales()) return std::nullopt;
  if (from.queries == 0 || from.keys == 0) return std::nullopt;
  Related run = from.with_fields({{"lengths", "random"}});
  if (!run) return std::nullopt;
  set_starts(*run->tensors.find("query_starts"), from.queries);
  set_starts(*run->tensors.find("key_starts"), from.keys);
  const auto unpacked = [](std::int64_t length) {
    return [=](AttentionSpot spot) -> AttentionSpot {
      return {spot.batch + spot.row / length, spot.head, spot.row % length};
    };
  };
  return moved(from, std::move(run), {unpacked(from.queries), unpacked(from.keys)}, kAllOutputs);
}

// K and V written out for every head and sequence that shares them. dK and dV are then of one head
// each, and add up to those before only within their bounds.
Related keys_of_their_own(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  const std::int64_t group = from.heads / from.kv_heads;
  if (!from.alike() || (group == 1 && from.is("kv", "own"))) return std::nullopt;
  AttentionMove move;
  move.keys = [group](AttentionSpot spot) -> AttentionSpot {
    return {spot.batch, spot.head / group, spot.row};
  };
  return moved(from, from.with_fields({{"kv_heads", "0"}, {"kv", "own"}}), move,
               group == 1 ? kAllOutputs : kRowOutputs);
}

// The first half of a causal problem's queries, with the keys that any of them sees: a tile
// without a visible key changes nothing, and in the last tile weights of 0 follow a sum that is
// complete. Parts would be cut elsewhere.
Related first_queries(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  const std::int64_t queries = (from.queries + 1) / 2, gone = from.queries - queries;
  const std::int64_t keys =
      from.is("causal", "top_left") ? std::min(from.keys, queries) : from.keys - gone;
  if (!from.alike() || from.packed || from.is("causal", "none") || from.size("splits") != 1)
    return std::nullopt;
  if (gone == 0 || keys < 1 || !from.all_finite()) return std::nullopt;
  return moved(from, from.with_fields({{"queries", text(queries)}, {"keys", text(keys)}}), {},
               kRowOutputs);
}

// Logits in natural units are fl(s scale); those that are only scaled keep s, and the scale is in
// the exponent. Multiplying by a power of two is exact, so the two are the same where no score is
// close to either end of f32.
bool scale_is_exact(const RelatedAttention& from) {
  constexpr int kMostExponent = 20, kRoom = 40;
  int exponent = 0;
  const bool power_of_two = std::frexp(from.problem.real("scale"), &exponent) == 0.5F &&
                            std::abs(exponent) <= kMostExponent;
  Magnitudes scores = magnitudes(from.tensors, "q") * magnitudes(from.tensors, "k");
  scores.unit -= kRoom;
  scores.most += kRoom;
  return power_of_two && from.is("scales", "none") && sums_are_normal(scores, from.size("d"));
}

bool natural_units(const RelatedAttention& from) {
  return from.problem.real("softcap") != 0 || !from.is("bias", "none") ||
         !from.is("sink", "none") || from.has_block_scales();
}

// Everything that can be there and mean nothing: a window that reaches over all keys, a bias of
// zeros, scales of 1.
Related neutral_features(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  const std::string everywhere = text(from.batch * (from.queries + from.keys));
  Related run = from.same();
  bool any = false;
  const auto turn_on = [&](const std::vector<FieldEdit>& edits, std::string_view ones) {
    Related more = other_problem(run->test_case, run->tensors, edits);
    if (!more || more->test_case.problem == run->test_case.problem) return;
    for (const TensorSpec& spec : more->tensors.specs) {
      if (!ones.empty() && spec.role == TensorRole::input && spec.name.ends_with(ones))
        fill(*more->tensors.find(spec.name), 1);
    }
    run = std::move(more);
    any = true;
  };
  if (from.size("window_left") < 0) turn_on({{"window_left", everywhere}}, {});
  if (from.size("window_right") < 0 && from.is("causal", "none"))
    turn_on({{"window_right", everywhere}}, {});
  if (from.is("bias", "none") && !from.packed && (natural_units(from) || scale_is_exact(from)))
    turn_on({{"bias", "f32"}}, {});
  const Magnitudes scale = magnitudes(from.problem.real("scale"));
  const bool may_have_scales =
      from.is("scales", "none") && std::abs(scale.least) < 30 && !from.flushes_subnormals();
  for (const std::string_view scales : {"head", "tensor"})
    if (may_have_scales) turn_on({{"scales", std::string(scales)}}, "_scale");
  if (!any) return std::nullopt;
  return moved(from, std::move(run), {}, kAllOutputs);
}

// The corners of a square are on one diagonal.
Related other_corner(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  if (from.is("causal", "none")) return std::nullopt;
  for (std::int64_t i = 0; i < (from.packed ? from.batch : 1); ++i)
    if (from.sequence(i).queries != from.sequence(i).keys) return std::nullopt;
  const std::string_view corner = from.is("causal", "top_left") ? "bottom_right" : "top_left";
  return moved(from, from.with_fields({{"causal", std::string(corner)}}), {}, kAllOutputs);
}

// One more part, cut so that it holds no key: its maximum is -inf, and it adds 0 to all sums. (One
// part alone takes in a sink before its lanes are joined, several do so after.)
Related empty_part(const Case& test_case, const CaseTensors& tensors) {
  const RelatedAttention from{test_case, tensors};
  if (from.problem.real("scale") <= 0) return std::nullopt;
  const AttentionContract before = from.contract();
  AttentionContract after = before;
  ++after.parts;
  if (before.parts == 1) return std::nullopt;
  for (std::int64_t i = 0; i < (from.packed ? from.batch : 1); ++i) {
    const std::int64_t keys = from.sequence(i).keys;
    if (before.part_keys(keys) != after.part_keys(keys)) return std::nullopt;
  }
  return moved(from, from.with_fields({{"splits", text(after.parts)}}), {}, kAllOutputs);
}

}  // namespace

std::vector<Relation> attention_place_relations(std::string_view operation) {
  if (operation != "attention" && operation != "attention_backward") return {};
  std::vector<Relation> relations = {
      {"A10", "K and V written out for every head and sequence change no row", keys_of_their_own},
      {"A11a", "a sequence is the same alone", one_sequence},
      {"A11b", "a batch is the same packed", packed_batch},
      {"A12", "the first queries of a causal problem are the same alone", first_queries},
      {"A14a", "reversing sequences and heads reverses those of the outputs", reversed_heads},
      {"A14b", "reversing the queries reverses the rows of their outputs", reversed_queries},
      {"A19", "features that do nothing change nothing", neutral_features},
      {"A20", "both causal corners of a square are one", other_corner},
  };
  if (operation == "attention")
    relations.push_back({"A13", "an empty part of the keys changes nothing", empty_part});
  return relations;
}

}  // namespace plumbline
