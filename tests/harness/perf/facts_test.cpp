// SPDX-License-Identifier: MIT
// Facts of a launch beside its counters: occupancy, waves, ceilings, what ptxas says. Expected
// values are those of CUDA's occupancy calculator and data sheets, worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/perf/chips.h"
#include "harness/perf/compiled.h"
#include "harness/perf/occupancy.h"
#include "harness/perf/roofline.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

TEST(Occupancy, IsLimitedByWhatRunsOutFirst) {
  const Multiprocessor& h100 = *multiprocessor(90);
  // 164 registers are 168 after rounding: 5376 of a warp, three warps in each quarter.
  Occupancy o = occupancy(h100, {256, 164, 49152});
  EXPECT_EQ(o.blocks, 1);
  EXPECT_EQ(o.limiter, Limiter::registers);
  EXPECT_DOUBLE_EQ(o.share, 0.125);
  o = occupancy(h100, {256, 32, 49152});
  EXPECT_EQ(o.blocks, 4);  // 228 KiB, of which each takes 49
  EXPECT_EQ(o.limiter, Limiter::shared_memory);
  o = occupancy(h100, {1024, 32});
  EXPECT_EQ(o.blocks, 2);
  EXPECT_EQ(o.limiter, Limiter::warps);
  EXPECT_DOUBLE_EQ(o.share, 1);
  o = occupancy(h100, {32, 16});
  EXPECT_EQ(o.blocks, 32);
  EXPECT_EQ(o.limiter, Limiter::blocks);
  EXPECT_DOUBLE_EQ(o.share, 0.5);
  EXPECT_EQ(occupancy(*multiprocessor(89), {32, 16}).blocks, 24);
}

TEST(Occupancy, IsLimitedByColumnsOfTensorMemory) {
  const Occupancy o = occupancy(*multiprocessor(100), {128, 32, 0, 256});
  EXPECT_EQ(o.blocks, 2);
  EXPECT_EQ(o.limiter, Limiter::tensor_memory);
}

TEST(Occupancy, IsNoneWhereABlockDoesNotFit) {
  EXPECT_EQ(occupancy(*multiprocessor(90), {1024, 255}).blocks, 0);
}

TEST(Waves, FillTheMultiprocessorsOneAfterTheOther) {
  EXPECT_EQ(waves(132, 132, 1).count, 1);
  EXPECT_DOUBLE_EQ(waves(132, 132, 1).filled, 1);
  EXPECT_EQ(waves(133, 132, 1).count, 2);
  EXPECT_DOUBLE_EQ(waves(133, 132, 1).filled, 133.0 / 264);
  EXPECT_EQ(waves(5, 132, 0).count, 0);
}

TEST(Chips, AreFoundByNameAndNamedWhereTheyAreNot) {
  ASSERT_TRUE(find_chip("h100 sxm"));
  EXPECT_EQ((*find_chip("h100 sxm"))->multiprocessors, 132);
  EXPECT_THAT(find_chip("h100 smx").error().text(), HasSubstr("H100 SXM"));
  for (const Chip& chip : chips()) {
    EXPECT_NE(multiprocessor(chip.sm), nullptr) << chip.name;
    EXPECT_FALSE(chip.source.empty()) << chip.name;
  }
  EXPECT_EQ(usual_chip(90)->name, "H100 SXM");
  EXPECT_EQ(usual_chip(75), nullptr);
  EXPECT_EQ(one_of(**find_chip("H200")), "an H200");
  EXPECT_EQ(one_of(**find_chip("B200")), "a B200");
}

PerfEntry products(double macs, std::uint64_t sectors, std::int64_t blocks,
                   const char* instruction) {
  PerfEntry entry{.kernel = "k", .sm = 90, .problem = "", .useful_macs = macs, .launches = {}};
  PerfLaunch& launch = entry.launches.emplace_back();
  launch.grid = {blocks, 1, 1};
  launch.sectors_only_read = sectors;
  PerfLine& line = launch.lines.emplace_back();
  line.instruction = instruction;
  line.counts[Counter::tensor_macs] = static_cast<std::uint64_t>(macs);
  launch.totals = line.counts;
  return entry;
}

constexpr const char* kProduct = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";

TEST(Ceiling, IsWhatTheDataSheetAllows) {
  const Chip& h100 = **find_chip("H100 SXM");
  // 989.4e12 / 2 products a second, 3352e9 bytes: 147.6 products a byte are balanced.
  const auto memory = ceiling(products(1e9, 1'000'000, 132, kProduct), h100);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->bound, Bound::memory);
  EXPECT_DOUBLE_EQ(memory->intensity, 1e9 / 32e6);
  EXPECT_NEAR(memory->share, 1e9 / 32e6 / (494.7e12 / 3352e9), 1e-9);
  const auto tensor = ceiling(products(1e9, 1000, 132, kProduct), h100);
  EXPECT_EQ(tensor->bound, Bound::tensor_cores);
  EXPECT_DOUBLE_EQ(tensor->share, 1);
  const auto grid = ceiling(products(1e9, 1000, 33, kProduct), h100);
  EXPECT_EQ(grid->bound, Bound::grid);
  EXPECT_DOUBLE_EQ(grid->share, 0.25);
}

