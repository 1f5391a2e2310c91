// SPDX-License-Identifier: MIT
// RowContract: the arithmetic that a kernel working row by row promises (softmax, RMSNorm,
// LayerNorm and their gradients). Where kernels differ, and it decides about bits, there is a
// field; the rest is written here once. Everything is f32, each operation rounded to nearest even,
// fl(); inputs are taken as they are stored; Y and dX are rounded once more, to the format of the
// output.
//
// softmax               z = fl(x scale),  m = max z,  p = ex2(fl(fl(z - m) fl(log2 e))),
//                       l = sum p,
//                       Y = fl(p fl(1 / l)), or fl(p / l), or div.full.f32(p, l)
// softmax_backward      g = sum y dy,  dX = fl(scale fl(y fl(dy - g)))
// rmsnorm               rstd = root(fl(fl(sum x^2 / n) + eps)),  Y = fl(fl(x rstd) gamma),
//                       or with fl(gamma + gamma_plus) in place of gamma
//                       Of both norms, what meets gamma may be rounded to `normalized` first, as
//                       where x rstd is stored in the format of the input
// layernorm             mean = fl(sum x / n),  d = fl(x - mean),
//                       rstd = root(fl(fl(sum d^2 / n) + eps)),  Y = fma(fl(d rstd), gamma, beta)
// rmsnorm_backward      xhat = fl(x rstd),  w = fl(dy gamma),  c = fl(sum w xhat / n),
//                       dX = fl(rstd fma(-xhat, c, w))
// layernorm_backward    the same with xhat = fl(fl(x - mean) rstd),  a = fl(sum w / n),
//                       dX = fl(rstd fma(-xhat, c, fl(w - a)))
// both                  dgamma = sum over rows of dy xhat,  dbeta = sum over rows of dy
//
// root(v) is rsqrt.approx.f32, or fl(1 / fl(sqrt(v))); ex2 is ex2.approx.ftz.f32, or
// ex2.approx.f32, which keeps results below 2^-126. A term of a sum that is a product is not
// rounded: it is added by fma. How many additions a term of a sum passes through is all that is
// promised about the sums' order.
//
// Of the two norms, the division by n may be div.approx.f32 or a product with fl(1 / n), which eps
// may be added to by the same fma. Of these and of softmax, both passes, subnormal operands and
// results of every operation may count as 0 (nvcc's --use_fast_math does all this): one that rounds
// to 2^-126 may be 0 as well, as chips need not tell before or after rounding what is small.
#pragma once

#include <cstdint>

#include "oracles/formats/format.h"

namespace plumbline {

enum class RowQuotient : std::uint8_t { reciprocal, quotient, div_full };

enum class RowExponential : std::uint8_t { flushed, kept };  // results below 2^-126

// Of a sum over n: fl(sum / n), div.approx.f32, or fl(sum fl(1 / n)).
// reciprocal_either: as reciprocal, but where eps is added it may also be fma(sum, fl(1 / n), eps),
// as nvcc makes it without -fmad=false.
enum class RowMean : std::uint8_t { quotient, approximate, reciprocal, reciprocal_either };

enum class RowRoot : std::uint8_t { approximate, exact };

struct RowContract {
  // A sum along a row has `lanes` partial sums. They take `vector` neighboring columns at a time,
  // in turn, add their terms one after the other, and are joined in pairs.
  std::int64_t lanes = 128;
  std::int64_t vector = 8;
  // A sum along a column has up to `stripes` partial sums, one row each in turn, and these are
  // added one after the other.
  std::int64_t stripes = 32;
  RowQuotient quotient = RowQuotient::reciprocal;
  RowExponential exponential = RowExponential::flushed;
  RowMean mean = RowMean::quotient;
  RowRoot root = RowRoot::approximate;
  FormatId normalized = FormatId::f32;  // of x rstd, or (x - mean) rstd; f32: no more rounding
  bool subnormals_flushed = false;

  bool multiplies_by_inverse() const {  // of n
    return mean == RowMean::reciprocal || mean == RowMean::reciprocal_either;
  }

  // The most additions that a term passes through in a sum of n.
  std::int64_t row_additions(std::int64_t n) const;
  std::int64_t column_additions(std::int64_t m) const;
};

// Relative error of div.full.f32, and of div.approx.f32 by 1 to 2^126, for normal results (PTX ISA,
// div: 2 ulp).
inline constexpr double kDivFullError = 0x1p-22;
// And of rsqrt.approx.f32 (PTX ISA, rsqrt: 2^-22.9). That of ex2 is kEx2Error of
// contract/attention.h.
inline constexpr double kRsqrtError = 0x1.13p-23;

}  // namespace plumbline
