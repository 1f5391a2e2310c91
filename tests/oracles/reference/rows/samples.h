// SPDX-License-Identifier: MIT
// Row operations for tests: an independent scalar model of a conforming kernel, which uses the
// freedom a contract leaves (the order of sums, the errors of ex2 and rsqrt), and cases with random
// data of many kinds.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "oracles/base/numbers.h"
#include "oracles/base/random.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/rows/oracle.h"

namespace plumbline::testing {

inline constexpr RowKind kRowKinds[] = {RowKind::softmax,   RowKind::softmax_backward,
                                        RowKind::rmsnorm,   RowKind::rmsnorm_backward,
                                        RowKind::layernorm, RowKind::layernorm_backward};

// One conforming kernel among many.
class RowModel {
 public:
  RowModel(const RowContract& contract, Random random) : contract_(contract), random_(random) {}

  RowResult<float> run(RowKind kind, const RowOf<float>& in) {
    switch (kind) {
      case RowKind::softmax:
        return softmax(in);
      case RowKind::softmax_backward:
        return softmax_backward(in);
      case RowKind::rmsnorm:
        return norm(in, false);
      case RowKind::layernorm:
        return norm(in, true);
      default:
        return backward(in, kind == RowKind::layernorm_backward);
    }
  }

  // sum of a b over rows.
  float column_sum(const std::vector<float>& a, const std::vector<float>& b) {
    const auto stripes = static_cast<std::size_t>(contract_.stripes);
    std::vector<float> parts(std::min(stripes, a.size()), 0.0f);
    for (std::size_t i = 0; i < a.size(); ++i)
      parts[i % stripes] = std::fmaf(a[i], b[i], parts[i % stripes]);
    float sum = 0;
    while (!parts.empty()) {
      const std::size_t next = random_.below(parts.size());
      sum += parts[next];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(next));
    }
    return sum;
  }

 private:
  // Lanes take `vector` columns at a time, or one, and are joined in random pairs.
  float row_sum(const std::vector<float>& a, const std::vector<float>& b) {
    const auto lanes = static_cast<std::size_t>(contract_.lanes),
               vector = random_.below(2) == 0 ? 1 : static_cast<std::size_t>(contract_.vector);
    std::vector<float> parts(lanes, 0.0f);
    for (std::size_t j = 0; j < a.size(); ++j) {
      float& part = parts[j / vector % lanes];
      part = result(std::fmaf(a[j], b[j], part));
    }
    while (parts.size() > 1) {
      for (std::size_t i = parts.size() - 1; i > 0; --i)
        std::swap(parts[i], parts[random_.below(i + 1)]);
      std::vector<float> joined;
      for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
        joined.push_back(result(parts[i] + parts[i + 1]));
      if (parts.size() % 2 == 1) joined.push_back(parts.back());
      parts = joined;
    }
    return parts.front();
  }

  float row_sum(const std::vector<float>& a) {
    return row_sum(a, std::vector<float>(a.size(), 1.0f));
  }

  float mean(float sum, const RowOf<float>& in) {
    const auto n = static_cast<double>(in.x.size());
    if (contract_.multiplies_by_inverse()) return result(sum * (1 / static_cast<float>(n)));
    const bool off = contract_.mean == RowMean::approximate && std::isfinite(sum);
    return result(
        static_cast<float>(static_cast<double>(sum) / n * (off ? wrong_by(1.4 * 0x1p-23) : 1)));
  }

  // The mean, and eps added to it, or both at once.
  float mean_and_eps(float sum, const RowOf<float>& in) {
    const float eps = operand(in.eps);
    const bool fuses = contract_.mean == RowMean::reciprocal_either && random_.below(2) == 0;
    if (fuses) return result(std::fmaf(sum, 1 / static_cast<float>(in.x.size()), eps));
    return result(mean(sum, in) + eps);
  }

