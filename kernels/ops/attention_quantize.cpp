// SPDX-License-Identifier: MIT
#include "kernels/ops/attention_quantize.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/ops/attention_fields.h"
#include "kernels/ops/gemm_quantize.h"

namespace plumbline {
namespace {

// The entry of a scale tensor [sequences, heads] that each row of [batch, heads, length] has. Rows
// after the last sequence hold NaN, which no scale sees.
std::vector<std::int64_t> entries_of_rows(const AttentionProblem& attention, const Tensor& matrix,
                                          bool of_queries) {
  const std::vector<std::int64_t>& shape = matrix.layout.shape;
  std::vector<std::int64_t> entries(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
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

void quantize_attention(const Problem& problem, const CaseTensors& sources, CaseTensors& tensors) {
  const AttentionProblem attention = attention_problem(problem, tensors);
  constexpr std::array<std::array<std::string_view, 2>, 3> kInputs = {
      {{"q", "q_scale"}, {"k", "k_scale"}, {"v", "v_scale"}}};
  for (const auto& [matrix, scale] : kInputs) {
    const Tensor& source = *sources.find(matrix);
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
