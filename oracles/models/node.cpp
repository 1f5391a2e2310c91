// SPDX-License-Identifier: MIT
// node() and dot(): the arithmetic of tensor cores as it is specified, one step after the other,
// with nothing done for speed. Tests compare the faster implementations with this file bit for bit.
#include "oracles/models/node.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "oracles/base/assert.h"
#include "oracles/formats/encode.h"
#include "oracles/formats/random_rounding.h"
#include "oracles/models/random_node.h"

namespace plumbline {
namespace {

// A finite addend: (-1)^negative * significand * 2^(exponent - fraction_bits). The exponent is the
// one of the fields: significand / 2^fraction_bits is below 1 for subnormals, and up to 4 for
// products, which are never renormalized.
struct Term {
  bool negative;
  std::uint64_t significand;
  int exponent;
  int fraction_bits;
  bool cancelled = false;  // a sum that is zero though its addends are not: its exponent counts
};

// What a list of addends comes to when some are not finite.
struct SpecialSum {
  bool nan = false;
  bool plus_infinity = false;
  bool minus_infinity = false;

  void add_infinity(bool negative) { (negative ? minus_infinity : plus_infinity) = true; }

  bool any() const { return nan || plus_infinity || minus_infinity; }
};

std::uint32_t infinity(const Format& format, bool negative) {
  const Decoded value{ValueClass::infinite, negative, 0, 0};
  return static_cast<std::uint32_t>(encode(format, Unrounded{value, false}));
}

std::uint32_t special_result(const SpecialSum& special, const Format& format) {
  if (special.nan || (special.plus_infinity && special.minus_infinity)) {
    return static_cast<std::uint32_t>(format.canonical_nan);
  }
  return infinity(format, special.minus_infinity);
}

Term term_of(const Format& format, const Decoded& value) {
  return {value.negative, value.significand, value.exponent + format.mantissa_bits,
          format.mantissa_bits};
}

Term product_of(const Term& a, const Term& b) {
  return {a.negative != b.negative, a.significand * b.significand, a.exponent + b.exponent,
          a.fraction_bits + b.fraction_bits};
}

void note_special_product(const Decoded& a, const Decoded& b, SpecialSum& special) {
  const bool infinite = a.cls == ValueClass::infinite || b.cls == ValueClass::infinite;
  const bool zero = a.cls == ValueClass::zero || b.cls == ValueClass::zero;
  if (a.cls == ValueClass::nan || b.cls == ValueClass::nan || (infinite && zero)) {
    special.nan = true;
  } else if (infinite) {
    special.add_infinity(a.negative != b.negative);
  }
}

Rounding cut_of(const NodeNoise& noise) {
  return noise.centered ? Rounding::nearest_even : Rounding::toward_zero;
}

// The magnitude of a cut addend, moved: `magnitude` units are whole, and the significand shifted
// right by `cut` bits is what it was before.
std::uint64_t moved(std::uint64_t magnitude, std::uint64_t significand, int cut, NodeNoise& noise) {
  const double position =
      std::ldexp(static_cast<double>(significand), -cut) - static_cast<double>(magnitude);
  if (position == 0) return magnitude;
  const int step = random_step(pull_of(cut_of(noise), false), position, noise.random.unit());
  return magnitude == 0 && step < 0 ? 0 : magnitude + static_cast<std::uint64_t>(step);
}

// |term| in units of 2^(alignment - fraction_bits), cut toward zero, with its sign.
std::int64_t aligned(const Term& term, int alignment, int fraction_bits, NodeNoise* noise) {
  if (term.significand == 0) return 0;  // whose exponent may lie anywhere above the alignment
  const int shift = fraction_bits - term.fraction_bits + term.exponent - alignment;
  std::uint64_t magnitude = 0;
  if (shift >= 0) {
    magnitude = term.significand << shift;
  } else if (shift > -64) {
    magnitude = term.significand >> -shift;
  }
  if (noise != nullptr && shift < 0) magnitude = moved(magnitude, term.significand, -shift, *noise);
  const auto value = static_cast<std::int64_t>(magnitude);
  return term.negative ? -value : value;
}

// The exact value sum * 2^unit in the output format. Overflow gives Inf in every mode; IEEE 754
// would stop at the largest finite number when rounding toward zero.
std::uint32_t converted(std::int64_t sum, int unit, NodeOutput output) {
  if (sum == 0) return 0;
  const bool negative = sum < 0;
  const auto magnitude = static_cast<std::uint64_t>(negative ? -sum : sum);
  const Unrounded exact{{ValueClass::finite, negative, magnitude, unit}, false};
  const Format& target = accumulator_format(output);
  if (output == NodeOutput::f16_nearest_even) {
    return static_cast<std::uint32_t>(encode(target, exact));
  }
  const int leading = 63 - std::countl_zero(magnitude) + unit;
  if (leading > target.emax()) return infinity(target, negative);
  const auto bits =
      static_cast<std::uint32_t>(encode(target, exact, {.rounding = Rounding::toward_zero}));
  // 1+13 bits with the exponents of f32: cutting the f32 once more toward zero is the same as
  // cutting once.
  return output == NodeOutput::e8m13_toward_zero ? bits & ~std::uint32_t{0x3ff} : bits;
}

// That conversion with its rounding moved. The sum has fewer bits than a double.
std::uint32_t converted_randomly(std::int64_t sum, int unit, NodeOutput output, NodeNoise& noise) {
  const std::uint32_t usual = converted(sum, unit, output);
  Format target = accumulator_format(output);
  if (output == NodeOutput::e8m13_toward_zero) {
    target.padding_bits = target.mantissa_bits - 13;
    target.mantissa_bits = 13;
  }
  const Rounding rounding =
      output == NodeOutput::f16_nearest_even ? Rounding::nearest_even : cut_of(noise);
  const double exact = std::ldexp(static_cast<double>(sum), unit);
  return static_cast<std::uint32_t>(
      encode_randomly(target, usual, exact, 0, rounding, noise.random.unit()));
}

// The addition that ends an emulated FP8 mma: IEEE, to nearest even, subnormals kept (FADD, HADD2).
std::uint32_t added(const Format& format, std::uint32_t x, std::uint32_t y, NodeNoise* noise) {
  if (noise != nullptr) {
    const std::uint32_t usual = added(format, x, y, nullptr);
    const double a = to_double(format, x), b = to_double(format, y), sum = a + b;
    const double part = sum - a, error = (a - (sum - part)) + (b - part);  // Knuth's two-sum
    return static_cast<std::uint32_t>(
        encode_randomly(format, usual, sum, error, Rounding::nearest_even, noise->random.unit()));
  }
  if (format.id == FormatId::f16) {  // every sum of two f16 is a double
    return static_cast<std::uint32_t>(encode(format, to_double(format, x) + to_double(format, y)));
  }
  const float sum = std::bit_cast<float>(x) + std::bit_cast<float>(y);
  return sum != sum ? static_cast<std::uint32_t>(format.canonical_nan)
                    : std::bit_cast<std::uint32_t>(sum);
}

// The operands of one node of a chain, picked out of the whole product list. No instruction has
// nodes above 32.
class Picked {
 public:
  void add(const Decoded& a, const Decoded& b) {
    PLUMB_ASSERT(count_ < a_.size());
    a_[count_] = a;
    b_[count_] = b;
    ++count_;
  }

