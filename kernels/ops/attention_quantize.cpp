// SPDX-License-Identifier: MIT
#include "kernels/ops/attention_quantize.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/ops/attention_fields.h"
#include "kernels/ops/gemm_quantize.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

// The entry of a scale tensor that each row of [batch, heads, length] has: of [sequences, heads],
// or of [batch, heads, blocks]. Rows after the last sequence hold NaN, which no scale sees.
std::vector<std::int64_t> entries_of_rows(const AttentionProblem& attention, const Tensor& matrix,
                                          bool of_queries) {
  const std::vector<std::int64_t>& shape = matrix.layout.shape;
  std::vector<std::int64_t> entries(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
  if (attention.scale_block > 0) {
    const std::int64_t block = attention.scale_block, blocks = (shape[2] + block - 1) / block;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      entries[i] = row / shape[2] * blocks + row % shape[2] / block;
    }
    return entries;
  }
  const std::vector<HeadPlace> places = head_places(attention);
  std::int64_t sequences = attention.batch();
  if (attention.query_starts) sequences = attention.query_starts->layout.shape[0] - 1;
  for (const HeadPlace& place : places) {
    const std::int64_t head = of_queries ? place.head : place.kv_head;
    const std::int64_t first = of_queries ? place.first_query : place.first_key,
                       rows = of_queries ? place.queries : place.keys;
    const std::int64_t sequence = std::min(place.sequence, sequences - 1);
    for (std::int64_t row = first; row < first + rows; ++row) {
      const std::int64_t at = (place.batch * shape[1] + head) * shape[2] + row;
      entries[static_cast<std::size_t>(at)] = sequence * shape[1] + head;
    }
  }
  return entries;
}

}  // namespace

Tensor smoothed_keys(const AttentionProblem& attention, const Tensor& k) {
  Tensor smoothed = k;
  if (attention.sink || attention.softcap != 0) return smoothed;
  const TensorLayout& layout = k.layout;
  const Format& element = format(layout.format);
  const std::int64_t group = attention.heads() / attention.kv_heads();
  const bool shared = layout.shape[0] > 1 && layout.strides[0] == 0;
  const std::int64_t sequences =
      attention.query_starts ? attention.query_starts->layout.shape[0] - 1 : attention.batch();
  for (const HeadPlace& place : head_places(attention)) {
    const bool first_of_group = place.head % group == 0;
    if (!first_of_group || place.sequence == sequences || (shared && place.batch > 0)) continue;
    const std::int64_t first = layout.offset + place.batch * layout.strides[0] +
                               place.kv_head * layout.strides[1] +
                               place.first_key * layout.strides[2];
    for (std::int64_t x = 0; x < layout.shape[3]; ++x) {
      const auto at = [&](std::int64_t key) {
        return first + key * layout.strides[2] + x * layout.strides[3];
      };
      double sum = 0;
      for (std::int64_t key = 0; key < place.keys; ++key)
        sum += to_double(element, k.bits_at(at(key)));
      const double mean = sum / static_cast<double>(std::max<std::int64_t>(1, place.keys));
      for (std::int64_t key = 0; key < place.keys; ++key) {
        const double rest = to_double(element, k.bits_at(at(key))) - mean;
        smoothed.set_bits_at(at(key), encode(element, rest));
      }
    }
  }
  return smoothed;
}

void quantize_attention(const Problem& problem, const CaseTensors& sources, CaseTensors& tensors) {
  const AttentionProblem attention = attention_problem(problem, tensors);
  const Tensor keys = format(tensors.find("k")->layout.format).is_integer
                          ? smoothed_keys(attention, *sources.find("k"))
                          : *sources.find("k");
  constexpr std::array<std::array<std::string_view, 2>, 3> kInputs = {
      {{"q", "q_scale"}, {"k", "k_scale"}, {"v", "v_scale"}}};
  for (const auto& [matrix, scale] : kInputs) {
    const Tensor& source = matrix == "k" ? keys : *sources.find(matrix);
    const std::vector<std::int64_t> entries = entries_of_rows(attention, source, matrix == "q");
    const std::int64_t width = source.layout.shape[3];
    Tensor* scales = tensors.find(scale);
    const bool whole = scales && scales->layout.shape.size() == 1;  // one for the matrix
    quantize_tensor(source, *tensors.find(matrix), scales, [&](std::int64_t element) {
      return whole ? 0 : entries[static_cast<std::size_t>(element / width)];
    });
  }
}

}  // namespace plumbline
