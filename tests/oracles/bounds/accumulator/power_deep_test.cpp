// SPDX-License-Identifier: MIT
// How likely one output element shows a fault: planted in emulated dot products of normal data, and
// held against the running bound, as an f32 output and as a bf16 one. Probabilities may not fall
// below what docs/measurements.md publishes (times 0.9, and the noise of 400 draws).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <iterator>

#include "oracles/base/hash.h"
#include "oracles/bounds/accumulator/model.h"
#include "oracles/bounds/accumulator/running_bound.h"
#include "oracles/exact/dyadic.h"
#include "oracles/exact/gemm_sums.h"
#include "oracles/models/generation.h"
#include "tests/oracles/bounds/accumulator/bound_contracts.h"
#include "tests/oracles/bounds/accumulator/dot_samples.h"

namespace plumbline {
namespace {

constexpr int kDraws = 400;
constexpr std::int64_t kTile = 128, kMiddle = kTile;  // the faulty tile begins at k = 128
constexpr std::int64_t kLengths[] = {256, 1024, 4096, 16384};

// One kernel that should keep a contract, and does not.
struct Kernel {
  testing::NamedContract promised;
  DotModel model;
  std::int64_t promote = 0;                          // 0: one accumulator
  std::function<float(float)> after_node = nullptr;  // what becomes of the accumulator
  double tile_factor = 1;                            // of the tile at kMiddle
  std::int64_t dropped = -1;                         // this k counts as 0
};

float rounded_to(FormatId id, double x) { return testing::stored(id, x); }

float computed(const Kernel& kernel, testing::DotSample sample) {
  const auto k = static_cast<std::int64_t>(sample.row.size());
  if (kernel.dropped >= 0) sample.row[static_cast<std::size_t>(kernel.dropped)] = 0;
  const Format &a = format(kernel.promised.a), &b = format(kernel.promised.b);
  std::vector<std::uint32_t> x, y;
  for (const float value : sample.row)
    x.push_back(static_cast<std::uint32_t>(encode(a, static_cast<double>(value))));
  for (const float value : sample.column)
    y.push_back(static_cast<std::uint32_t>(encode(b, static_cast<double>(value))));
  const std::span<const std::uint32_t> codes_x(x), codes_y(y);
  const std::int64_t step = kernel.model.node.products;
  float sum = 0, fresh = 0, at_middle = 0, tile = 0;
  for (std::int64_t base = 0; base < k; base += step) {
    if (kernel.promote > 0 && base % kernel.promote == 0) fresh = 0;
    if (base == kMiddle) at_middle = fresh;
    const auto at = static_cast<std::size_t>(base), count = static_cast<std::size_t>(step);
    fresh =
        std::bit_cast<float>(dot(kernel.model, a, b, codes_x.subspan(at, count),
                                 codes_y.subspan(at, count), std::bit_cast<std::uint32_t>(fresh)));
    if (kernel.after_node) fresh = kernel.after_node(fresh);
    const std::int64_t end = base + step;
    if (end == kMiddle + kTile) tile = kernel.promote > 0 ? fresh : fresh - at_middle;
    if (kernel.promote > 0 && end % kernel.promote == 0) sum += fresh;
  }
  if (kernel.promote == 0) sum = fresh;
  return static_cast<float>(static_cast<double>(sum) +
                            (kernel.tile_factor - 1) * static_cast<double>(tile));
}

// How many outputs are beyond a bound.
struct Power {
  double f32 = 0, bf16 = 0;