  std::span<const Decoded> a() const { return {a_.data(), count_}; }

  std::span<const Decoded> b() const { return {b_.data(), count_}; }

 private:
  std::array<Decoded, 32> a_{};
  std::array<Decoded, 32> b_{};
  std::size_t count_ = 0;
};

std::uint32_t node_with(const NodeModel& model, const Format& a_format, const Format& b_format,
                        std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c,
                        NodeNoise* noise);

std::uint32_t dot_in_order(const NodeModel& model, const Format& a_format, const Format& b_format,
                           std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c,
                           NodeNoise* noise) {
  const auto step = static_cast<std::size_t>(model.products);
  std::size_t first = 0;
  do {
    const std::size_t count = std::min(step, a.size() - first);
    c = node_with(model, a_format, b_format, a.subspan(first, count), b.subspan(first, count), c,
                  noise);
    first += count;
  } while (first < a.size());
  return c;
}

// sm_90 and sm_100 have no FP8 mma.sync: ptxas unpacks the low and the high half of every register
// to f16 and emits two f16 mma, the first from zero, and an addition of C. Unpacking turns e4m3
// subnormals into f16 normals of a lower exponent, which the exponents used here do not show; it
// cannot matter, because such a product is never the largest one by enough to cut off any bit: 2^-6
// * 2^8 aligns at 2^2, and with F = 25 keeps bits down to 2^-23, while the last bit of any product
// is 2^-18.
std::uint32_t dot_hopper_fp8(const NodeModel& model, const Format& a_format, const Format& b_format,
                             std::span<const Decoded> a, std::span<const Decoded> b,
                             std::uint32_t c, NodeNoise* noise) {
  Picked low, high;
  for (std::size_t k = 0; k < a.size(); ++k) (k % 4 < 2 ? low : high).add(a[k], b[k]);
  const std::uint32_t first = node_with(model, a_format, b_format, low.a(), low.b(), 0, noise);
  const std::uint32_t second =
      node_with(model, a_format, b_format, high.a(), high.b(), first, noise);
  return added(accumulator_format(model.output), c, second, noise);
}

std::uint32_t dot_with(const DotModel& model, const Format& a_format, const Format& b_format,
                       std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c,
                       NodeNoise* noise) {
  PLUMB_ASSERT(a.size() == b.size());
  switch (model.chaining) {
    case Chaining::in_order:
      return dot_in_order(model.node, a_format, b_format, a, b, c, noise);
    case Chaining::hopper_fp8:
      return dot_hopper_fp8(model.node, a_format, b_format, a, b, c, noise);
  }
  PLUMB_ASSERT(false);
  return 0;
}

std::vector<Decoded> decoded(const Format& format, std::span<const std::uint32_t> codes) {
  std::vector<Decoded> values;
  values.reserve(codes.size());
  for (const std::uint32_t code : codes) values.push_back(decode(format, code));
  return values;
}

constexpr std::size_t kMostProducts = 32;  // that are addends by themselves

// Steps 2 to 4, and the accumulator as one more addend, which `terms` has room for.
std::uint32_t sum_of(const NodeModel& model, std::array<Term, kMostProducts + 1>& terms,
                     std::size_t count, SpecialSum special, std::uint32_t c, NodeNoise* noise) {
  const Format& c_format = accumulator_format(model.output);
  const Decoded accumulator = decode(c_format, c);
  if (accumulator.cls == ValueClass::nan) special.nan = true;
  if (accumulator.cls == ValueClass::infinite) special.add_infinity(accumulator.negative);
  terms[count++] = term_of(c_format, accumulator);
  if (special.any()) return special_result(special, c_format);

  // 2. The largest exponent of the non-zero ones.
  int alignment = model.zero_exponent;
  for (std::size_t i = 0; i < count; ++i) {
    if (terms[i].significand != 0 || terms[i].cancelled)
      alignment = std::max(alignment, terms[i].exponent);
  }

  // 3. The exact sum of the cut addends: below 2^(F+2) each, and below 2^(F+12) where one is a sum
  // of 16 products of e2m1, so 64 bits are ample for F <= 35.
  PLUMB_ASSERT(model.fraction_bits <= 35);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += aligned(terms[i], alignment, model.fraction_bits, noise);
  }

