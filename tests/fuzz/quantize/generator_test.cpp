// SPDX-License-Identifier: MIT
// The generator of quantization: a plan that reaches every class, and the extremes that designed
// cases must reach for every kind of scale.
#include "fuzz/quantize/generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "fuzz/shrink/crop.h"
#include "oracles/formats/encode.h"
#include "tests/fuzz/plan/generated_plan.h"

namespace plumbline {
namespace {

constexpr std::string_view kText = R"(
computes   = "quantize"
summary    = "a kernel of the tests"
source     = "quantize.cu"
targets    = [90]
entry      = "quantize"
parameters = ["ptr x", "ptr q", "ptr scale", "ptr amax", "s32 m", "s32 n", "s64 ld_x", "s64 ld_q"]

[problem]
in    = ["f32", "bf16"]
out   = ["e4m3", "e5m2", "s8"]
scale = ["tensor", "row", "1x128"]
free  = ["ldx", "ldq"]

[launch]
grid   = ['m', 1, 1]
block  = [128]
shared = 0

[formats]
x = "{in}"
q = "{out}"

[contract]
rule = "x / scale"
)";

const Manifest& kernel() {
  static const Manifest manifest = manifest_of(kText, "quantize");
  return manifest;
}

TEST(QuantizeGenerator, PlanReachesEveryClass) { check_plan(kernel()); }

TEST(QuantizeGenerator, CasesAreTheSameEveryTime) { check_bits_repeat(kernel()); }

TEST(QuantizeGenerator, DesignedCasesAreProblems) { check_designed(kernel()); }

TEST(QuantizeGenerator, QuickPlanStaysSmall) {
  double elements = 0;
  for (const Case& test_case : plan_cases(kernel(), {Profile::quick, 1})) {
    elements += kernel().operation->work(test_case.problem);
  }
  EXPECT_LT(elements, 2e7);
}

// One group of a case: its elements in row-major order, and where they begin.
struct Group {
  std::int64_t row, column, rows, columns;
  std::vector<double> values;

  double peak() const {
    double most = 0;
    for (const double value : values) {
      if (std::isnan(value)) return value;
      most = std::max(most, std::fabs(value));
    }
    return most;
  }

  // The only element of the largest magnitude; -1 where there are several.
  std::int64_t peak_index() const {
    const double most = peak();
    std::int64_t found = -1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::fabs(values[i]) != most) continue;
      if (found >= 0) return -1;
      found = static_cast<std::int64_t>(i);
    }
    return found;
  }
};

