// SPDX-License-Identifier: MIT
#include "oracles/reference/rows/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "oracles/base/assert.h"
#include "oracles/base/numbers.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

constexpr double kUnit = 0x1p-24;

F32Range range(float x) { return F32Range::of(x); }

// A term of a sum that enters by fma: the product itself.
void add_product(F32Sum& sum, const F32Range& a, const F32Range& b) {
  const bool finite = a.has_numbers() && b.has_numbers() && !a.nan && !b.nan &&
                      std::isfinite(a.low) && std::isfinite(a.high) && std::isfinite(b.low) &&
                      std::isfinite(b.high);
  if (!finite) {
    sum.add(a * b);
    return;
  }
  const double al = static_cast<double>(a.low), ah = static_cast<double>(a.high),
               bl = static_cast<double>(b.low), bh = static_cast<double>(b.high);
  const auto [low, high] = std::minmax({al * bl, al * bh, ah * bl, ah * bh});  // exact
  sum.add(low, high);
}

void add_square(F32Sum& sum, const F32Range& a) {
  if (!a.has_numbers() || a.nan || !std::isfinite(a.low) || !std::isfinite(a.high)) {
    sum.add(a * a);
    return;
  }
  const double low = static_cast<double>(a.low), high = static_cast<double>(a.high);
  const bool has_zero = low <= 0 && high >= 0;
  sum.add(has_zero ? 0 : std::min(low * low, high * high), std::max(low * low, high * high));
}

// The same range, known to hold nothing outside [low, high] either.
F32Range intersected(const F32Range& a, double low, double high) {
  if (!a.has_numbers() || !(low <= high)) return a;
  const F32Range other = f32_within(low, high);
  const F32Range both{std::max(a.low, other.low), std::min(a.high, other.high), a.nan};
  return both.has_numbers() ? both : a;
}

// Of a row; NaN is passed over.
F32Range largest_of(std::span<const F32Range> row) {
  F32Range out = range(-kFloatInfinity);
  for (const F32Range& one : row) {
    if (!one.has_numbers()) continue;
    out = {std::max(out.low, one.low), std::max(out.high, one.high), false};
  }
  return out;
}

F32Range inverse_of(std::int64_t n) { return range(1 / static_cast<float>(n)); }

struct Rows {
  const RowContract& contract;
  const RowOf<float>& in;

  std::int64_t additions() const { return contract.row_additions(in.n()); }

  // An operand, and a result. Where operands that are small count as 0, 2^-126 itself does not.
  F32Range operand(float x) const {
    const bool lost = contract.subnormals_flushed && std::fabs(x) < 0x1p-126f;
    return range(lost ? 0.0f : x);
  }

  F32Range result(const F32Range& a) const { return contract.subnormals_flushed ? flushed(a) : a; }

  F32Range total(const F32Sum& sum) const {
    return result(sum.range(additions(), contract.subnormals_flushed));
  }

  F32Range divided_by_n(const F32Range& sum) const {
    return result(mean_of(contract, sum, in.n()));
  }

  // What the root is taken of.
  F32Range with_eps(const F32Range& sum) const {
    const F32Range eps = operand(in.eps), apart = result(divided_by_n(sum) + eps);
    if (contract.mean != RowMean::reciprocal_either) return apart;
    return either(apart, result(fma(sum, inverse_of(in.n()), eps)));
  }

  F32Range root(const F32Range& v) const {
    return contract.root == RowRoot::approximate ? rsqrt_approx(v) : range(1) / sqrt(v);
  }

  F32Range divided(const F32Range& p, const F32Range& sum) const {
    return contract.quotient == RowQuotient::div_full ? div_full(p, sum) : p / sum;
  }

  RowResult<F32Range> softmax() const {
    const F32Range log2e = range(static_cast<float>(std::numbers::log2e));
    const F32Range scale = operand(in.scale);
    std::vector<F32Range> z;
    z.reserve(in.x.size());
    for (const float x : in.x) z.push_back(result(operand(x) * scale));
    const F32Range largest = largest_of(z);
    RowResult<F32Range> out;
    out.out.reserve(z.size());
    F32Sum sum;
    for (const F32Range& one : z) {
      const F32Range t = result(result(one - largest) * log2e);
      out.out.push_back(result(ex2_approx(t, contract.exponential == RowExponential::flushed)));
      sum.add(out.out.back());
    }
    const F32Range l = total(sum);
    const F32Range inverse = result(range(1) / l);
    for (F32Range& p : out.out)
      p = result(contract.quotient == RowQuotient::reciprocal ? p * inverse : divided(p, l));
    return out;
  }

  RowResult<F32Range> softmax_backward() const {
    const std::vector<float>& y = in.x;
    F32Sum sum;
    for (std::size_t j = 0; j < y.size(); ++j) add_product(sum, operand(y[j]), operand(in.dy[j]));
    const F32Range g = total(sum), scale = operand(in.scale);
    RowResult<F32Range> out;
    for (std::size_t j = 0; j < y.size(); ++j)
      out.out.push_back(result(scale * result(operand(y[j]) * result(operand(in.dy[j]) - g))));
    return out;
  }

  RowResult<F32Range> rmsnorm() const {
    F32Sum squares;
    for (const float x : in.x) add_square(squares, operand(x));
    RowResult<F32Range> out;
    out.rstd = root(with_eps(total(squares)));
    for (std::size_t j = 0; j < in.gamma.size(); ++j) {
      const F32Range normal = normalized_of(contract, result(operand(in.x[j]) * out.rstd));
      const F32Range gamma = operand(in.gamma[j]);
      const bool plus = in.gamma_plus != 0;
      out.out.push_back(result(normal * (plus ? result(gamma + operand(in.gamma_plus)) : gamma)));
    }
    return out;
  }

