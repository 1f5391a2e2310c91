// SPDX-License-Identifier: MIT
#include "fuzz/attention/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fuzz/case/draw.h"
#include "kernels/manifest/manifest.h"
#include "oracles/base/assert.h"

namespace plumbline {

namespace {

// One of the orders that the kernel has.
std::string_view draw_order(const Manifest& manifest, Random& random) {
  const auto field = std::find_if(manifest.schema().begin(), manifest.schema().end(),
                                  [](const Field& one) { return one.name == "layout"; });
  PLUMB_ASSERT(field != manifest.schema().end());
  return draw_one_of(random, field->choices);
}

std::string bhs(const Manifest&, Random&) { return "layout=bhs"; }

std::string bsh(const Manifest&, Random&) { return "layout=bsh"; }

std::string sbh(const Manifest&, Random&) { return "layout=sbh"; }

std::string padded_8(const Manifest& manifest, Random& random) {
  const std::string_view order = draw_order(manifest, random);
  return fmt::format("layout={} pad={}", order, 8 * random.between(1, 9));
}

std::string padded_odd(const Manifest& manifest, Random& random) {
  const std::string_view order = draw_order(manifest, random);
  return fmt::format("layout={} pad={}", order, 2 * random.between(0, 20) + 1);
}

// clang-format off
constexpr std::array kLayoutClasses = {
    AttentionLayoutClass{{"bhs", "every head's rows one after the other"}, bhs},
    AttentionLayoutClass{{"bsh", "the heads of a row side by side, as projections leave them"}, bsh},
    AttentionLayoutClass{{"sbh", "the rows of all sequences interleaved"}, sbh},
    AttentionLayoutClass{{"padded_8", "space after every row, still aligned"}, padded_8},
    AttentionLayoutClass{{"padded_odd", "rows at odd distances: loads that assume alignment"}, padded_odd},
};
// clang-format on

}  // namespace

std::span<const AttentionLayoutClass> attention_layout_classes() { return kLayoutClasses; }

}  // namespace plumbline
