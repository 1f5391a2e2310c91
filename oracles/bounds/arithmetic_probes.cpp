// SPDX-License-Identifier: MIT
#include "oracles/bounds/arithmetic_probes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "oracles/base/assert.h"

namespace plumbline {
namespace {

// Exponents that every input format of the catalog has as the product of two of its numbers.
constexpr int kLarge = 16, kSmall = -18;
constexpr int kMostBits = 30;  // of alignment and width
// Of the three terms of the alignment probes: in one step of every unit of 8 products or more,
// emulated FP8 on Hopper (which takes k mod 4 in {0, 1} first) included; and of the later term of
// the width probes.
constexpr std::int64_t kPlus = 0, kPart = 1, kMinus = 4, kLater = 32, kLast = 64;

// Sets term i to sign * significand * 2^exponent.
void set(ArithmeticProbe& probe, std::int64_t i, int exponent, float significand = 1) {
  const int half = exponent >= 0 ? (exponent + 1) / 2 : exponent / 2;
  probe.a[static_cast<std::size_t>(i)] = std::ldexp(significand, half);
  probe.b[static_cast<std::size_t>(i)] = std::ldexp(1.0f, exponent - half);
}

ArithmeticProbe empty() {
  ArithmeticProbe probe;
  probe.a.assign(static_cast<std::size_t>(kProbeDepth), 0.0f);
  probe.b.assign(static_cast<std::size_t>(kProbeDepth), 1.0f);
  return probe;
}

ArithmeticProbe alignment_probe(int d) {
  ArithmeticProbe probe = empty();
  set(probe, kPlus, kLarge);
  set(probe, kMinus, kLarge, -1);
  set(probe, kPart, kLarge - d);
  return probe;
}

ArithmeticProbe width_probe(int d, float significand, ProbeResults kind) {
  ArithmeticProbe probe = empty();
  set(probe, kPlus, kLarge);
  set(probe, kLater, kLarge - d, significand);
  if (kind == ProbeResults::narrow) set(probe, kLast, kLarge, -1);
  return probe;
}

// With the small terms from `begin` to `end`.
ArithmeticProbe tree_probe(std::int64_t j, std::int64_t begin, std::int64_t end) {
  ArithmeticProbe probe = empty();
  for (std::int64_t i = begin; i < end; ++i) set(probe, i, kSmall);
  set(probe, 0, kLarge);
  set(probe, j, kLarge, -1);
  return probe;
}

// The results in the order of arithmetic_probes().
struct Results {
  std::span<const float> all;
  ProbeResults kind;

  float alignment(int d) const { return all[static_cast<std::size_t>(d - 1)]; }

  // Whether the later term left something behind.
  bool width(int d) const { return is_left(kMostBits + d - 1); }

  bool rounding(int d) const { return is_left(2 * kMostBits + d - 1); }

  bool is_left(int i) const {
    return all[static_cast<std::size_t>(i)] !=
           (kind == ProbeResults::narrow ? 0.0f : std::ldexp(1.0f, kLarge));
  }

  // Terms lost while 0 and j had not met, both included.
  std::int64_t subtree(std::int64_t j) const {
    double terms = 0;
    const std::int64_t parts = kind == ProbeResults::narrow ? 2 : 1;
    for (std::int64_t part = 0; part < parts; ++part) {
      const float kept = all[static_cast<std::size_t>(3 * kMostBits + parts * (j - 1) + part)];
      const double some = std::ldexp(static_cast<double>(kept), -kSmall);
      if (!(some >= 0 && some <= kProbeDepth)) return 0;
      terms += some;
    }
    return kProbeDepth - static_cast<std::int64_t>(terms);
  }
};

// The last d for which `visible` holds; 0 when it holds to the end.
template <typename Visible>
int last_visible(const Visible& visible) {
  for (int d = 1; d <= kMostBits; ++d) {
    if (!visible(d)) return d - 1;
  }
  return 0;
}

}  // namespace

std::vector<ArithmeticProbe> arithmetic_probes(ProbeResults kind) {
  std::vector<ArithmeticProbe> probes;
  for (int d = 1; d <= kMostBits; ++d) probes.push_back(alignment_probe(d));
  for (int d = 1; d <= kMostBits; ++d) probes.push_back(width_probe(d, 1.0f, kind));
  for (int d = 1; d <= kMostBits; ++d) probes.push_back(width_probe(d, 1.5f, kind));
  const std::int64_t count = kind == ProbeResults::narrow ? kProbeDepth / 2 : kProbeDepth;
  for (std::int64_t j = 1; j < kProbeDepth; ++j) {
    for (std::int64_t begin = 0; begin < kProbeDepth; begin += count)
      probes.push_back(tree_probe(j, begin, begin + count));
  }
  return probes;
}

Arithmetic arithmetic_of(std::span<const float> all, ProbeResults kind) {
  PLUMB_ASSERT(std::ssize(all) ==
               3 * kMostBits + (kind == ProbeResults::narrow ? 2 : 1) * (kProbeDepth - 1));
  const Results results{all, kind};
  Arithmetic found;
  for (std::int64_t j = 1; j < kProbeDepth; ++j) {
    if (results.subtree(j) < 2 || results.subtree(j) > kProbeDepth) return found;
  }
  found.fraction_bits = last_visible([&](int d) { return results.alignment(d) != 0; });
  const int width = last_visible([&](int d) { return results.width(d); });
  found.result_bits = width == 0 ? 0 : width + 1;
  found.rounds = width > 0 && width < kMostBits && results.rounding(width + 1);

  // Subtrees grow by one step at a time inside an accumulator, and by whole accumulators beyond the
  // first. The smallest holds terms 0 and 1, which may be two steps.
  std::vector<std::int64_t> sizes;
  for (std::int64_t j = 1; j < kProbeDepth; ++j) sizes.push_back(results.subtree(j));
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  found.products_per_step = sizes.size() == 1 ? sizes[0] : std::min(sizes[0], sizes[1] - sizes[0]);
  std::int64_t expected = found.products_per_step;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const std::int64_t growth = sizes[i] - sizes[i - 1];
    if (growth == expected) continue;
    if (growth != sizes[i - 1]) break;
    found.fresh_every.push_back(growth);
    expected = growth;
  }
  return found;
}

std::string Arithmetic::words() const {
  if (products_per_step == 0) return "no dot product: no order of additions gives its results";
  const auto or_more = [](int bits) {
    return bits == 0 ? fmt::format("more than {}", kMostBits) : fmt::format("{}", bits);
  };
  std::string text = fmt::format("{} fraction bits, {}-bit results {}, {} product{} per step",
                                 or_more(fraction_bits), or_more(result_bits),
                                 rounds ? "rounded to nearest" : "cut toward zero",
                                 products_per_step, products_per_step == 1 ? "" : "s");
  if (!fresh_every.empty())
    text +=
        fmt::format(", a fresh accumulator every {} of k", fmt::join(fresh_every, " and every "));
  return text;
}

}  // namespace plumbline
