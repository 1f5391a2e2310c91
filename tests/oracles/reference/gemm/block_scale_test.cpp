// SPDX-License-Identifier: MIT
// GEMMs whose unit takes scales of blocks of k: kernels that keep the contract pass, in bits too,
// and faults are found and named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracles/reference/gemm/oracle.h"
#include "oracles/reference/gemm/tile_model.h"
#include "tests/oracles/reference/gemm/fixture.h"

namespace plumbline {
namespace {

using enum FormatId;
using ::testing::Contains;
using testing::Gemm;
using testing::GemmSetup;
using testing::Kernel;
using testing::kernel;
using testing::NamedContract;

GemmSetup setup_of(const NamedContract& promised, FormatId output, FormatId scales) {
  GemmSetup setup;
  setup.a = promised.a;
  setup.b = promised.b;
  setup.output = output;
  setup.scale_format = scales;
  const std::int64_t depth = promised.contract.scale_depth(promised.a, promised.b);
  setup.scale_a = setup.scale_b = ScaleBlock{1, scales == ue8m0 ? 32 : depth};
  return setup;
}

std::vector<FormatId> scale_formats(const NamedContract& promised) {
  if (promised.contract.scale_depth(promised.a, promised.b) == 16) return {ue8m0, e4m3};
  return {ue8m0};
}

OutputVerdict judged(const Gemm& gemm, const NamedContract& promised) {
  return GemmOracle(gemm.problem, promised.contract, promised.sm).judge(0, gemm.d, {});
}

TEST(GemmBlockScale, KernelsThatKeepTheContractPass) {
  std::uint64_t turn = 0;
  std::int64_t modeled = 0;
  for (const NamedContract& promised : testing::block_scaled_contracts()) {
    for (const FormatId scales : scale_formats(promised)) {
      for (const FormatId output : {bf16, f32}) {
        for (const bool special : {false, true}) {
          GemmSetup setup = setup_of(promised, output, scales);
          setup.seed = ++turn;
          setup.k = turn % 3 == 0 ? 300 : 150;
          setup.data = testing::kAllData[turn % std::size(testing::kAllData)];
          setup.special_scales = special;
          setup.alpha = turn % 2 == 0 ? 0.75f : 1.0f;
          Gemm gemm(setup);
          if (special && format(setup.a).has_nan())
            gemm.a.set_bits(3, format(setup.a).canonical_nan);
          kernel(promised).run(gemm);
          const OutputVerdict verdict = judged(gemm, promised);
          EXPECT_EQ(verdict.failed, 0) << promised.name << " turn " << turn;
          EXPECT_EQ(verdict.disagreements, 0) << promised.name << " turn " << turn;
          EXPECT_EQ(verdict.unresolved, 0) << promised.name;
          EXPECT_EQ(verdict.other_bits, 0) << promised.name << " turn " << turn;
          modeled += verdict.modeled;
        }
      }
    }
  }
  EXPECT_GT(modeled, 1000);
}

// Rows of A have one scale each, in the epilogue: subnormal scales of B align as e4m3 has it.
TEST(GemmBlockScale, OneSideMayBeScaledInTheEpilogue) {
  const NamedContract promised = testing::block_scaled_contracts()[4];
  GemmSetup setup = setup_of(promised, f32, e4m3);
  setup.scale_a = kVectorScale;
  setup.k = 300;
  Gemm gemm(setup);
  gemm.scale_a = testing::tensor_of(f32, {setup.m, 1});
  for (std::int64_t i = 0; i < setup.m; ++i)
    gemm.scale_a.set_bits(i, encode(format(f32), 0.1 * static_cast<double>(i + 1)));
  for (std::int64_t i = 0; i < gemm.scale_b.layout.count(); ++i)
    gemm.scale_b.set_bits(i, static_cast<std::uint64_t>(i % 5 == 0 ? 0x38 : i % 8));
  kernel(promised).run(gemm);
  const OutputVerdict verdict = judged(gemm, promised);
  EXPECT_EQ(verdict.failed, 0);
  EXPECT_EQ(verdict.other_bits, 0);
  EXPECT_GT(verdict.modeled, 0);
}

TEST(GemmBlockScale, OtherBitsWithinTheBoundAreFound) {
  for (const NamedContract& promised : testing::block_scaled_contracts()) {
    const bool open =
        promised.contract.order_is_open() || promised.contract.join == Join::f32_any_order;
    // Sums of e2m1 with powers of two would all be exact.
    const FormatId scales = scale_formats(promised).back();
    if (open || (promised.a == e2m1 && scales == ue8m0)) continue;
    GemmSetup setup = setup_of(promised, f32, scales);
    setup.k = 2000;
    Gemm gemm(setup);
    Kernel other = kernel(promised);
    other.promised.contract.schedule = Schedule::promote;
    other.promised.contract.interval = 64;
    other.run(gemm);
    const OutputVerdict verdict = judged(gemm, promised);
    EXPECT_GT(verdict.failed + verdict.other_bits, 0) << promised.name;
  }
}

// The simple faults that explain the first failure.
std::vector<std::string> told(const Kernel& faulty, const GemmSetup& setup) {
  Gemm gemm(setup);
  faulty.run(gemm);
  const GemmOracle oracle(gemm.problem, faulty.promised.contract, faulty.promised.sm);
  const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
  if (verdict.failures.empty()) return {"passes"};
  return oracle.explain(0, verdict.failures[0].index, gemm.d).faults.names;
}

TEST(GemmBlockScale, FaultsAreNamed) {
  for (const std::size_t which : {0u, 4u}) {
    const NamedContract promised = testing::block_scaled_contracts()[which];
    const bool fp4 = which == 4;
    GemmSetup setup = setup_of(promised, f32, fp4 ? e4m3 : ue8m0);
    setup.m = setup.n = 16;
    setup.k = 150;
    const std::int64_t depth = setup.scale_a->depth;
    const auto with = [&](auto read) {
      Kernel faulty = kernel(promised);
      faulty.scale = read;
      return told(faulty, setup);
    };
    using testing::scale_read;
    EXPECT_THAT(with([&](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
                  return scale_read(g, side, v,
                                    side == GemmSide::a ? std::max(p - depth, p % depth) : p);
                }),
                Contains("scale_a was taken from the previous k block"));
    EXPECT_THAT(with([](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
                  return scale_read(g, side, side == GemmSide::b ? v ^ 8 : v, p);
                }),
                Contains("scale_b is that of the column 8 further on or back"))
        << promised.name;
    EXPECT_THAT(with([](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
                  return side == GemmSide::b ? 1.0f : scale_read(g, side, v, p);
                }),
                Contains("scale_b was not applied"));
    if (!fp4) continue;
    Kernel faulty = kernel(promised);
    faulty.products = [](std::vector<float>& row, std::vector<float>&) {
      for (std::size_t p = 0; p < row.size(); p += 2) std::swap(row[p], row[p + 1]);
    };
    EXPECT_THAT(told(faulty, setup), Contains("the two elements in each byte of A were exchanged"));
  }
}

// Both scale tensors in tiles of 128 x 4, of which a kernel takes one for a matrix.
TEST(GemmBlockScale, ScalesInTiles) {
  const NamedContract promised = testing::block_scaled_contracts()[4];
  GemmSetup setup = setup_of(promised, f32, e4m3);
  setup.m = 140;
  setup.n = 12;
  setup.k = 150;
  Gemm gemm(setup);
  const auto in_tiles = [&](std::int64_t vectors, const Tensor& matrix, bool of_a) {
    const std::int64_t blocks = 10, across = 3, down = (vectors + 127) / 128;
    TensorLayout layout;
    layout.format = e4m3;
    layout.shape = {down, 4, 32, across, 4};
    layout.strides = {across * 512, 4, 16, 512, 1};
    Tensor tiles(layout);
    for (std::int64_t v = 0; v < vectors; ++v) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t at =
            (v / 128 * across + block / 4) * 512 + v % 32 * 16 + v / 32 % 4 * 4 + block % 4;
        tiles.storage[static_cast<std::size_t>(at)] =
            static_cast<std::byte>(matrix.bits(of_a ? v * blocks + block : block * vectors + v));
      }
    }
    return tiles;
  };
  const Tensor a = in_tiles(setup.m, gemm.scale_a, true),
               b = in_tiles(setup.n, gemm.scale_b, false);
  const Kernel good = kernel(promised);
  good.run(gemm);
  gemm.problem.scale_a = &a;
  gemm.problem.scale_b = &b;
  EXPECT_EQ(judged(gemm, promised).failed, 0);
  Kernel faulty = good;
  faulty.scale = [&](const Gemm& g, GemmSide side, std::int64_t v, std::int64_t p) {
    if (side == GemmSide::b) return testing::scale_read(g, side, v, p);
    const auto code =
        static_cast<std::uint64_t>(a.storage[static_cast<std::size_t>(v * 10 + p / 16)]);
    return static_cast<float>(to_double(format(e4m3), code));
  };
  faulty.run(gemm);
  const GemmOracle oracle(gemm.problem, promised.contract, promised.sm);
  const OutputVerdict verdict = oracle.judge(0, gemm.d, {});
  ASSERT_GT(verdict.failed, 0);
  EXPECT_THAT(oracle.explain(0, verdict.failures[0].index, gemm.d).faults.names,
              Contains("scale_a was read row by row, not in tiles of 128 x 4"));
}