  // 4. One conversion.
  const int unit = alignment - model.fraction_bits;
  return noise == nullptr ? converted(sum, unit, model.output)
                          : converted_randomly(sum, unit, model.output, *noise);
}

std::uint32_t node_with(const NodeModel& model, const Format& a_format, const Format& b_format,
                        std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c,
                        NodeNoise* noise) {
  PLUMB_ASSERT(a.size() == b.size());
  PLUMB_ASSERT(a.size() <= static_cast<std::size_t>(model.products) && a.size() <= kMostProducts);
  std::array<Term, kMostProducts + 1> terms;
  SpecialSum special;
  for (std::size_t k = 0; k < a.size(); ++k) {  // 1. exact products
    note_special_product(a[k], b[k], special);
    terms[k] = product_of(term_of(a_format, a[k]), term_of(b_format, b[k]));
  }
  return sum_of(model, terms, a.size(), special, c, noise);
}

// The exact sum of products whose exponents are at least 0, as those of e2m1 are.
Term sum_of_products(const Format& a_format, const Format& b_format, std::span<const Decoded> a,
                     std::span<const Decoded> b) {
  Term sum{false, 0, 0, a_format.mantissa_bits + b_format.mantissa_bits};
  std::int64_t total = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const Term product = product_of(term_of(a_format, a[k]), term_of(b_format, b[k]));
    PLUMB_ASSERT(product.exponent >= 0 && product.exponent < 8);
    const auto magnitude = static_cast<std::int64_t>(product.significand << product.exponent);
    total += product.negative ? -magnitude : magnitude;
    sum.cancelled |= magnitude != 0;
  }
  sum.negative = total < 0;
  sum.significand = static_cast<std::uint64_t>(total < 0 ? -total : total);
  return sum;
}

