// SPDX-License-Identifier: MIT
// Real: an MPFR number through Boost.Multiprecision, for definitions that should read as
// mathematics. This is the only file that includes the MPFR backend.
//
// The precision is part of the type. Boost's variable-precision numbers take the precision of every
// temporary from a default that is one per process up to Boost 1.75, so two threads at different
// precisions would silently lose bits. A precision wanted at run time is rounded up to a tier by
// at_precision().
#pragma once

#include <cstdint>
#include <utility>

#include <boost/multiprecision/mpfr.hpp>

#include "oracles/exact/dyadic.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/format.h"

namespace plumbline {

// A number with at least `bits` significant bits (Boost counts in decimal digits), rounding to
// nearest even. It lives on the stack: the definitions make millions of temporaries.
template <int bits>
using RealOf = boost::multiprecision::number<
    boost::multiprecision::mpfr_float_backend<bits * 30103 / 100000 + 1,
                                              boost::multiprecision::allocate_stack>,
    boost::multiprecision::et_off>;

// Enough for every operation without division or functions of the catalog to be exact: a product of
// two stored elements lies in [2^-298, 2^256], a scale factor in [2^-149, 2^128], so 2^40 terms
// need less than 900 bits.
inline constexpr int kExactBits = 1200;
using Real = RealOf<kExactBits>;

// The significant bits a number type really has.
template <typename Number>
int precision_bits() {
  return static_cast<int>(mpfr_get_prec(Number().backend().data()));
}

// Calls body.template operator()<Number>() with the narrowest tier of at least `bits` bits and
// returns the result. Beyond kExactBits the exact tier serves: more bits would all be zero.
template <typename Body>
auto at_precision(int bits, Body&& body) {
  if (bits <= 64) return std::forward<Body>(body).template operator()<RealOf<64>>();
  if (bits <= 128) return std::forward<Body>(body).template operator()<RealOf<128>>();
  if (bits <= 256) return std::forward<Body>(body).template operator()<RealOf<256>>();
  if (bits <= 512) return std::forward<Body>(body).template operator()<RealOf<512>>();
  return std::forward<Body>(body).template operator()<Real>();
}

// A stored element, exactly; NaN, infinities and the sign of zero included.
template <typename Number>
Number real_value(const Format& format, std::uint64_t bits) {
  return Number(to_double(format, bits));
}

Real real_value(const Dyadic& value);  // exact; at most precision_bits<Real>() significant bits

Dyadic dyadic_value(const Real& value);        // exact; finite values only
Unrounded unrounded_value(const Real& value);  // any class
std::uint64_t encode(const Format& format, const Real& value, const EncodeOptions& options = {});

}  // namespace plumbline
