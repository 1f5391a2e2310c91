// SPDX-License-Identifier: MIT
#include "fuzz/attention/crop.h"

#include <algorithm>
#include <array>

#include "fuzz/case/literal.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

struct Packed {
  std::string_view starts, matrix, field;
};

constexpr std::array kPacked = {Packed{"query_starts", "q", "queries"},
                                Packed{"key_starts", "k", "keys"}};

// Rows of all sequences that went at the front.
std::int64_t rows_gone_at_front(const Packed& packed, const Tensor& before, const Tensor& after,
                                std::span<const Removal> removals) {
  const bool at_front = std::any_of(removals.begin(), removals.end(), [&](const Removal& removal) {
    return removal.first == 0 && (removal.field == "batch" || removal.field == packed.field);
  });
  return at_front ? before.layout.shape[2] - after.layout.shape[2] : 0;
}

}  // namespace

void settle_attention_starts(const Case& before, std::span<const Removal> removals, Case& after) {
  for (const Packed& packed : kPacked) {
    const Tensor* all = find_literal(before.literals, packed.matrix);
    const Tensor* left = find_literal(after.literals, packed.matrix);
    if (!all || !left) continue;
    const std::int64_t gone = rows_gone_at_front(packed, *all, *left, removals);
    for (auto& [name, starts] : after.literals) {
      if (name != packed.starts) continue;
      const Format& element = format(starts.layout.format);
      for (std::int64_t i = 0; i < starts.layout.count(); ++i) {
        const double start = to_double(element, starts.bits(i)) - static_cast<double>(gone);
        const auto rows = static_cast<double>(left->layout.shape[2]);
        starts.set_bits(i, encode(element, i == 0 ? 0 : std::clamp(start, 0.0, rows)));
      }
    }
  }
}

}  // namespace plumbline