TEST(GemmBlockScale, ScalesThatTheUnitDoesNotTakeAreRefused) {
  const NamedContract mx = testing::block_scaled_contracts()[0],
                      fp4 = testing::block_scaled_contracts()[4];
  const auto refusal = [](const NamedContract& promised, FormatId scales, ScaleBlock block) {
    GemmSetup setup = setup_of(promised, f32, scales);
    setup.scale_a = setup.scale_b = block;
    const Gemm gemm(setup);
    const Status status = check_gemm(gemm.problem, promised.contract);
    return status.ok() ? std::string("kept") : status.error().text();
  };
  EXPECT_EQ(refusal(mx, ue8m0, {1, 32}), "kept");
  EXPECT_EQ(refusal(fp4, e4m3, {1, 16}), "kept");
  EXPECT_EQ(refusal(mx, ue8m0, kVectorScale), "kept");  // in the epilogue
  EXPECT_EQ(refusal(mx, e4m3, {1, 32}),
            "mma.sync.block_scale takes no scales in e4m3 (they are ue8m0)");
  EXPECT_EQ(refusal(fp4, f32, {1, 32}),
            "mma.sync.block_scale takes no scales in f32 (they are ue8m0 or e4m3)");
  EXPECT_EQ(refusal(mx, ue8m0, {1, 16}),
            "scales change every 16 of k, but mma.sync.block_scale takes one per 32 (use blocks of "
            "32, or of a multiple)");
}

}  // namespace
}  // namespace plumbline
