// SPDX-License-Identifier: MIT
#include "oracles/reference/quantize/faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"

namespace plumbline {
namespace {

// What a faulty kernel knows when it makes one code.
struct Element {
  const QuantizeProblem& problem;
  const Format& code;
  float x, scale, amax, next_scale;  // next_scale: of the following group

  float argument(float by) const {
    return quantize_argument(problem.rule, x, by, amax, problem.limit());
  }

  std::uint64_t converted(double value, Rounding rounding, Overflow overflow) const {
    return encode(code, value, {.rounding = rounding, .overflow = overflow});
  }

  std::uint64_t through_f16(Rounding rounding) const {
    const Format& f16 = format(FormatId::f16);
    const std::uint64_t half = encode(f16, static_cast<double>(argument(scale)),
                                      {.rounding = rounding, .overflow = Overflow::saturate});
    return converted(to_double(f16, half), Rounding::nearest_even, Overflow::saturate);
  }
};

struct Fault {
  std::string_view words;
  std::uint64_t (*code)(const Element&);
};

constexpr std::array kFaults = {
    Fault{"the conversion truncates instead of rounding to nearest",
          [](const Element& e) {
            return e.converted(static_cast<double>(e.argument(e.scale)), Rounding::toward_zero,
                               Overflow::saturate);
          }},
    Fault{"ties are rounded away from zero instead of to even",
          [](const Element& e) {
            return e.converted(static_cast<double>(e.argument(e.scale)), Rounding::nearest_away,
                               Overflow::saturate);
          }},
    Fault{"one half is added before truncation, also to negative numbers",
          [](const Element& e) {
            return e.converted(std::trunc(static_cast<double>(e.argument(e.scale)) + 0.5),
                               Rounding::toward_zero, Overflow::saturate);
          }},
    Fault{"overflow becomes a special value instead of saturating",
          [](const Element& e) {
            return e.converted(static_cast<double>(e.argument(e.scale)), Rounding::nearest_even,
                               Overflow::to_special);
          }},
    Fault{"the top binade is clipped: magnitudes from 256 on become the largest code",
          [](const Element& e) {
            const auto value = static_cast<double>(e.argument(e.scale));
            return e.converted(std::fabs(value) >= 256 ? std::copysign(1e9, value) : value,
                               Rounding::nearest_even, Overflow::saturate);
          }},
    Fault{"magnitudes above the largest code become a special value before they are rounded",
          [](const Element& e) {
            const auto value = static_cast<double>(e.argument(e.scale));
            const bool above = std::fabs(value) > static_cast<double>(e.problem.limit());
            return e.converted(above ? std::copysign(1e9, value) : value, Rounding::nearest_even,
                               Overflow::to_special);
          }},
    Fault{"NaN becomes the largest code",
          [](const Element& e) {
            const auto value = static_cast<double>(e.argument(e.scale));
            return e.converted(std::isnan(value) ? 1e9 : value, Rounding::nearest_even,
                               Overflow::saturate);
          }},
    Fault{"the value goes through f16, truncated, on its way to the code",
          [](const Element& e) { return e.through_f16(Rounding::toward_zero); }},
    Fault{"the value is rounded to f16 on its way to the code",
          [](const Element& e) { return e.through_f16(Rounding::nearest_even); }},
    Fault{"the scale is left out",
          [](const Element& e) {
            return e.converted(static_cast<double>(e.x), Rounding::nearest_even,
                               Overflow::saturate);
          }},
    Fault{"the value is multiplied by the scale instead of divided",
          [](const Element& e) {
            return e.converted(static_cast<double>(e.x * e.scale), Rounding::nearest_even,
                               Overflow::saturate);
          }},
    Fault{"the scale is that of the following group",
          [](const Element& e) {
            return e.converted(static_cast<double>(e.argument(e.next_scale)),
                               Rounding::nearest_even, Overflow::saturate);
          }},
    Fault{"a group of zeros gives NaN: 0 / 0",
          [](const Element& e) {
            const double value =
                e.amax == 0 ? std::nan("") : static_cast<double>(e.argument(e.scale));
            return e.converted(value, Rounding::nearest_even, Overflow::saturate);
          }},
};

}  // namespace

NamedFaults quantize_faults(const QuantizeProblem& problem, const std::vector<float>& maxima,
                            const std::vector<float>& scales, const Tensor& got) {
  FaultRanking fitting;
  for (const Fault& fault : kFaults) {
    bool fits = true;
    for (std::int64_t i = 0; i < problem.m && fits; ++i) {
      for (std::int64_t j = 0; j < problem.n && fits; ++j) {
        const auto group = static_cast<std::size_t>(problem.group_of(i, j));
        const Element element{
            problem,       format(problem.code), problem.element(i, j),
            scales[group], maxima[group],        scales[std::min(group + 1, scales.size() - 1)]};
        fits = fault.code(element) == got.bits(i * problem.n + j);
      }
    }
    if (fits) fitting.add({.words = std::string(fault.words)});
  }
  return std::move(fitting).named(0);
}

}  // namespace plumbline