  float rounded(float x) const {
    const Format& to = format(contract_.normalized);
    return static_cast<float>(to_double(to, encode(to, static_cast<double>(x))));
  }

  // Where subnormal numbers are flushed: an operand, and a result, which may lie on the border.
  float operand(float x) const {
    return contract_.subnormals_flushed && std::fabs(x) < 0x1p-126f ? 0.0f : x;
  }

  float result(float x) {
    const bool border = std::fabs(x) == 0x1p-126f && random_.below(2) == 0;
    return contract_.subnormals_flushed && border ? 0.0f : operand(x);
  }

  double wrong_by(double most) { return 1 + most * (2 * random_.unit() - 1); }

  // Off by up to 2 ulp; exact at 0; flushes, or keeps what is small.
  float ex2(float x) {
    if (x == 0) return 1;
    const auto y = static_cast<float>(std::exp2(static_cast<double>(x)) * wrong_by(1.9 * 0x1p-23));
    if (contract_.exponential == RowExponential::kept) return y;
    return y < 0x1p-126f ? 0 : y;
  }

  float root(float v) {
    if (contract_.root == RowRoot::exact) return 1 / std::sqrt(v);
    const double exact = 1 / std::sqrt(static_cast<double>(v));
    const auto y = static_cast<float>(exact * wrong_by(0x1p-24));
    return y;
  }

  float divided(float p, float sum) {
    if (contract_.quotient != RowQuotient::div_full) return p / sum;
    return static_cast<float>(static_cast<double>(p) / static_cast<double>(sum) *
                              wrong_by(1.4 * 0x1p-23));
  }

  RowResult<float> softmax(const RowOf<float>& in) {
    const float scale = operand(in.scale);
    std::vector<float> z;
    float largest = -std::numeric_limits<float>::infinity();
    for (const float x : in.x) {
      z.push_back(result(operand(x) * scale));
      if (z.back() > largest) largest = z.back();
    }
    RowResult<float> out;
    for (const float one : z)
      out.out.push_back(result(ex2(result(result(one - largest) * 1.44269504f))));
    const float sum = row_sum(out.out), inverse = result(1 / sum);
    for (float& p : out.out)
      p = result(contract_.quotient == RowQuotient::reciprocal ? p * inverse : divided(p, sum));
    return out;
  }

  RowResult<float> softmax_backward(const RowOf<float>& in) {
    std::vector<float> y, dy;
    for (const float one : in.x) y.push_back(operand(one));
    for (const float one : in.dy) dy.push_back(operand(one));
    const float g = row_sum(y, dy), scale = operand(in.scale);
    RowResult<float> out;
    for (std::size_t j = 0; j < y.size(); ++j)
      out.out.push_back(result(scale * result(y[j] * result(dy[j] - g))));
    return out;
  }

  RowResult<float> norm(const RowOf<float>& in, bool centered) {
    RowResult<float> out;
    std::vector<float> xs, d;
    for (const float x : in.x) xs.push_back(operand(x));
    out.mean = centered ? mean(row_sum(xs), in) : 0;
    for (const float x : xs) d.push_back(centered ? result(x - out.mean) : x);
    out.rstd = root(mean_and_eps(row_sum(d, d), in));
    for (std::size_t j = 0; j < d.size(); ++j) {
      const float normal = rounded(result(d[j] * out.rstd)), weight = operand(in.gamma[j]),
                  gamma = in.gamma_plus == 0 ? weight : result(weight + operand(in.gamma_plus));
      out.out.push_back(
          result(centered ? std::fmaf(normal, gamma, operand(in.beta[j])) : normal * gamma));
    }
    return out;
  }