  // Every d uses the same mean: with it off by e, the sum of d^2 grows by n e^2 only, while ranges
  // that know nothing of each other grow by 2 e sum |d|.
  F32Range centered_squares(const F32Range& mean, const std::vector<F32Range>& d) const {
    F32Sum squares;
    for (const F32Range& one : d) add_square(squares, one);
    const F32Range apart = total(squares);
    if (!std::isfinite(apart.high) || mean.nan || !std::isfinite(mean.low) ||
        !std::isfinite(mean.high))
      return apart;
    const auto n = static_cast<double>(in.n());
    double sum = 0, magnitude = 0;
    for (const float x : in.x) {
      sum += static_cast<double>(x);
      magnitude += std::fabs(static_cast<double>(x));
    }
    const double exact_mean = sum / n;
    const double mean_error = magnitude / n * (n + 2) * 0x1p-53 * (1 + 0x1p-20);
    double centered = 0;  // about exact_mean as it is stored
    for (const float x : in.x) {
      const double one = static_cast<double>(x) - exact_mean;
      centered += one * one;
    }
    const double reach = std::max(std::fabs(static_cast<double>(mean.low) - exact_mean),
                                  std::fabs(static_cast<double>(mean.high) - exact_mean)) +
                         mean_error;
    // d, its square by fma, and the sum: two more roundings than a term has.
    const double steps = static_cast<double>(additions() + 2) * kUnit;
    if (steps >= 0.5) return apart;
    const double gamma = steps / (1 - steps) + (n + 4) * 0x1.01p-53;
    const double underflow = n * (contract.subnormals_flushed ? 0x1p-124 : 0x1p-149);
    const double low = (centered - n * mean_error * mean_error) * (1 - gamma) - underflow;
    const double high = (centered + n * reach * reach) * (1 + gamma) + underflow;
    constexpr double kOutward = 1 + 0x1p-40;
    return intersected(apart, std::max(0.0, low / kOutward), high * kOutward);
  }

  RowResult<F32Range> layernorm() const {
    F32Sum sum;
    for (const float x : in.x) sum.add(operand(x));
    RowResult<F32Range> out;
    out.mean = divided_by_n(total(sum));
    std::vector<F32Range> d;
    for (const float x : in.x) d.push_back(result(operand(x) - out.mean));
    out.rstd = root(with_eps(centered_squares(out.mean, d)));
    for (std::size_t j = 0; j < in.gamma.size(); ++j) {
      const F32Range normal = normalized_of(contract, result(d[j] * out.rstd));
      out.out.push_back(result(fma(normal, operand(in.gamma[j]), operand(in.beta[j]))));
    }
    return out;
  }

  RowResult<F32Range> norm_backward(bool centered) const {
    RowResult<F32Range> out;
    out.out.reserve(in.x.size());
    out.xhat.reserve(in.x.size());
    std::vector<F32Range> w;
    w.reserve(in.x.size());
    F32Sum sum, projected;
    for (std::size_t j = 0; j < in.x.size(); ++j) {
      const F32Range d = centered ? range(in.x[j]) - range(in.mean) : range(in.x[j]);
      out.xhat.push_back(d * range(in.rstd));
      w.push_back(range(in.dy[j]) * range(in.gamma[j]));
      sum.add(w[j]);
      add_product(projected, w[j], out.xhat[j]);
    }
    const F32Range a = divided_by_n(sum.range(additions()));
    const F32Range c = divided_by_n(projected.range(additions()));
    for (std::size_t j = 0; j < in.x.size(); ++j) {
      const F32Range rest = fma(-out.xhat[j], c, centered ? w[j] - a : w[j]);
      out.out.push_back(range(in.rstd) * rest);
    }
    return out;
  }
};

}  // namespace

F32Range mean_of(const RowContract& contract, const F32Range& sum, std::int64_t n) {
  const auto count = static_cast<float>(n);
  switch (contract.mean) {
    case RowMean::quotient:
      break;
    case RowMean::approximate:
      return div_full(sum, range(count));
    case RowMean::reciprocal:
    case RowMean::reciprocal_either:
      return sum * inverse_of(n);
  }
  return sum / range(count);
}

F32Range normalized_of(const RowContract& contract, const F32Range& x) {
  if (contract.normalized == FormatId::f32 || !x.has_numbers()) return x;
  const Format& to = format(contract.normalized);
  const auto rounded = [&](float end) {
    return static_cast<float>(to_double(to, encode(to, static_cast<double>(end))));
  };
  return {rounded(x.low), rounded(x.high), x.nan};
}

RowResult<F32Range> row_ranges(RowKind kind, const RowContract& contract, const RowOf<float>& in) {
  PLUMB_ASSERT(!in.x.empty());
  const Rows rows{contract, in};
  switch (kind) {
    case RowKind::softmax:
      return rows.softmax();
    case RowKind::softmax_backward:
      return rows.softmax_backward();
    case RowKind::rmsnorm:
      return rows.rmsnorm();
    case RowKind::layernorm:
      return rows.layernorm();
    case RowKind::rmsnorm_backward:
    case RowKind::layernorm_backward:
      break;
  }
  return rows.norm_backward(kind == RowKind::layernorm_backward);
}

void ColumnRanges::add(const RowOf<float>& in, std::span<const F32Range> xhat) {
  for (std::size_t j = 0; j < gamma_.size(); ++j) {
    add_product(gamma_[j], range(in.dy[j]), xhat[j]);
    beta_[j].add(range(in.dy[j]));
  }
}

}  // namespace plumbline