std::uint32_t scaled_node_with(const NodeModel& model, const Format& a_format,
                               const Format& b_format, std::span<const Decoded> a,
                               std::span<const Decoded> b, const NodeScales& scales,
                               std::uint32_t c, NodeNoise* noise) {
  const std::size_t blocks = scales.a.size(), group = static_cast<std::size_t>(model.group),
                    groups = a.size() / group;
  PLUMB_ASSERT(a.size() == b.size() && scales.b.size() == blocks && blocks > 0 &&
               groups % blocks == 0 && groups <= kMostProducts);
  const Format& scale_format = format(scales.format);
  std::array<Term, kMostProducts + 1> terms;
  SpecialSum special;
  for (std::size_t i = 0; i < groups; ++i) {
    const std::size_t first = i * group, block = i / (groups / blocks);
    for (std::size_t k = first; k < first + group; ++k) note_special_product(a[k], b[k], special);
    const Decoded &a_scale = scales.a[block], &b_scale = scales.b[block];
    if (a_scale.cls == ValueClass::nan || b_scale.cls == ValueClass::nan) special.nan = true;
    const Term scale = product_of(term_of(scale_format, a_scale), term_of(scale_format, b_scale));
    const Term sum = group == 1 ? product_of(term_of(a_format, a[i]), term_of(b_format, b[i]))
                                : sum_of_products(a_format, b_format, a.subspan(first, group),
                                                  b.subspan(first, group));
    terms[i] = product_of(sum, scale);
    terms[i].cancelled = sum.cancelled && scale.significand != 0;
  }
  return sum_of(model, terms, groups, special, c, noise);
}

}  // namespace

const Format& accumulator_format(NodeOutput output) {
  return format(output == NodeOutput::f16_nearest_even ? FormatId::f16 : FormatId::f32);
}

std::uint32_t scaled_node(const NodeModel& model, const Format& a_format, const Format& b_format,
                          std::span<const Decoded> a, std::span<const Decoded> b,
                          const NodeScales& scales, std::uint32_t c) {
  return scaled_node_with(model, a_format, b_format, a, b, scales, c, nullptr);
}

std::uint32_t scaled_node_randomly(const NodeModel& model, const Format& a_format,
                                   const Format& b_format, std::span<const Decoded> a,
                                   std::span<const Decoded> b, const NodeScales& scales,
                                   std::uint32_t c, NodeNoise& noise) {
  return scaled_node_with(model, a_format, b_format, a, b, scales, c, &noise);
}

std::uint32_t node(const NodeModel& model, const Format& a_format, const Format& b_format,
                   std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c) {
  return node_with(model, a_format, b_format, a, b, c, nullptr);
}

std::uint32_t dot(const DotModel& model, const Format& a_format, const Format& b_format,
                  std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c) {
  return dot_with(model, a_format, b_format, a, b, c, nullptr);
}

std::uint32_t dot_randomly(const DotModel& model, const Format& a_format, const Format& b_format,
                           std::span<const Decoded> a, std::span<const Decoded> b, std::uint32_t c,
                           NodeNoise& noise) {
  return dot_with(model, a_format, b_format, a, b, c, &noise);
}

std::uint32_t node(const NodeModel& model, const Format& a_format, const Format& b_format,
                   std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                   std::uint32_t c) {
  const std::vector<Decoded> x = decoded(a_format, a);
  const std::vector<Decoded> y = decoded(b_format, b);
  return node(model, a_format, b_format, std::span<const Decoded>(x), std::span<const Decoded>(y),
              c);
}

std::uint32_t dot(const DotModel& model, const Format& a_format, const Format& b_format,
                  std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                  std::uint32_t c) {
  const std::vector<Decoded> x = decoded(a_format, a);
  const std::vector<Decoded> y = decoded(b_format, b);
  return dot(model, a_format, b_format, std::span<const Decoded>(x), std::span<const Decoded>(y),
             c);
}

}  // namespace plumbline