  RowResult<float> backward(const RowOf<float>& in, bool centered) {
    RowResult<float> out;
    std::vector<float> w;
    for (std::size_t j = 0; j < in.x.size(); ++j) {
      out.xhat.push_back((centered ? in.x[j] - in.mean : in.x[j]) * in.rstd);
      w.push_back(in.dy[j] * in.gamma[j]);
    }
    const float a = centered ? mean(row_sum(w), in) : 0, c = mean(row_sum(w, out.xhat), in);
    for (std::size_t j = 0; j < w.size(); ++j)
      out.out.push_back(in.rstd * std::fmaf(-out.xhat[j], c, centered ? w[j] - a : w[j]));
    return out;
  }

  RowContract contract_;
  Random random_;
};

enum class RowData {
  normal,
  positive,
  wide,
  offset,
  equal,
  integers,
  large,
  subnormal,
  one_hot,
  specials,
};

inline constexpr RowData kRowData[] = {
    RowData::normal,   RowData::positive, RowData::wide,      RowData::offset,  RowData::equal,
    RowData::integers, RowData::large,    RowData::subnormal, RowData::one_hot, RowData::specials};

// A case with random inputs, its oracle, and what a conforming kernel stores.
struct RowCase {
  RowProblem problem;
  Tensor x, dy, gamma, beta, mean, rstd;
  std::vector<Tensor> got;
  std::unique_ptr<RowOracle> oracle;

  RowCase(RowKind kind, std::int64_t m, std::int64_t n, RowData data, std::uint64_t seed,
          FormatId out = FormatId::f32, RowContract contract = {})
      : random_(seed) {
    problem.kind = kind;
    problem.m = m;
    problem.n = n;
    problem.contract = contract;
    const bool softmax = kind == RowKind::softmax || kind == RowKind::softmax_backward;
    const bool backward = kind == RowKind::softmax_backward || problem.has_column_sums();
    const bool centered = kind == RowKind::layernorm || kind == RowKind::layernorm_backward;
    problem.scale = softmax ? 0.75f : 1.0f;
    problem.eps = softmax || backward ? 0.0f : 1e-5f;
    x = matrix(FormatId::bf16, data);
    problem.x = &x;
    if (kind == RowKind::softmax_backward) make_probabilities();
    if (backward) {
      dy = matrix(FormatId::bf16, data);
      problem.dy = &dy;
    }
    if (!softmax) {
      gamma = vector(FormatId::bf16, n, 1, 0.25);
      problem.gamma = &gamma;
    }
    if (kind == RowKind::layernorm) {
      beta = vector(FormatId::bf16, n, 0, 1);
      problem.beta = &beta;
    }
    if (problem.has_column_sums()) {
      rstd = vector(FormatId::f32, m, 1, 0.5);
      problem.rstd = &rstd;
      if (centered) {
        mean = vector(FormatId::f32, m, 0, 1);
        problem.mean = &mean;
      }
    }
    make_outputs(backward, centered, softmax, out);
    RowProblem copy = problem;
    for (const Tensor& one : got) copy.outputs.push_back(&one);
    problem = copy;
    run();
    oracle = std::make_unique<RowOracle>(problem);
  }

  RowCase(const RowCase&) = delete;
  RowCase& operator=(const RowCase&) = delete;

  void store(std::size_t output, std::int64_t index, float value) {
    Tensor& tensor = got[output];
    tensor.set_bits(index, encode(format(tensor.layout.format), static_cast<double>(value)));
  }

  float stored(std::size_t output, std::int64_t index) const {
    return static_cast<float>(
        to_double(format(got[output].layout.format), got[output].bits(index)));
  }

