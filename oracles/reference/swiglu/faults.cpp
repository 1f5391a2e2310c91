// SPDX-License-Identifier: MIT
#include "oracles/reference/swiglu/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "oracles/formats/decode.h"
#include "oracles/formats/encode.h"
#include "oracles/reference/swiglu/silu.h"

namespace plumbline {
namespace {

// Elements of the row and of the column that are looked at.
constexpr std::int64_t kAround = 48;

// An element, and its sums in double.
class Spot {
 public:
  Spot(const SwigluHidden& hidden, const GemmPlace& at) : hidden_(&hidden), at_(at) {
    gate = sum(hidden.gate(), at.j, 0);
    up = sum(hidden.up(), at.j, 0);
  }

  double gate = 0, up = 0;

  // Without the last `missing` products.
  Spot shortened(std::int64_t missing) const {
    Spot out = *this;
    out.gate = sum(hidden_->gate(), at_.j, missing);
    out.up = sum(hidden_->up(), at_.j, missing);
    return out;
  }

  // With up from another column.
  Spot beside(std::int64_t columns) const {
    Spot out = *this;
    const std::int64_t width = hidden_->problem().hidden();
    out.up = sum(hidden_->up(), std::clamp<std::int64_t>(at_.j + columns, 0, width - 1), 0);
    return out;
  }

  std::int64_t d() const { return hidden_->problem().d(); }

 private:
  double sum(const PreparedGemm& gemm, std::int64_t column, std::int64_t missing) const {
    const float* row = gemm.row(at_);
    const float* weights = gemm.column({0, at_.i, column});
    double sum = 0;
    for (std::int64_t p = 0; p < d() - missing; ++p)
      sum += static_cast<double>(row[p]) * static_cast<double>(weights[p]);
    return sum;
  }

  const SwigluHidden* hidden_;
  GemmPlace at_;
};

double rounded(double x) {
  const Format& bf16 = format(FormatId::bf16);
  return to_double(bf16, encode(bf16, x));
}

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

double product(const Spot& at) { return silu(at.gate) * at.up; }

struct Fault {
  std::string words;
  std::function<double(const Spot&)> value;
  Rounding rounding = Rounding::nearest_even;
};

// What tails of the sums there can be.
void add_tails(std::int64_t d, std::vector<Fault>& faults) {
  const auto add = [&](std::string words, std::int64_t missing) {
    faults.push_back(
        {std::move(words), [missing](const Spot& at) { return product(at.shortened(missing)); }});
  };
  if (d > 0) add("the last product is missing from both sums", 1);
  for (const std::int64_t step : {8, 16, 32}) {
    if (d % step > 1)
      add(fmt::format("the products after the last multiple of {} are missing from both sums",
                      step),
          d % step);
  }
}

std::vector<Fault> known_faults(std::int64_t d) {
  std::vector<Fault> faults = {
      {"gate and up are swapped", [](const Spot& at) { return silu(at.up) * at.gate; }},
      {"silu is missing: gate times up", [](const Spot& at) { return at.gate * at.up; }},
      {"the factor up is missing", [](const Spot& at) { return silu(at.gate); }},
      {"sigma(gate) is not multiplied by gate",
       [](const Spot& at) { return sigma(at.gate) * at.up; }},
      {"the exponent has the wrong sign",
       [](const Spot& at) { return at.gate * sigma(-at.gate) * at.up; }},
      {"the power is multiplied where it should divide",
       [](const Spot& at) { return at.gate * (1 + std::exp(-at.gate)) * at.up; }},
      {"the exponential is to base 2: log2 e is missing",
       [](const Spot& at) { return at.gate * sigma(at.gate * std::numbers::ln2) * at.up; }},
      {"gelu in place of silu",
       [](const Spot& at) {
         return at.gate / 2 * (1 + std::erf(at.gate / std::numbers::sqrt2)) * at.up;
       }},
      {"h is 0", [](const Spot&) { return 0.0; }},
      {"gate is rounded to bf16 before silu",
       [](const Spot& at) { return silu(rounded(at.gate)) * at.up; }},
      {"gate and up are rounded to bf16 first",
       [](const Spot& at) { return silu(rounded(at.gate)) * rounded(at.up); }},
      {"silu(gate) is rounded to bf16 before it meets up",
       [](const Spot& at) { return rounded(silu(at.gate)) * at.up; }},
      {"h is truncated instead of rounded", product, Rounding::toward_zero},
      {"ties of h go away from zero", product, Rounding::nearest_away},
      {"up is of the column before", [](const Spot& at) { return product(at.beside(-1)); }},
      {"up is of the column after", [](const Spot& at) { return product(at.beside(1)); }},
      {"up is of eight columns before", [](const Spot& at) { return product(at.beside(-8)); }},
      {"up is of eight columns after", [](const Spot& at) { return product(at.beside(8)); }},
  };
  add_tails(d, faults);
  return faults;
}

// The failing elements of the row and column of `index`, itself first.
std::vector<std::int64_t> failing_around(const SwigluHidden& hidden, std::int64_t index,
                                         const Tensor& got) {
  const Format& f = format(got.layout.format);
  const std::int64_t width = hidden.problem().hidden(), height = hidden.problem().tokens();
  std::vector<std::int64_t> out = {index};
  const auto look_at = [&](std::int64_t i, std::int64_t j) {
    const GemmPlace at{0, i, j};
    const std::int64_t other = i * width + j;
    if (other == index || hidden.special(at)) return;
    if (!range_verdict(f, other, hidden.element(at), got.bits(other)).pass) out.push_back(other);
  };
  for (std::int64_t j = 0; j < std::min(width, kAround); ++j) look_at(index / width, j);
  for (std::int64_t i = 0; i < std::min(height, kAround); ++i) look_at(i, index % width);
  return out;
}

// Up to what double and f32 lose.
bool gives(const Fault& fault, const Spot& at, const Format& f, std::uint64_t got) {
  constexpr double kLost = 0x1p-17;
  const double value = fault.value(at), stored = to_double(f, got);
  if (!std::isfinite(value) || !std::isfinite(stored)) return false;
  const auto end = [&](double x) {
    return to_double(f, encode(f, x, {.rounding = fault.rounding}));
  };
  const double one = end(value * (1 - kLost)), other = end(value * (1 + kLost));
  return std::min(one, other) <= stored && stored <= std::max(one, other);
}

}  // namespace

NamedFaults hidden_faults(const SwigluHidden& hidden, std::int64_t index, const Tensor& got) {
  const Format& f = format(got.layout.format);
  if (hidden.special(hidden.gate().place(index))) return NamedFaults::none(kNoFaultFits);
  const std::vector<std::int64_t> failing = failing_around(hidden, index, got);
  std::vector<Spot> spots;
  for (const std::int64_t one : failing) spots.emplace_back(hidden, hidden.gate().place(one));
  FaultRanking fitting;
  for (const Fault& fault : known_faults(hidden.problem().d())) {
    bool fits = true;
    for (std::size_t s = 0; s < spots.size() && fits; ++s)
      fits = gives(fault, spots[s], f, got.bits(failing[s]));
    if (fits) fitting.add({.words = fault.words});
  }
  return std::move(fitting).named(0);
}

}  // namespace plumbline