std::vector<Group> groups_of(const Case& test_case) {
  const CaseTensors tensors = filled(test_case);
  const Tensor& x = *tensors.find("x");
  const std::int64_t m = x.layout.shape[0], n = x.layout.shape[1];
  const std::string_view scale = test_case.problem.word("scale");
  const std::int64_t rows = scale == "tensor" ? std::max<std::int64_t>(m, 1) : 1;
  const std::int64_t columns = scale == "1x128" ? 128 : std::max<std::int64_t>(n, 1);
  std::vector<Group> groups;
  for (std::int64_t i = 0; i < m; i += rows) {
    for (std::int64_t j = 0; j < n; j += columns) {
      Group group{i, j, rows, std::min(columns, n - j), {}};
      for (std::int64_t row = i; row < i + group.rows; ++row) {
        for (std::int64_t column = j; column < j + group.columns; ++column) {
          group.values.push_back(element_of(x, row * n + column));
        }
      }
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

// What some group of some designed case has shown.
struct Reached {
  bool nan = false, infinity = false, negative_infinity = false, zero = false,
       negative_zero = false;
  bool subnormal = false, clamped = false, largest = false, negative_peak = false;
  bool last_column = false, last_row = false, past_block = false, full_code = false;
};

void note(const Case& test_case, const Group& group, Reached& reached) {
  const double peak = group.peak();
  const bool is_f32 = test_case.problem.word("in") == "f32";
  const Format& input = format(is_f32 ? FormatId::f32 : FormatId::bf16);
  reached.nan |= std::isnan(peak);
  reached.zero |= peak == 0;
  for (const double value : group.values) {
    reached.infinity |= std::isinf(value) && value > 0;
    reached.negative_infinity |= std::isinf(value) && value < 0;
    reached.negative_zero |= value == 0 && std::signbit(value);
  }
  if (!std::isfinite(peak) || peak == 0) return;
  reached.subnormal |= peak < 0x1p-126;
  reached.clamped |= peak < 0x1p-118;
  reached.largest |= peak == to_double(input, input.max_finite());
  reached.full_code |= peak == 1;
  const std::int64_t index = group.peak_index();
  if (index < 0) return;
  const std::int64_t row = group.row + index / group.columns;
  const std::int64_t column = group.column + index % group.columns;
  const std::int64_t m = test_case.problem.integer("m"), n = test_case.problem.integer("n");
  reached.negative_peak |= group.values[static_cast<std::size_t>(index)] < 0 && m * n > 1;
  reached.last_column |= n > 1 && column == n - 1;
  reached.last_row |= m > 1 && row == m - 1;
  reached.past_block |= column > 0 && column % 128 == 0;
}

TEST(QuantizeGenerator, DesignedCasesReachEveryExtremeForEveryScaleAndFormat) {
  std::map<std::string, Reached> reached;
  for (const Case& test_case : plan_cases(kernel(), {Profile::quick, 1})) {
    if (test_case.origin != "designed") break;
    const Problem& problem = test_case.problem;
    Reached& here =
        reached[std::string(problem.word("scale")) + " " + std::string(problem.word("in")) + " " +
                std::string(problem.word("out"))];
    for (const Group& group : groups_of(test_case)) note(test_case, group, here);
  }
  EXPECT_EQ(reached.size(), 18u);
  for (const auto& [words, what] : reached) {
    EXPECT_TRUE(what.nan && what.infinity && what.negative_infinity) << words;
    EXPECT_TRUE(what.zero) << words;
    EXPECT_TRUE(what.negative_zero) << words;
    EXPECT_TRUE(what.subnormal && what.clamped) << words;
    EXPECT_TRUE(what.largest) << words;
    EXPECT_TRUE(what.negative_peak && what.last_column && what.last_row && what.past_block)
        << words;
    EXPECT_TRUE(what.full_code) << words;
  }
}

double limit_of(const Case& test_case) {
  const Format& code = *[&] { return &format(*format_by_name(test_case.problem.word("out"))); }();
  return to_double(code, code.max_finite());
}

// x / scale is a midpoint between codes, as the class says, and both neighbors of one occur.
TEST(QuantizeGenerator, MidpointsAreMidpoints) {
  for (const std::string out : {"e4m3", "e5m2", "s8"}) {
    for (const std::string in : {"f32", "bf16"}) {
      for (const std::string scale : {"tensor", "row", "1x128"}) {
        const Case test_case = case_with(
            kernel(), "m=12 n=200 in=" + in + " out=" + out + " scale=" + scale, "midpoints", 5);
        const Format& code = format(*format_by_name(out));
        int on = 0, all = 0, below = 0, above = 0;
        for (const Group& group : groups_of(test_case)) {
          int exponent = 0;
          const double by = group.peak() / limit_of(test_case);
          EXPECT_EQ(std::frexp(by, &exponent), 0.5) << test_case.text();
          for (const double value : group.values) {
            const double quotient = std::fabs(value) / by;
            const double up = to_double(code, encode(code, quotient, {.rounding = Rounding::up}));
            const double down =
                to_double(code, encode(code, quotient, {.rounding = Rounding::down}));
            ++all;
            on += up != down && quotient == (up + down) / 2;
            below += quotient < (up + down) / 2;
            above += quotient > (up + down) / 2;
          }
        }
        EXPECT_GE(on, all / 3) << test_case.text();
        EXPECT_GE(below, all / 16) << test_case.text();
        EXPECT_GE(above, all / 16) << test_case.text();
      }
    }
  }
}

// With f32 inputs and full significands, quotients lie within two ulps of a midpoint.
TEST(QuantizeGenerator, TiesAreNextToMidpoints) {
  const Case test_case = case_with(kernel(), "m=12 n=200 scale=row", "ties", 5);
  const Format& code = format(FormatId::e4m3);
  int near = 0, all = 0, full = 0;
  for (const Group& group : groups_of(test_case)) {
    const float by = static_cast<float>(group.peak()) / 448.0f;
    int exponent = 0;
    full += std::frexp(by, &exponent) != 0.5f;
    for (const double value : group.values) {
      const double quotient = std::fabs(value) / static_cast<double>(by);
      const double up = to_double(code, encode(code, quotient, {.rounding = Rounding::up}));
      const double down = to_double(code, encode(code, quotient, {.rounding = Rounding::down}));
      const double midpoint = (up + down) / 2;
      ++all;
      near += std::fabs(quotient - midpoint) <= midpoint * 0x1p-21;
    }
  }
  EXPECT_EQ(full, 12);
  EXPECT_GE(near, all - 12);
}

TEST(QuantizeGenerator, IntegersHaveTheScaleOne) {
  for (const std::string out : {"e4m3", "e5m2", "s8"}) {
    const Case test_case = case_with(kernel(), "m=7 n=300 scale=1x128 out=" + out, "integers", 5);
    for (const Group& group : groups_of(test_case)) EXPECT_EQ(group.peak(), limit_of(test_case));
  }
}

TEST(QuantizeGenerator, MaximaLieAtAndNextToTheirMarks) {
  const Case test_case = case_with(kernel(), "m=300 n=8 scale=row", "maxima", 5);
  std::set<int> seen;  // base * 3 + side
  for (const Group& group : groups_of(test_case)) {
    const auto peak = static_cast<float>(group.peak());
    for (int base = 0; base < 3; ++base) {
      const float at = std::array{1.0f, 448.0f, 1.5f}[static_cast<std::size_t>(base)];
      int peak_exponent = 0, at_exponent = 0;
      for (const int side : {-1, 0, 1}) {
        const float moved = side == 0 ? peak : std::nextafterf(peak, side > 0 ? 0.0f : 2 * peak);
        if (std::frexp(moved, &peak_exponent) == std::frexp(at, &at_exponent))
          seen.insert(base * 3 + side);
      }
    }
  }
  EXPECT_EQ(seen.size(), 9u);
}

TEST(QuantizeGenerator, StridesDoNotChangeBits) {
  const auto bits = [](const std::string& strides) {
    return bits_of(case_with(kernel(), "m=7 n=130 scale=row " + strides, "normal", 3));
  };
  EXPECT_EQ(bits(""), bits("ldx=131 ldq=140"));
}

TEST(QuantizeGenerator, CroppingKeepsWhatRemains) {
  const Result<Case> frozen =
      freeze(case_with(kernel(), "m=7 n=130 scale=1x128 ldx=140", "normal", 3));
  ASSERT_TRUE(frozen.ok());
  const std::optional<Case> smaller = remove_slices(*frozen, {{"m", 0, 3}, {"n", 100, 20}});
  ASSERT_TRUE(smaller.has_value());
  const CaseTensors before = filled(*frozen), after = filled(*smaller);
  EXPECT_EQ(element_of(*before.find("x"), 5 * 130 + 125),
            element_of(*after.find("x"), 2 * 110 + 105));
}

}  // namespace
}  // namespace plumbline
