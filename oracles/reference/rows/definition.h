// SPDX-License-Identifier: MIT
// The row operations as mathematics has them, over any type of number: MPFR for the referee,
// Certified for the fast path, whose error is known. Gradients take mean and rstd as given: they
// are inputs. The one rounding that a contract may put in the middle, that of normalized rows, is
// part of the function.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracles/base/assert.h"
#include "oracles/exact/certified.h"
#include "oracles/exact/real.h"
#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/rows/row.h"

namespace plumbline {

namespace row_definition {

// For Number = double; MPFR numbers and Certified bring their own.
using std::exp, std::sqrt;

template <typename Number>
RowResult<Number> softmax(const RowOf<Number>& in) {
  std::vector<Number> z;
  for (const Number& x : in.x) z.push_back(x * in.scale);
  Number largest = z.front();
  for (const Number& one : z) {
    if (one > largest) largest = one;
  }
  RowResult<Number> out;
  Number sum = 0;
  for (const Number& one : z) {
    out.out.push_back(exp(one - largest));
    sum += out.out.back();
  }
  for (Number& y : out.out) y = y / sum;
  return out;
}

template <typename Number>
RowResult<Number> softmax_backward(const RowOf<Number>& in) {
  const std::vector<Number>& y = in.x;
  Number g = 0;
  for (std::size_t j = 0; j < y.size(); ++j) g += y[j] * in.dy[j];
  RowResult<Number> out;
  for (std::size_t j = 0; j < y.size(); ++j) out.out.push_back(in.scale * (y[j] * (in.dy[j] - g)));
  return out;
}

// The nearest number of a format, ties to even.
template <typename Number>
Number rounded_to(const Format& to, const Number& x) {
  return Number(to_double(to, encode(to, Real(x))));
}

// With what is not known of x where its ends do not round alike.
inline Certified rounded_to(const Format& to, const Certified& x) {
  const auto rounded = [&](double value) { return to_double(to, encode(to, value)); };
  const double reach = x.error * (1 + 0x1p-40) + std::fabs(x.value) * 0x1p-52;
  const double nearest = rounded(x.value);
  if (!std::isfinite(reach) || !std::isfinite(nearest))
    return {nearest, std::numeric_limits<double>::infinity()};
  if (x.error == 0) return nearest;
  return {nearest,
          std::max(nearest - rounded(x.value - reach), rounded(x.value + reach) - nearest)};
}

// What meets gamma.
template <typename Number>
Number normalized(const RowOf<Number>& in, const Number& x) {
  return in.normalized == FormatId::f32 ? x : rounded_to(format(in.normalized), x);
}

// RMSNorm is LayerNorm around zero, without beta. Without gamma: mean and rstd alone.
template <typename Number>
RowResult<Number> norm(const RowOf<Number>& in, bool centered) {
  const Number n(static_cast<double>(in.n()));
  RowResult<Number> out;
  Number sum = 0;
  for (const Number& x : in.x) sum += x;
  out.mean = centered ? Number(sum / n) : Number(0);
  Number squares = 0;
  for (const Number& x : in.x) squares += (x - out.mean) * (x - out.mean);
  out.rstd = Number(1) / sqrt(squares / n + in.eps);
  for (std::size_t j = 0; j < in.gamma.size(); ++j) {
    const Number normal = normalized(in, Number((in.x[j] - out.mean) * out.rstd));
    const Number y = normal * (in.gamma[j] + in.gamma_plus);
    out.out.push_back(centered ? Number(y + in.beta[j]) : y);
  }
  return out;
}

template <typename Number>
RowResult<Number> norm_backward(const RowOf<Number>& in, bool centered) {
  const Number n(static_cast<double>(in.n()));
  RowResult<Number> out;
  std::vector<Number> w;
  Number sum = 0, projected = 0;
  for (std::size_t j = 0; j < in.x.size(); ++j) {
    out.xhat.push_back((in.x[j] - in.mean) * in.rstd);
    w.push_back(in.dy[j] * in.gamma[j]);
    sum += w[j];
    projected += w[j] * out.xhat[j];
  }
  const Number a = centered ? Number(sum / n) : Number(0), c = projected / n;
  for (std::size_t j = 0; j < in.x.size(); ++j)
    out.out.push_back(in.rstd * (w[j] - a - out.xhat[j] * c));
  return out;
}

}  // namespace row_definition

// One row, which has at least one element.
template <typename Number>
RowResult<Number> defined_row(RowKind kind, const RowOf<Number>& in) {
  PLUMB_ASSERT(!in.x.empty());
  switch (kind) {
    case RowKind::softmax:
      return row_definition::softmax(in);
    case RowKind::softmax_backward:
      return row_definition::softmax_backward(in);
    case RowKind::rmsnorm:
      return row_definition::norm(in, false);
    case RowKind::layernorm:
      return row_definition::norm(in, true);
    case RowKind::rmsnorm_backward:
      return row_definition::norm_backward(in, false);
    case RowKind::layernorm_backward:
      break;
  }
  return row_definition::norm_backward(in, true);
}

}  // namespace plumbline
