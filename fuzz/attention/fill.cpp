// SPDX-License-Identifier: MIT
// The tensors of an attention problem: where the sequences begin, then every element by the pattern
// of its class. Rows that belong to no sequence hold NaN: nothing may come of them.
#include "fuzz/attention/fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/attention/scales.h"
#include "fuzz/gemm/shared_fill.h"
#include "kernels/ops/attention_fields.h"
#include "kernels/ops/attention_layout.h"
#include "oracles/base/assert.h"
#include "oracles/base/hash.h"
#include "oracles/formats/encode.h"

namespace plumbline {

namespace {

enum class Side : std::uint8_t { queries, keys };

std::int64_t length_of(const SequenceLengths& lengths, Side side) {
  return side == Side::queries ? lengths.queries : lengths.keys;
}

// Where a spot's row lies in a matrix: [batch, heads, length, width].
class RowPlace {
 public:
  RowPlace(const Tensor& matrix, const AttentionContext& context, Side side, bool packed)
      : layout_(matrix.layout), packed_(packed), starts_{0} {
    for (const SequenceLengths& lengths : context.sequences)
      starts_.push_back(starts_.back() + length_of(lengths, side));
  }

  std::int64_t operator()(const AttentionSpot& at) const {
    const auto& strides = layout_.strides;
    const std::int64_t batch = packed_ ? 0 : at.sequence;
    return layout_.offset + batch * strides[0] + at.head * strides[1] + row(at) * strides[2];
  }

  // Among all rows of its head.
  std::int64_t row(const AttentionSpot& at) const {
    return packed_ ? starts_[static_cast<std::size_t>(at.sequence)] + at.row : at.row;
  }

  // The rows after the last sequence.
  std::int64_t first_slack() const { return packed_ ? starts_.back() : layout_.shape[2]; }

 private:
  const TensorLayout& layout_;
  bool packed_;
  std::vector<std::int64_t> starts_;
};

// A format without Inf takes its largest number for what is larger; NaN and Inf become what they
// can.
std::uint64_t stored(const Format& element, double value) {
  const bool saturates = !element.has_infinity() && std::isfinite(value);
  return encode(element, value,
                {.overflow = saturates ? Overflow::saturate : Overflow::to_special});
}

class Filler {
 public:
  Filler(const Case& test_case, CaseTensors& tensors)
      : tensors_(tensors),
        context_(attention_context(test_case, tensors)),
        packed_(attention_lengths_vary(test_case.problem)) {}

  void matrix(std::string_view name, Side side, const AttentionValues& values,
              const std::vector<AttentionPlacement>& placements) {
    Tensor& matrix = *tensors_.find(name);
    const RowPlace place(matrix, context_, side, packed_);
    const TensorLayout& layout = matrix.layout;
    const Format& element = format(layout.format);
    const std::int64_t heads = layout.shape[1], width = layout.shape[3], step = layout.strides[3];
    const bool shared = !packed_ && layout.shape[0] > 1 && layout.strides[0] == 0;
    const std::string scale = fmt::format("{}_scale", name);
    AttentionScales scales(element, tensors_.find(scale), shared, name == "v");
    const auto each_row = [&](const auto& use) {
      const std::size_t sequences = shared ? 1 : context_.sequences.size();
      AttentionSpot at;
      for (at.sequence = 0; at.sequence < static_cast<std::int64_t>(sequences); ++at.sequence) {
        const std::int64_t rows = length_of(context_.lengths(at), side);
        for (at.head = 0; at.head < heads; ++at.head) {
          for (at.row = 0; at.row < rows; ++at.row) use(at);
        }
      }
    };
    if (scales.any()) {
      each_row([&](AttentionSpot at) {
        for (at.column = 0; at.column < width; ++at.column)
          scales.see(at, place.row(at), values(at));
      });
      scales.draw(context_.stream(scale));
    }
    each_row([&](AttentionSpot at) {
      const double unit = scales.unit(at, place.row(at));
      const std::int64_t start = place(at);
      for (at.column = 0; at.column < width; ++at.column)
        matrix.set_bits_at(start + at.column * step, stored(element, values(at) / unit));
    });
    for (const AttentionPlacement& placement : placements) {
      if (placement.tensor != name) continue;
      AttentionSpot spot = placement.at;
      if (shared) spot.sequence = 0;
      matrix.set_bits_at(place(spot) + spot.column * step,
                         stored(element, placement.value / scales.unit(spot, place.row(spot))));
    }
    fill_slack(matrix, place.first_slack());
  }