  void add(float got, double exact, double bound) {
    f32 += (std::fabs(static_cast<double>(got) - exact) > bound) / double{kDraws};
    const float stored = rounded_to(FormatId::bf16, static_cast<double>(got));
    bf16 += (stored < rounded_to(FormatId::bf16, exact - bound) ||
             stored > rounded_to(FormatId::bf16, exact + bound)) /
            double{kDraws};
  }
};

// By the bound of the schedule that is promised, and by that of Schedule::any with as many
// accumulators.
struct Powers {
  Power promised, any;
};

Powers power(const Kernel& kernel, std::int64_t k) {
  const testing::NamedContract& promised = kernel.promised;
  const std::int64_t accumulators = kernel.promote > 0 ? k / kernel.promote : 1;
  const auto model_of = [&](const Contract& contract) {
    return *bound_model(contract, promised.sm, promised.a, promised.b);
  };
  const BoundModel model = model_of(promised.contract),
                   open = model_of(testing::in_any_order(promised.contract, accumulators));
  Random random(fingerprint(promised.name) + static_cast<std::uint64_t>(k));
  Powers seen;
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto [row, column] =
        testing::dot_sample(testing::Data::normal, promised.a, promised.b, k, random);
    const double exact = exact_dot(row.data(), column.data(), k).nearest_double();
    const float got = computed(kernel, {row, column});
    seen.promised.add(got, exact, running_bound(model, row.data(), column.data(), k).error);
    seen.any.add(got, exact, running_bound(open, row.data(), column.data(), k).error);
  }
  return seen;
}

struct Row {
  const char* fault;
  Kernel kernel;
  double f32[4], bf16[4];          // published, by length
  double f32_any[4], bf16_any[4];  // the same by Schedule::any
};

TEST(PowerDeep, IsWhatIsPublished) {
  using enum FormatId;
  const Contract mma = testing::tensor_core_contract(),
                 wgmma = testing::tensor_core_contract(Instruction::wgmma);
  const testing::NamedContract halves{"bf16 Hopper", mma, 90, bf16, bf16};
  const testing::NamedContract bytes{"e4m3 Hopper promoted", testing::promoted(wgmma, kTile), 90,
                                     e4m3, e4m3};
  const DotModel wide = *dot_model(90, Instruction::mma_sync, bf16, bf16, f32);
  const DotModel narrow = *dot_model(90, Instruction::wgmma, e4m3, e4m3, f32);
  DotModel coarse = wide;
  coarse.node.fraction_bits = 13;
  coarse.node.output = NodeOutput::e8m13_toward_zero;
  const auto to_bf16 = [](float x) { return rounded_to(bf16, static_cast<double>(x)); };
  // clang-format off
  const Row rows[] = {
      {"bf16: accumulator of 8 bits",   {halves, wide, 0, to_bf16},                {1, 1, 1, 1},           {.63, .80, .89, .95},
       {.98, .90, .64, .14},  {.62, .71, .55, .13}},
      {"bf16: accumulator of 14 bits",  {halves, coarse},                          {1, 1, 1, .99},         {.15, .25, .41, .61},
       {.78, .34, .02, 0},    {.10, .06, .003, 0}},
      {"bf16: one k dropped",           {halves, wide, 0, nullptr, 1, 70},         {1, 1, 1, 1},           {.89, .86, .83, .72},
       {.99, .94, .61, .002}, {.88, .81, .52, .001}},
      {"bf16: a tile of k counts twice", {halves, wide, 0, nullptr, 2},            {1, 1, 1, 1},           {1, 1, 1, .98},
       {1, 1, .97, .58},      {1, .99, .96, .56}},
      {"bf16: a tile times 1 + 2^-7",   {halves, wide, 0, nullptr, 1 + 0x1p-7},    {1, 1, 1, .95},         {.75, .56, .38, .23},
       {.99, .79, 0, 0},      {.73, .40, 0, 0}},
      {"bf16: a tile times 1 + 2^-12",  {halves, wide, 0, nullptr, 1 + 0x1p-12},   {1, .99, .85, .24},     {.08, .05, .03, .007},
       {.57, 0, 0, 0},        {}},
      {"e4m3: promotion missing",       {bytes, narrow, 0},                        {.035, .05, .085, .107}, {0, .002, .011, .034}, {}, {}},
      {"e4m3: a promoted tile lost",    {bytes, narrow, kTile, nullptr, 0},        {1, 1, .99, .95},       {1, .99, .98, .93},
       {.81, 0, 0, 0},        {.81, 0, 0, 0}},
      {"e4m3: one k dropped",           {bytes, narrow, kTile, nullptr, 1, 70},    {.95, .89, .72, .30},   {.86, .79, .61, .21},
       {.04, 0, 0, 0},        {.04, 0, 0, 0}},
      {"e4m3: a tile times 1 + 2^-7",   {bytes, narrow, kTile, nullptr, 1 + 0x1p-7}, {.94, .69, .10, 0},   {.68, .33, .02, 0}, {}, {}},
  };
  // clang-format on
  for (const Row& row : rows) {
    std::string line = fmt::format("{:32}", row.fault);
    for (std::size_t i = 0; i < std::size(kLengths); ++i) {
      const Powers seen = power(row.kernel, kLengths[i]);
      line += fmt::format("  {:.2f} / {:.2f} ({:.2f} / {:.2f})", seen.promised.f32,
                          seen.promised.bf16, seen.any.f32, seen.any.bf16);
      const auto expect = [&](double power, double published) {
        const double noise = 3 * std::sqrt(published * (1 - published) / kDraws) + 1e-9;
        EXPECT_GE(power, 0.9 * published - noise) << row.fault << " k=" << kLengths[i];
      };
      expect(seen.promised.f32, row.f32[i]);
      expect(seen.promised.bf16, row.bf16[i]);
      expect(seen.any.f32, row.f32_any[i]);
      expect(seen.any.bf16, row.bf16_any[i]);
    }
    fmt::print("{}\n", line);
  }
}

// The kernels above without their faults are never beyond the bound.
TEST(PowerDeep, KernelsWithoutAFaultShowNone) {
  using enum FormatId;
  const Contract mma = testing::tensor_core_contract(),
                 wgmma = testing::tensor_core_contract(Instruction::wgmma);
  const Kernel halves{{"bf16 Hopper", mma, 90, bf16, bf16},
                      *dot_model(90, Instruction::mma_sync, bf16, bf16, f32)};
  const Kernel bytes{{"e4m3", testing::promoted(wgmma, kTile), 90, e4m3, e4m3},
                     *dot_model(90, Instruction::wgmma, e4m3, e4m3, f32),
                     kTile};
  for (const Kernel& kernel : {halves, bytes}) {
    for (const std::int64_t k : {256, 4096}) {
      EXPECT_EQ(power(kernel, k).promised.f32, 0);
      EXPECT_EQ(power(kernel, k).promised.bf16, 0);
    }
  }
}

}  // namespace
}  // namespace plumbline