TEST(Ceiling, IsOfTheKindOfProductsThatBlackwellNames) {
  const Chip& b200 = **find_chip("B200");
  for (const auto& [kind, peak] : {std::pair{"f16", "16-bit"},
                                   {"tf32", "TF32"},
                                   {"f8f6f4", "FP8"},
                                   {"mxf8f6f4.block_scale", "FP8"},
                                   {"i8", "INT8"},
                                   {"mxf4nvf4.block_scale.scale_vec::4X", "FP4"}}) {
    const std::string product = fmt::format("tcgen05.mma.cta_group::1.kind::{}", kind);
    const auto top = ceiling(products(1e9, 1000, 148, product.c_str()), b200);
    ASSERT_TRUE(top) << kind;
    EXPECT_EQ(top->peak, peak) << kind;
    EXPECT_DOUBLE_EQ(top->share, 1) << kind;
  }
}

TEST(Ceiling, IsTheTimeOfItsBytesWithoutProducts) {
  PerfEntry entry = products(0, 1'000'000, 132, "ld.global.v4.u32");
  entry.useful_macs.reset();
  const auto top = ceiling(entry, **find_chip("H100 SXM"));
  ASSERT_TRUE(top);
  EXPECT_DOUBLE_EQ(top->seconds, 32e6 / 3352e9);
  EXPECT_EQ(ceiling_words(*top, **find_chip("H100 SXM")),
            "at least 9.55 us on an H100 SXM, for its bytes alone");
}

TEST(Ceiling, CountsUsefulProductsAlone) {
  PerfEntry entry = products(1e9, 1000, 132, kProduct);
  entry.useful_macs = 0.6e9;
  EXPECT_NEAR(ceiling(entry, **find_chip("H100 SXM"))->share, 0.6, 1e-12);
}

TEST(Ceiling, IsNoneWhereThePeakIsNotKnown) {
  const char* fp8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32";
  EXPECT_FALSE(ceiling(products(1e9, 1000, 132, fp8), **find_chip("A100 SXM")));
  EXPECT_TRUE(ceiling(products(1e9, 1000, 132, fp8), **find_chip("H100 SXM")));
  EXPECT_FALSE(ceiling(products(1e9, 1000, 132, "fma.rn.f32"), **find_chip("H100 SXM")));
}

TEST(InstructionClass, IsTheKindOfWork) {
  using enum InstructionClass;
  EXPECT_EQ(class_of(kProduct), tensor);
  EXPECT_EQ(class_of("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"), tensor);
  EXPECT_EQ(class_of("tcgen05.mma.cta_group::1.kind::f16"), tensor);
  EXPECT_EQ(class_of("tcgen05.ld.sync.aligned.32x32b.x16.b32"), memory);
  EXPECT_EQ(class_of("tcgen05.cp.cta_group::1.32x128b.warpx4"), memory);
  EXPECT_EQ(class_of("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64"), control);
  EXPECT_EQ(class_of("ld.global.nc.v4.f32"), memory);
  EXPECT_EQ(class_of("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), memory);
  EXPECT_EQ(class_of("wmma.load.a.sync.aligned.row.m16n16k16.f16"), memory);
  EXPECT_EQ(class_of("cp.async.cg.shared.global"), memory);
  EXPECT_EQ(class_of("fma.rn.f32"), floating);
  EXPECT_EQ(class_of("setp.lt.f32"), floating);
  EXPECT_EQ(class_of("ex2.approx.ftz.f32"), floating);
  EXPECT_EQ(class_of("mad.lo.s32"), integer);
  EXPECT_EQ(class_of("shl.b32"), integer);
  EXPECT_EQ(class_of("bar.sync"), control);
  EXPECT_EQ(class_of("mov.b32"), other);
}

constexpr std::string_view kPtxas =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'other' for 'sm_90'\n"
    "ptxas info    : Function properties for other\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 24 registers, used 0 barriers\n"
    "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
    "ptxas info    : Function properties for k\n"
    "    72 bytes stack frame, 280 bytes spill stores, 148 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 1 barriers, 72 bytes cumulative stack size, 1056 "
    "bytes smem\n";

TEST(Compiled, IsWhatPtxasSaysOfTheEntry) {
  const CompiledEntry wanted{.registers = 255,
                             .stack_bytes = 72,
                             .spill_store_bytes = 280,
                             .spill_load_bytes = 148,
                             .static_shared_bytes = 1056};
  EXPECT_EQ(parse_ptxas(kPtxas, "k"), wanted);
  EXPECT_EQ(parse_ptxas(kPtxas, "other"), CompiledEntry{.registers = 24});
  EXPECT_EQ(parse_ptxas(kPtxas, "third"), std::nullopt);
}

TEST(Compiled, IsForTheChipThatThePtxNames) {
  EXPECT_EQ(target_of(".version 8.7\n.target sm_90a, debug\n.address_size 64"), "sm_90a");
  EXPECT_EQ(target_of(".version 8.7\n.target sm_80\n"), "sm_80");
  EXPECT_EQ(target_of(""), "");
}

}  // namespace
}  // namespace plumbline