  void bias(const AttentionValues& values, const std::vector<AttentionPlacement>& placements) {
    Tensor* bias = tensors_.find("bias");
    fill_matrix(
        bias, [&](const At& at) { return values(AttentionSpot{0, at.batch, at.row, at.column}); });
    for (const AttentionPlacement& placement : placements) {
      const AttentionSpot& at = placement.at;
      if (placement.tensor == "bias") place(bias, {at.head, at.row, at.column}, placement.value);
    }
  }

  void sink(const AttentionPattern& pattern) {
    Tensor* sink = tensors_.find("sink");
    fill_vector(sink, pattern.sink);
    for (const AttentionPlacement& placement : pattern.placements) {
      if (placement.tensor == "sink") place(sink, {0, 0, placement.at.head}, placement.value);
    }
  }

  void starts(std::string_view name, Side side) {
    Tensor* starts = tensors_.find(name);
    if (!starts) return;
    std::int64_t start = 0, index = 0;
    const Format& element = format(starts->layout.format);
    const auto append = [&] {
      starts->set_bits(index++, encode(element, static_cast<double>(start)));
    };
    append();
    for (const SequenceLengths& lengths : context_.sequences) {
      start += length_of(lengths, side);
      append();
    }
  }

  const AttentionContext& context() const { return context_; }

 private:
  static void fill_slack(Tensor& matrix, std::int64_t first) {
    const TensorLayout& layout = matrix.layout;
    const Format& element = format(layout.format);
    const std::uint64_t bits = element.has_nan() ? element.canonical_nan : element.max_finite();
    for (std::int64_t head = 0; head < layout.shape[1]; ++head) {
      for (std::int64_t row = first; row < layout.shape[2]; ++row) {
        const std::int64_t start =
            layout.offset + head * layout.strides[1] + row * layout.strides[2];
        for (std::int64_t column = 0; column < layout.shape[3]; ++column)
          matrix.set_bits_at(start + column * layout.strides[3], bits);
      }
    }
  }

  CaseTensors& tensors_;
  AttentionContext context_;
  bool packed_;
};

}  // namespace

AttentionContext attention_context(const Case& test_case, const CaseTensors& tensors) {
  const Problem& problem = test_case.problem;
  AttentionContext context;
  context.random = recipe_random(test_case.recipe);
  context.sequences = attention_lengths(problem.word("lengths"), problem.integer("batch"),
                                        problem.integer("queries"), problem.integer("keys"),
                                        context.random.fork(fingerprint("lengths")));
  context.heads = problem.integer("heads");
  context.kv_heads = attention_kv_heads(problem);
  context.d = problem.integer("d");
  context.dv = attention_value_width(problem);
  context.scale = static_cast<double>(problem.real("scale"));
  context.mask = attention_problem(problem, tensors).mask;
  context.has_bias = tensors.find("bias") != nullptr;
  context.q = &element_format(tensors, "q");
  context.k = &element_format(tensors, "k");
  context.v = &element_format(tensors, "v");
  return context;
}

void attention_fill(const Case& test_case, CaseTensors& tensors) {
  Filler filler(test_case, tensors);
  const auto classes = attention_value_classes();
  const auto found =
      std::find_if(classes.begin(), classes.end(), [&](const AttentionValueClass& candidate) {
        return candidate.name == test_case.recipe.value_class;
      });
  PLUMB_ASSERT(found != classes.end());
  const AttentionPattern pattern = found->pattern(filler.context());
  filler.matrix("q", Side::queries, pattern.q, pattern.placements);
  filler.matrix("k", Side::keys, pattern.k, pattern.placements);
  filler.matrix("v", Side::keys, pattern.v, pattern.placements);
  filler.bias(pattern.bias, pattern.placements);
  filler.sink(pattern);
  filler.starts("query_starts", Side::queries);
  filler.starts("key_starts", Side::keys);
}

}  // namespace plumbline
