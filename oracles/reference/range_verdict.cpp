// SPDX-License-Identifier: MIT
#include "oracles/reference/range_verdict.h"

#include <algorithm>
#include <cmath>

#include "oracles/base/numbers.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/ulp.h"

namespace plumbline {
namespace {

// How far from `exact` a value must be to be stored as `stored`.
double least_error(const Format& f, std::uint64_t got, double stored, double exact) {
  if (f.id == FormatId::f32 || std::isinf(stored)) return std::fabs(stored - exact);
  std::uint64_t neighbor = 0;
  const bool above = exact > stored;
  if (!(above ? next_up(f, got, neighbor) : next_down(f, got, neighbor))) return 0;
  const double edge = (stored + to_double(f, neighbor)) / 2;
  return std::max(0.0, above ? exact - edge : edge - exact);
}

// The codes between which the numbers of a range are stored, and whether some are stored as NaN: in
// a format without infinities those beyond its largest number are.
struct StoredRange {
  std::uint64_t low, high;
  bool nan;
};

StoredRange stored_range(const Format& f, const F32Range& range) {
  StoredRange out{f.canonical_nan, f.canonical_nan, range.nan};
  if (!range.has_numbers()) return out;
  const double largest = to_double(f, f.max_finite());
  const auto end = [&](float x, bool beyond_is_left_out) {
    const std::uint64_t code = encode(f, static_cast<double>(x));
    if (!std::isnan(to_double(f, code))) return code;
    out.nan = true;
    return beyond_is_left_out ? encode(f, x < 0 ? -largest : largest) : code;
  };
  out.low = end(range.low, range.low < 0);
  out.high = end(range.high, range.high > 0);
  if (f.id == FormatId::ue8m0 && range.low < 0) {  // the sign is lost, the magnitude is stored
    const std::uint64_t largest_code = std::max(out.low, out.high);
    out.low = range.high < 0 ? std::min(out.low, out.high) : 0;
    out.high = largest_code;
  }
  return out;
}

enum class Class : std::uint8_t { minus_infinity, finite, plus_infinity };

Class class_of(double x) {
  return std::isfinite(x) ? Class::finite : x > 0 ? Class::plus_infinity : Class::minus_infinity;
}

}  // namespace

ElementVerdict range_verdict(const Format& f, std::int64_t index, const RangedElement& element,
                             std::uint64_t got) {
  const auto& [range, exact] = element;
  ElementVerdict out;
  out.index = index;
  out.got = got;
  out.exact = exact.value;
  out.expected = encode(f, exact.value);
  const double stored = to_double(f, got);
  const StoredRange admissible = stored_range(f, range);
  out.low = admissible.low;
  out.high = admissible.high;
  const double low = to_double(f, out.low), high = to_double(f, out.high);
  const bool is_nan = std::isnan(stored);
  out.pass = is_nan ? admissible.nan : low <= stored && stored <= high;
  if (!out.pass) {
    const bool possible = !is_nan && !std::isnan(low) && !std::isnan(high) &&
                          class_of(low) <= class_of(stored) && class_of(stored) <= class_of(high);
    out.class_mismatch = !possible;
  }
  const bool comparable = std::isfinite(stored) && std::isfinite(exact.value);
  out.error_ulp = comparable ? (stored - exact.value) / ulp(f, exact.value) : kNan;
  out.share = out.pass ? 0 : kInfinity;
  if (!std::isfinite(exact.value) || !std::isfinite(low) || !std::isfinite(high)) return out;
  const double y = exact.value;
  const double allowed = std::max(std::fabs(static_cast<double>(range.low) - y),
                                  std::fabs(static_cast<double>(range.high) - y));
  out.bound_ulp = std::max(std::fabs(low - y), std::fabs(high - y)) / ulp(f, y);
  if (!comparable) return out;
  const double used = least_error(f, got, stored, y);
  if (allowed > 0) out.share = used / allowed;
  // What the exact value's own error blurs; a failure stays one.
  out.share = out.pass ? std::min(out.share, 1.0) : std::max(out.share, std::nextafter(1.0, 2.0));
  return out;
}

bool tally_ranged(const Format& f, std::int64_t index, const RangedElement& element,
                  std::uint64_t got, OutputTally& tally) {
  const ElementVerdict one = range_verdict(f, index, element, got);
  tally.add_element(f, one, element.range.is_point());
  return one.pass;
}

bool agrees(double referee, const Certified& exact) {
  if (!std::isfinite(referee) || !std::isfinite(exact.value))
    return std::isnan(referee) ? std::isnan(exact.value) : referee == exact.value;
  return std::fabs(referee - exact.value) <= exact.error + std::fabs(referee) * 0x1p-52;
}

}  // namespace plumbline
