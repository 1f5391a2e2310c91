// SPDX-License-Identifier: MIT
// X and the weights of up follow A and B of a GEMM pattern, the weights of down follow B of a
// second one. What silu makes of the first pattern is the question of the gates, which are one of
// three:
//
//   open    one column of X is 1 and meets only the gate, with 32: silu(32) is 32 and h is 32 times
//           the sum of up, so that what the class says of sums is true of h
//   paired  the weights of the gate are those of up in the opposite order of columns, with random
//           signs, scaled so that gates are of order 1 where the class is about ordinary data
//   levels  (class gate_levels) a column of X that is 1 gives every column of h a gate of its own:
//           far below zero, at the minimum of silu, at the ends of the exponential, and so on
#include "fuzz/swiglu/fill.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "fuzz/case/draw.h"
#include "fuzz/case/values.h"
#include "fuzz/gemm/shared_fill.h"
#include "fuzz/gemm/values.h"
#include "oracles/base/assert.h"
#include "oracles/base/hash.h"

namespace plumbline {

namespace {

constexpr std::string_view kGateLevels = "gate_levels";
constexpr double kOpen = 32;

// Where silu and its steps change: e^-g overflows below -88.7, its divisions reach the smallest
// normal number at -87.3, the minimum is at -1.2785, 1 + e^-g is 1 from 16.6 on.
constexpr std::array kLevels = {
    -0x1p100,  -1000.0, -104.0,  -89.0,    -88.5,      -87.5,  -87.0, -40.0, -17.0,
    -8.0,      -4.0,    -1.5,    -1.28125, -1.2734375, -1.25,  -1.0,  -0.5,  -0x1p-12,
    -0x1p-126, 0.0,     0x1p-20, 0.25,     1.0,        4.0,    8.0,   16.0,  16.5,
    17.0,      30.0,    87.5,    88.5,     1000.0,     0x1p100};

struct Contexts {
  GemmContext sums, output;
};

Contexts contexts_of(const Case& test_case, const CaseTensors& tensors) {
  const auto size = [&](std::string_view field) { return test_case.problem.integer(field); };
  Contexts out;
  out.sums.m = out.output.m = size("tokens");
  out.sums.n = out.output.k = size("hidden");
  out.sums.k = size("d");
  out.output.n = size("d_out");
  out.sums.a = &element_format(tensors, "x");
  out.sums.b = &element_format(tensors, "w_up");
  out.output.a = &element_format(tensors, "h");
  out.output.b = &element_format(tensors, "w_down");
  out.output.f32_output = element_format(tensors, "y").id == FormatId::f32;
  for (GemmContext* context : {&out.sums, &out.output}) {
    context->c = context->bias = &format(FormatId::f32);  // there is neither
    context->random = recipe_random(test_case.recipe);
  }
  // Here k says how far integers may reach: sums of open gates times integers stay exact.
  if (test_case.recipe.value_class == "integers")
    out.sums.k = out.output.k = static_cast<std::int64_t>(kOpen) * out.sums.k * out.output.k;
  return out;
}

using Values = std::function<double(const At&)>;  // of a matrix, by its row and column

// What the three matrices of the first product hold.
struct Inputs {
  Values x, gate, up;
  std::vector<Placement> placements;
};

Values transposed(Values values) {
  return [values = std::move(values)](const At& at) { return values({0, at.column, at.row}); };
}

std::int64_t draw_column(const GemmContext& context, std::string_view purpose) {
  Random random = context.random.fork(fingerprint(purpose));
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(context.k)));
}

// `values`, but for one column.
Values with_column(Values values, std::int64_t column, Values there) {
  return [=](const At& at) { return at.column == column ? there(at) : values(at); };
}

Values constant(double value) {
  return [value](const At&) { return value; };
}

// The exponent of a power of two near the root of k, so that sums of ordinary products are of order
// 1.
int half_log2(std::int64_t k) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(k))) / 2;
}

Inputs open(Inputs inputs, const GemmContext& context, std::int64_t d) {
  GemmContext of_columns = context;
  of_columns.k = d;
  const std::int64_t column = draw_column(of_columns, "the column of open gates");
  inputs.x = with_column(std::move(inputs.x), column, constant(1));
  inputs.up = with_column(std::move(inputs.up), column, constant(0));
  inputs.gate = with_column(constant(0), column, constant(kOpen));
  return inputs;
}