  // What one conforming kernel gives; another one each time.
  void run() {
    const std::int64_t m = problem.m, n = problem.n;
    std::vector<std::vector<float>> dys(static_cast<std::size_t>(n)), xhats(dys);
    RowModel model(problem.contract, random_.fork(random_.next()));
    for (std::int64_t i = 0; i < m; ++i) {
      const RowOf<float> row = problem.row(i);
      const RowResult<float> result = model.run(problem.kind, row);
      for (std::int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(j);
        store(0, i * n + j, result.out[at]);
        if (!problem.has_column_sums()) continue;
        dys[at].push_back(row.dy[at]);
        xhats[at].push_back(result.xhat[at]);
      }
      for (std::size_t output = 1; output < got.size(); ++output) {
        if (problem.output_names[output] == "mean") store(output, i, result.mean);
        if (problem.output_names[output] == "rstd") store(output, i, result.rstd);
      }
    }
    for (std::size_t output = 1; output < got.size(); ++output) {
      for (std::int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(j);
        if (problem.output_names[output] == "dgamma")
          store(output, j, model.column_sum(dys[at], xhats[at]));
        if (problem.output_names[output] == "dbeta")
          store(output, j, model.column_sum(dys[at], std::vector<float>(dys[at].size(), 1.0f)));
      }
    }
  }

 private:
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random_.unit();
    return sum;
  }

  double drawn(RowData data, const Random& of_row) {
    Random row = of_row;
    switch (data) {
      case RowData::normal:
        return normal();
      case RowData::positive:
        return random_.unit() + 0x1p-8;
      case RowData::wide:
        return std::ldexp(normal(), static_cast<int>(random_.between(-20, 20)));
      case RowData::offset:
        return std::ldexp(static_cast<double>(200 + random_.between(-4, 4)),
                          static_cast<int>(row.between(-4, 8)));
      case RowData::equal:
        return 3 * row.unit() - 1;
      case RowData::integers:
        return static_cast<double>(random_.between(-7, 7));
      case RowData::large:
        return std::ldexp(normal(), static_cast<int>(row.between(55, 120)));
      case RowData::subnormal:
        return std::ldexp(static_cast<double>(random_.between(-120, 120)), -133);
      case RowData::one_hot:
        return random_.below(8) == 0 ? 64 : 0;
      case RowData::specials:
        break;
    }
    const std::uint64_t kind = random_.below(40);
    if (kind == 0) return std::numeric_limits<double>::quiet_NaN();
    if (kind < 3) return kind == 1 ? kInfinity : -kInfinity;
    return normal();
  }

  Tensor matrix(FormatId format_id, RowData data) {
    Tensor out(dense_layout(format_id, {problem.m, problem.n}));
    for (std::int64_t i = 0; i < problem.m; ++i) {
      const Random of_row = random_.fork(random_.next());
      for (std::int64_t j = 0; j < problem.n; ++j)
        out.set_bits(i * problem.n + j, encode(format(format_id), drawn(data, of_row)));
    }
    return out;
  }

  Tensor vector(FormatId format_id, std::int64_t count, double center, double spread) {
    Tensor out(dense_layout(format_id, {count}));
    for (std::int64_t i = 0; i < count; ++i)
      out.set_bits(i, encode(format(format_id), center + spread * (random_.unit() - 0.5)));
    return out;
  }

  void make_probabilities() {
    const Format& f = format(FormatId::bf16);
    for (std::int64_t i = 0; i < problem.m * problem.n; ++i) {
      const double value = to_double(f, x.bits(i));
      if (std::isfinite(value))
        x.set_bits(i, encode(f, std::fabs(value) / static_cast<double>(problem.n)));
    }
  }

  void make_outputs(bool backward, bool centered, bool softmax, FormatId out) {
    const auto add = [&](std::string_view name, FormatId format_id,
                         std::vector<std::int64_t> shape) {
      problem.output_names.push_back(name);
      got.emplace_back(dense_layout(format_id, std::move(shape)));
    };
    add(backward ? "dx" : "y", out, {problem.m, problem.n});
    if (softmax) return;
    if (backward) {
      add("dgamma", FormatId::f32, {problem.n});
      if (centered) add("dbeta", FormatId::f32, {problem.n});
      return;
    }
    if (centered) add("mean", FormatId::f32, {problem.m});
    add("rstd", FormatId::f32, {problem.m});
  }

  Random random_;
};

}  // namespace plumbline::testing
