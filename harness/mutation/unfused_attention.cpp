// SPDX-License-Identifier: MIT
#include "harness/mutation/unfused_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ops/attention_fields.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/attention/head_rows.h"

namespace plumbline {
namespace {

// A dense matrix of numbers of the format it is stored in.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values;

  Matrix(std::int64_t height, std::int64_t width)
      : rows(height), columns(width), values(static_cast<std::size_t>(height * width)) {}

  Matrix(std::int64_t height, std::int64_t width, const std::vector<float>& numbers)
      : rows(height), columns(width), values(numbers.begin(), numbers.end()) {}

  double& at(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * columns + j)];
  }

  double at(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
};

class Unfused {
 public:
  Unfused(const AttentionHead& head, const Format& stored)
      : head_(head),
        stored_(stored),
        q_(head.queries, head.d, head.q),
        k_(head.keys, head.d, head.k),
        v_(head.keys, head.dv, head.v),
        p_(head.queries, head.keys),
        capped_(head.queries, head.keys) {
    for (double& x : k_.values) x = rounded(x * head.scale);  // FlashAttention's "reordered" form
    for (std::int64_t i = 0; i < head.queries; ++i) softmax(i);
  }

  Matrix output() const { return product(p_, v_); }

  struct Gradients {
    Matrix dq, dk, dv;
  };

  Gradients gradients(const Matrix& d_o) const {
    Matrix d_s(head_.queries, head_.keys);
    for (std::int64_t i = 0; i < head_.queries; ++i) {
      double mean = 0;
      for (std::int64_t j = 0; j < head_.keys; ++j) {
        double d_p = 0;
        for (std::int64_t x = 0; x < head_.dv; ++x) d_p += d_o.at(i, x) * v_.at(j, x);
        d_s.at(i, j) = rounded(d_p);
        mean += p_.at(i, j) * d_s.at(i, j);
      }
      for (std::int64_t j = 0; j < head_.keys; ++j) {
        double& d = d_s.at(i, j);
        d = rounded(p_.at(i, j) * (d - mean));
        if (head_.softcap == 0) continue;
        const double tangent = capped_.at(i, j);
        d = rounded(rounded(rounded(d * head_.softcap) * (1 - tangent * tangent)) / head_.softcap);
      }
    }
    Matrix d_k = product(transposed(d_s), q_);
    for (double& x : d_k.values) x = rounded(x * head_.scale);
    return {product(d_s, k_), std::move(d_k), product(transposed(p_), d_o)};
  }

  double rounded(double x) const { return to_double(stored_, encode(stored_, x)); }

 private:
  // Row i of the probabilities.
  void softmax(std::int64_t i) {
    const KeyRange visible = head_.visible(i);
    double largest = head_.has_sink ? head_.sink : -std::numeric_limits<double>::infinity();
    const auto first = std::max<std::int64_t>(visible.first, 0);
    for (std::int64_t j = first; j < visible.end; ++j) {
      double score = 0;
      for (std::int64_t x = 0; x < head_.d; ++x) score += q_.at(i, x) * k_.at(j, x);
      score = rounded(score);
      if (head_.softcap != 0) {
        capped_.at(i, j) = rounded(std::tanh(rounded(score / head_.softcap)));
        score = rounded(capped_.at(i, j) * head_.softcap);
      }
      if (!head_.bias.empty())
        score = rounded(score + head_.bias[static_cast<std::size_t>(i * head_.keys + j)]);
      p_.at(i, j) = score;
      largest = std::max(largest, score);
    }
    if (std::isinf(largest) && largest < 0) {  // nothing is visible
      for (std::int64_t j = first; j < visible.end; ++j) p_.at(i, j) = 0;
      return;
    }
    double sum = head_.has_sink ? std::exp(head_.sink - largest) : 0;
    for (std::int64_t j = first; j < visible.end; ++j)
      sum += p_.at(i, j) = std::exp(p_.at(i, j) - largest);
    for (std::int64_t j = first; j < visible.end; ++j) p_.at(i, j) = rounded(p_.at(i, j) / sum);
  }

  static Matrix transposed(const Matrix& m) {
    Matrix turned(m.columns, m.rows);
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t j = 0; j < m.columns; ++j) turned.at(j, i) = m.at(i, j);
    return turned;
  }

  Matrix product(const Matrix& a, const Matrix& b) const {
    Matrix c(a.rows, b.columns);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t k = 0; k < a.columns; ++k) {
        const double x = a.at(i, k);
        if (x == 0) continue;  // hidden keys; their V counts for nothing, NaN or not
        for (std::int64_t j = 0; j < b.columns; ++j) c.at(i, j) += x * b.at(k, j);
      }
    }
    for (double& x : c.values) x = rounded(x);
    return c;
  }

  const AttentionHead& head_;
  const Format& stored_;
  Matrix q_, k_, v_;   // K times the scale
  Matrix p_, capped_;  // probabilities; tanh of the softcap
};

// Adds the rows of one head to a whole output tensor, [batch, heads, length, width].
void add_rows(const Matrix& own, const Unfused& unfused, const TensorLayout& layout,
              std::int64_t batch, std::int64_t head, std::int64_t first, std::vector<double>& all) {
  const auto& shape = layout.shape;
  const std::int64_t line = (batch * shape[1] + head) * shape[2] + first;
  for (std::int64_t i = 0; i < own.rows; ++i) {
    for (std::int64_t x = 0; x < own.columns; ++x) {
      double& to = all[static_cast<std::size_t>((line + i) * shape[3] + x)];
      to = unfused.rounded(to + own.at(i, x));
    }
  }
}

}  // namespace

std::map<std::string, std::vector<double>> unfused_attention(const Case& test_case,
                                                             const CaseTensors& tensors) {
  const std::string_view operation = test_case.kernel->operation->name();
  const bool forward = operation == "attention";
  if (!forward && operation != "attention_backward") return {};
  const AttentionProblem problem = attention_problem(test_case.problem, tensors);
  const FormatId stored = problem.q->layout.format;
  if (format(stored).is_integer || format(stored).storage_bits != 16 ||
      problem.k->layout.format != stored || problem.v->layout.format != stored ||
      problem.q_scale != nullptr)
    return {};

  std::map<std::string, std::vector<double>> all;
  for (const HeadPlace& place : head_places(problem)) {
    const AttentionHead head = attention_head(problem, place);
    const Unfused unfused(head, format(stored));
    const auto add = [&](const char* output, const Matrix& own, std::int64_t own_head,
                         std::int64_t first) {
      const TensorLayout& layout = tensors.find(output)->layout;
      std::vector<double>& values = all[output];
      values.resize(static_cast<std::size_t>(layout.count()));
      add_rows(own, unfused, layout, place.batch, own_head, first, values);
    };
    if (forward) {
      add("o", unfused.output(), place.head, place.first_query);
      continue;
    }
    const Matrix d_o(
        head.queries, head.dv,
        head_rows(*tensors.find("do"), place.batch, place.head, place.first_query, place.queries));
    const Unfused::Gradients gradients = unfused.gradients(d_o);
    add("dq", gradients.dq, place.head, place.first_query);
    // Query heads that share K and V add up.
    add("dk", gradients.dk, place.kv_head, place.first_key);
    add("dv", gradients.dv, place.kv_head, place.first_key);
  }
  return all;
}

}  // namespace plumbline