Inputs paired(Inputs inputs, const GemmContext& context, bool ordinary, bool signs) {
  const int shift = ordinary ? -half_log2(context.k) : 0;
  const ElementStream stream = context.stream("signs of gates");
  inputs.gate = [up = inputs.up, last = context.n - 1, shift, stream, signs](const At& at) {
    Random of_column = stream({0, at.row, 0});
    const double sign = signs ? draw_sign(of_column) : 1;
    return std::ldexp(sign * up({0, last - at.row, at.column}), shift);
  };
  if (ordinary) {
    inputs.up = [up = inputs.up, shift](const At& at) { return std::ldexp(up(at), shift); };
  }
  return inputs;
}

// The gate of token i and column j is level_j (1 + r_i 2^-6), in half of the cases plus noise.
Inputs levels(Inputs inputs, const GemmContext& context) {
  const std::int64_t level = draw_column(context, "the column of levels"),
                     spread = (level + 1) % context.k;
  Random random = context.random.fork(fingerprint("noise of levels"));
  const bool noisy = random.below(2) == 0;
  const auto level_of = [stream = context.stream("levels")](std::int64_t column) {
    Random of_column = stream({0, column, 0});
    return draw_one_of(of_column, kLevels);
  };
  const int shift = -half_log2(context.k);
  inputs.gate = [=, noise = context.stream("noise")](const At& at) {
    const double own = level_of(at.row);
    if (at.column == level) return own;
    if (at.column == spread) return own * 0x1p-6;
    Random of_element = noise(at);
    return noisy ? std::ldexp(draw_normal(of_element) * own, shift - 10) : 0.0;
  };
  if (spread != level) {
    inputs.x =
        with_column(std::move(inputs.x), spread, [rows = context.stream("spread")](const At& at) {
          Random of_row = rows({0, at.row, 0});
          return static_cast<double>(of_row.between(-2, 2));
        });
  }
  inputs.x = with_column(std::move(inputs.x), level, constant(1));
  inputs.up = [up = inputs.up, shift](const At& at) { return std::ldexp(up(at), shift); };
  return inputs;
}

Inputs inputs_of(const Case& test_case, const GemmContext& context) {
  const std::string_view value_class = test_case.recipe.value_class;
  const std::int64_t d = test_case.problem.integer("d");
  const bool of_levels = value_class == kGateLevels;
  const GemmPattern pattern = gemm_pattern(of_levels ? "normal" : value_class, context);
  Inputs inputs;
  inputs.x = pattern.a;
  inputs.gate = inputs.up = transposed(pattern.b);
  inputs.placements = pattern.placements;
  if (d == 0) return inputs;
  if (of_levels) return levels(std::move(inputs), context);
  const ValueClassInfo* info = find_value_class(value_class);
  PLUMB_ASSERT(info != nullptr);
  Random either = context.random.fork(fingerprint("open or paired gates"));
  const bool opened = either.below(2) == 0 || info->exact_integers;
  if (opened && d > 1) return open(std::move(inputs), context, d);
  constexpr std::array<std::string_view, 3> kOrdinary = {"normal", "positive", "outliers"};
  const bool ordinary =
      std::find(kOrdinary.begin(), kOrdinary.end(), value_class) != kOrdinary.end();
  return paired(std::move(inputs), context, ordinary, !info->exact_integers);
}

}  // namespace

std::span<const std::string_view> swiglu_value_classes() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> out;
    for (const GemmValueClass& entry : gemm_value_classes()) out.push_back(entry.name);
    out.push_back(kGateLevels);
    return out;
  }();
  return names;
}

void swiglu_fill(const Case& test_case, CaseTensors& tensors) {
  const std::string_view value_class = test_case.recipe.value_class;
  const auto [sums, output] = contexts_of(test_case, tensors);
  const Inputs inputs = inputs_of(test_case, sums);
  const GemmPattern of_output =
      gemm_pattern(value_class == kGateLevels ? "normal" : value_class, output);
  fill_matrix(tensors.find("x"), inputs.x);
  fill_matrix(tensors.find("w_gate"), inputs.gate);
  fill_matrix(tensors.find("w_up"), inputs.up);
  fill_matrix(tensors.find("w_down"), transposed(of_output.b));
  for (const Placement& placement : inputs.placements) {
    const At at = placement.at;
    if (placement.tensor == "a") place(tensors.find("x"), at, placement.value);
    if (placement.tensor == "b")
      place(tensors.find("w_up"), {0, at.column, at.row}, placement.value);
  }
  for (const Placement& placement : of_output.placements) {
    const At at = placement.at;
    if (placement.tensor == "b")
      place(tensors.find("w_down"), {0, at.column, at.row}, placement.value);
  }
}

}  // namespace plumbline
