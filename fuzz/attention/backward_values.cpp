// SPDX-License-Identifier: MIT
#include "fuzz/attention/backward_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fuzz/case/draw.h"

namespace plumbline {

namespace {

constexpr std::array<std::string_view, 3> kClasses = {"zero_gradient", "parallel_gradient",
                                                      "late_gradient"};

// With these, sums of products stay exact if gradients are small integers.
constexpr std::array<std::string_view, 6> kExact = {
    "ones", "one_hot", "index_code", "equal_scores", "head_constants", "identity_values"};

OutputGradient normal(const AttentionContext& context) {
  return [values = attention_normal_values(context, "do")](const AttentionSpot& at, double) {
    return values(at);
  };
}

OutputGradient integers(const AttentionContext& context) {
  return [stream = context.stream("do")](const AttentionSpot& at, double) {
    Random random = stream(at);
    return static_cast<double>(random.between(-8, 8));
  };
}

OutputGradient times(const OutputGradient& gradient, double factor) {
  return [=](const AttentionSpot& at, double o) { return factor * gradient(at, o); };
}

// dP - delta cancels.
OutputGradient parallel(const AttentionContext& context) {
  return [values = attention_normal_values(context, "do")](const AttentionSpot& at, double o) {
    return 16 * o + 0x1p-6 * values(at);
  };
}

// Only the last rows have any, and that is small.
OutputGradient late(const AttentionContext& context) {
  return [&context, values = attention_normal_values(context, "do")](const AttentionSpot& at,
                                                                     double) {
    const std::int64_t queries = context.lengths(at).queries;
    return at.row >= queries - std::max<std::int64_t>(1, queries / 8) ? 0x1p-7 * values(at) : 0.0;
  };
}

// NaN in one row of every head, infinities in the next.
OutputGradient special(const AttentionContext& context) {
  return [values = attention_normal_values(context, "do")](const AttentionSpot& at, double) {
    if (at.row == 2 && at.column == 1) return std::numeric_limits<double>::quiet_NaN();
    if (at.row == 3 && at.column == 0) return std::numeric_limits<double>::infinity();
    return values(at);
  };
}

}  // namespace

OutputGradient output_gradient(std::string_view value_class, const AttentionContext& context) {
  if (value_class == "zero_gradient") return [](const AttentionSpot&, double) { return 0.0; };
  if (value_class == "parallel_gradient") return parallel(context);
  if (value_class == "late_gradient") return late(context);
  if (value_class == "specials") return special(context);
  if (value_class == "large") return times(normal(context), 0x1p20);
  if (value_class == "subnormal") return times(normal(context), 0x1p-20);
  if (std::find(kExact.begin(), kExact.end(), value_class) != kExact.end())
    return integers(context);
  return normal(context);
}

std::span<const std::string_view> gradient_classes() { return kClasses; }

}  // namespace plumbline
