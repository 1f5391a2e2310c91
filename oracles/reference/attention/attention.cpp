// SPDX-License-Identifier: MIT
#include "oracles/reference/attention/attention.h"

#include <algorithm>

#include "oracles/formats/decode.h"
#include "oracles/reference/attention/head_rows.h"

namespace plumbline {
namespace {

float element(const Tensor& tensor, std::int64_t storage_index) {
  return static_cast<float>(to_double(format(tensor.layout.format), tensor.bits_at(storage_index)));
}

std::int64_t integer_at(const Tensor& tensor, std::int64_t index) {
  return static_cast<std::int64_t>(to_double(format(tensor.layout.format), tensor.bits(index)));
}

float scale_at(const Tensor* scales, std::int64_t sequence, std::int64_t head) {
  if (!scales) return 1;
  if (scales->layout.shape.size() == 1) return element(*scales, scales->layout.offset);
  if (sequence >= scales->layout.shape[0]) return 1;
  return element(*scales, scales->layout.offset + sequence * scales->layout.strides[0] +
                              head * scales->layout.strides[1]);
}

}  // namespace

std::vector<HeadPlace> head_places(const AttentionProblem& problem) {
  const std::int64_t group = problem.heads() / problem.kv_heads();
  const bool varying = problem.query_starts != nullptr;
  const std::int64_t sequences =
      varying ? problem.query_starts->layout.count() - 1 : problem.batch();
  std::vector<HeadPlace> places;
  const auto add_heads = [&](HeadPlace place) {
    for (place.head = 0; place.head < problem.heads(); ++place.head) {
      place.kv_head = place.head / group;
      places.push_back(place);
    }
  };
  for (std::int64_t sequence = 0; sequence < sequences; ++sequence) {
    HeadPlace place;
    place.sequence = sequence;
    if (varying) {
      place.first_query = integer_at(*problem.query_starts, sequence);
      place.queries = integer_at(*problem.query_starts, sequence + 1) - place.first_query;
      place.first_key = integer_at(*problem.key_starts, sequence);
      place.keys = integer_at(*problem.key_starts, sequence + 1) - place.first_key;
    } else {
      place.batch = sequence;
      place.queries = problem.q->layout.shape[2];
      place.keys = problem.k->layout.shape[2];
    }
    add_heads(place);
  }
  if (!varying) return places;
  HeadPlace queries, keys;
  queries.sequence = keys.sequence = sequences;
  queries.first_query = integer_at(*problem.query_starts, sequences);
  queries.queries = problem.q->layout.shape[2] - queries.first_query;
  keys.first_key = integer_at(*problem.key_starts, sequences);
  keys.keys = problem.k->layout.shape[2] - keys.first_key;
  if (queries.queries > 0) add_heads(queries);
  if (keys.keys > 0) add_heads(keys);
  return places;
}

HeadScales head_scales(const AttentionProblem& problem, const HeadPlace& place) {
  if (problem.scale_block > 0) return {};
  return {scale_at(problem.q_scale, place.sequence, place.head),
          scale_at(problem.k_scale, place.sequence, place.kv_head),
          scale_at(problem.v_scale, place.sequence, place.kv_head)};
}

std::vector<float> block_scales(const AttentionProblem& problem, const Tensor& scales,
                                std::int64_t batch, std::int64_t head, std::int64_t first,
                                std::int64_t rows) {
  const TensorLayout& layout = scales.layout;
  std::vector<float> out;
  for (std::int64_t row = first; row < first + rows; ++row) {
    const std::int64_t block =
        std::clamp<std::int64_t>(row / problem.scale_block, 0, layout.shape[2] - 1);
    out.push_back(element(scales, layout.offset + batch * layout.strides[0] +
                                      head * layout.strides[1] + block * layout.strides[2]));
  }
  return out;
}

AttentionHead attention_head(const AttentionProblem& problem, const HeadPlace& place) {
  AttentionHead head;
  head.queries = place.queries;
  head.keys = place.keys;
  head.d = problem.d();
  head.dv = problem.dv();
  head.q = head_rows(*problem.q, place.batch, place.head, place.first_query, place.queries);
  head.k = head_rows(*problem.k, place.batch, place.kv_head, place.first_key, place.keys);
  head.v = head_rows(*problem.v, place.batch, place.kv_head, place.first_key, place.keys);
  if (problem.bias) {
    const TensorLayout& layout = problem.bias->layout;
    head.bias.reserve(static_cast<std::size_t>(place.queries * place.keys));
    for (std::int64_t i = 0; i < place.queries; ++i) {
      for (std::int64_t j = 0; j < place.keys; ++j) {
        head.bias.push_back(element(*problem.bias, layout.offset + place.head * layout.strides[0] +
                                                       i * layout.strides[1] +
                                                       j * layout.strides[2]));
      }
    }
  }
  head.has_sink = problem.sink != nullptr;
  if (head.has_sink) {
    head.sink = element(*problem.sink, problem.sink->layout.storage_index(place.head));
  }
  const HeadScales scales = head_scales(problem, place);
  head.scale = scale_in_effect(problem.scale, scales);
  if (problem.scale_block > 0) {
    head.q_scales = block_scales(problem, *problem.q_scale, place.batch, place.head,
                                 place.first_query, place.queries);
    head.k_scales = block_scales(problem, *problem.k_scale, place.batch, place.kv_head,
                                 place.first_key, place.keys);
    if (problem.v_scale) {
      head.v_scales = block_scales(problem, *problem.v_scale, place.batch, place.kv_head,
                                   place.first_key, place.keys);
    }
    head.scale_block = problem.scale_block;
    head.first_key = place.first_key;
  }
  head.v_scale = scales.v;
  head.softcap = problem.softcap;
  head.lse_in_base_2 = problem.lse == LseKind::base_2;
  head.mask = problem.mask;
  return head;
}

}  // namespace plumbline
