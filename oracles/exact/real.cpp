// SPDX-License-Identifier: MIT
// The conversions read and build MPFR numbers limb by limb through MPFR's C interface, because
// Boost offers no exact way between its MPFR numbers and its integers that stays clear of decimal
// text.
#include "oracles/exact/real.h"

#include <iterator>
#include <vector>

#include "oracles/base/assert.h"

namespace plumbline {

using boost::multiprecision::cpp_int;

Real real_value(const Dyadic& value) {
  std::vector<std::uint64_t> limbs;  // most significant first
  export_bits(cpp_int(boost::multiprecision::abs(value.integer())), std::back_inserter(limbs), 64);
  Real out = 0;
  mpfr_ptr number = out.backend().data();
  int inexact = 0;
  for (const std::uint64_t limb : limbs) {
    inexact |= mpfr_mul_2ui(number, number, 64, MPFR_RNDN);
    inexact |= mpfr_add_ui(number, number, limb, MPFR_RNDN);
  }
  inexact |= mpfr_mul_2si(number, number, value.exponent(), MPFR_RNDN);
  PLUMB_ASSERT(inexact == 0);
  if (value.negative()) mpfr_neg(number, number, MPFR_RNDN);
  return out;
}

Dyadic dyadic_value(const Real& value) {
  mpfr_srcptr number = value.backend().data();
  PLUMB_ASSERT(mpfr_number_p(number));
  if (mpfr_zero_p(number)) return Dyadic();
  // |value| = limbs / 2^(64 * count) * 2^exponent, least significant limb first, top bit set.
  const auto count = (mpfr_get_prec(number) + 63) / 64;
  const auto* limbs = static_cast<const mp_limb_t*>(mpfr_custom_get_significand(number));
  cpp_int magnitude;
  import_bits(magnitude, limbs, limbs + count, 64, false);
  if (mpfr_signbit(number)) magnitude = -magnitude;
  return Dyadic(std::move(magnitude), static_cast<int>(mpfr_get_exp(number) - 64 * count));
}

Unrounded unrounded_value(const Real& value) {
  mpfr_srcptr number = value.backend().data();
  Unrounded out;
  if (mpfr_number_p(number)) out = dyadic_value(value).unrounded();
  if (mpfr_inf_p(number)) out.value.cls = ValueClass::infinite;
  if (mpfr_nan_p(number)) out.value.cls = ValueClass::nan;
  out.value.negative = mpfr_signbit(number) != 0;
  return out;
}

std::uint64_t encode(const Format& format, const Real& value, const EncodeOptions& options) {
  return encode(format, unrounded_value(value), options);
}

}  // namespace plumbline
