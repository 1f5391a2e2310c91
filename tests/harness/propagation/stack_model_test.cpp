// SPDX-License-Identifier: MIT
#include "harness/propagation/stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/propagation/depth.h"
#include "oracles/base/assert.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

StackModel model_of(const char* text) {
  const Result<StackModel> model = parse_stack_model(text, "--model");
  if (!model) ADD_FAILURE() << model.error().text();
  return model ? *model : StackModel();
}

TEST(StackModel, SizesTakeThePlaceOfTheStacksOwn) {
  const Result<StackShape> shape =
      model_of("width=64 heads=4").shape({.layers = 3, .tokens = 5, .hidden = 48}, 1);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->width, 64);
  EXPECT_EQ(shape->heads, 4);
  EXPECT_EQ(shape->layers, 3);
  EXPECT_EQ(shape->tokens, 5);
  EXPECT_EQ(shape->hidden, 48);
  EXPECT_FALSE(model_of("width=64 heads=4").arithmetic().has_value());
  EXPECT_EQ(StackModel().describe("blocks", {"width", "hidden"}, *shape),
            "blocks: width=64 hidden=48");
}

TEST(StackModel, WordsAreOneMoreArithmetic) {
  const StackModel model =
      model_of("up=e4m3 scales=block attention=e4m3 cache=e5m2 residual=f32 casts=truncate");
  const std::optional<StackArithmetic> given = model.arithmetic();
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(given->factors.up, FormatId::e4m3);
  EXPECT_EQ(given->factors.down, FormatId::bf16);
  EXPECT_EQ(given->scales, StackScales::block);
  EXPECT_EQ(given->attention, FormatId::e4m3);
  EXPECT_EQ(given->cache, FormatId::e5m2);
  EXPECT_EQ(given->residual, FormatId::f32);
  EXPECT_EQ(given->conversion, Rounding::toward_zero);
  // A word is given where it says what is so anyway, as a sweep over it needs.
  EXPECT_TRUE(model_of("qkv=bf16").arithmetic().has_value());
  EXPECT_EQ(model_of("qkv=bf16 width=96").describe("blocks", {}, {}), "blocks: qkv=bf16");
}

TEST(StackModel, WhatDoesNotFitIsAnError) {
  const auto message = [](const StackRuns& runs, const char* text) {
    const Result<StackModel> model = parse_stack_model(text, "--model");
    if (!model) return model.error().text();
    const Status checked = check_stacks(runs, *model);
    return checked ? std::string() : checked.error().text();
  };
  const StackRuns depth{.depth = 4}, decode{.decode = 4}, denoise{.denoise = 4};
  EXPECT_EQ(message(depth, "width=64 heads=4"), "");
  EXPECT_THAT(message(depth, "width=64"), HasSubstr("3 heads do not divide the width of 64"));
  EXPECT_THAT(message(depth, "layers=4"), HasSubstr("--depth says how many layers"));
  EXPECT_THAT(message(decode, "tokens=4"), HasSubstr("--decode says how many tokens"));
  EXPECT_EQ(message(denoise, "layers=4 tokens=4"), "");
  EXPECT_THAT(message(depth, "scales=block"), HasSubstr("scales are of e4m3 factors"));
  EXPECT_EQ(message(depth, "scales=block up=e4m3"), "");
  EXPECT_EQ(message(depth, "scales=block up=bf16"), "");  // a value of a sweep
  EXPECT_THAT(message(depth, "width=0"), HasSubstr("width is from 1 to"));
  EXPECT_THAT(message(depth, "qvk=e4m3"), HasSubstr("qkv"));
  EXPECT_THAT(message(depth, "qkv=f16"), HasSubstr("qkv=f16 is none of bf16, e4m3"));
  const StackRuns deep{.depth = 4096};
  EXPECT_THAT(message(deep, "width=16384 heads=1 hidden=65536"),
              HasSubstr("more than this machine has"));
}

// The curve is that of the arithmetic: what it says in words is one of the usual ones.
TEST(StackModel, TheGivenCurveIsThatOfItsArithmetic) {
  StackRuns runs{.depth = 4, .decode = 4, .denoise = 4};
  const auto curve = [](const DepthRecord& record, std::string_view name) -> const DepthCurve& {
    const auto found = std::ranges::find(record.curves, name, &DepthCurve::name);
    PLUMB_ASSERT(found != record.curves.end());
    return *found;
  };
  const StackModel fp8 =
      model_of("width=32 heads=2 hidden=32 qkv=e4m3 out=e4m3 up=e4m3 down=e4m3 residual=f32");
  int fp8_curves = 0;
  run_stacks(runs, fp8, [&](const DepthRecord& record) {
    EXPECT_THAT(record.stack, HasSubstr(" qkv=e4m3 out=e4m3 up=e4m3 down=e4m3 residual=f32"));
    const std::vector<double>& given = curve(record, kGivenArithmetic).relative;
    if (record.steps == "decode steps") return;
    ++fp8_curves;
    EXPECT_EQ(given, curve(record, record.steps == "denoising steps" ? "f32 x, FP8 GEMMs"
                                                                     : "f32 stream, FP8 GEMMs")
                         .relative);
    EXPECT_EQ(
        std::ranges::count_if(record.findings,
                              [](const std::string& finding) {
                                return finding.starts_with("as --model says: the error in the end");
                              }),
        1);
  });
  EXPECT_EQ(fp8_curves, 5);  // there and back, twice, and denoising
  runs.depth = runs.denoise = 0;
  run_stacks(runs, model_of("width=32 heads=2 hidden=32 cache=e4m3"),
             [&](const DepthRecord& record) {
               EXPECT_EQ(curve(record, kGivenArithmetic).relative,
                         curve(record, "bf16, FP8 cache").relative);
             });
}

// Heads of any width, also odd ones, and widths that no block of scales divides.
TEST(StackModel, AnySizesRun) {
  for (const char* text :
       {"width=15 heads=3 hidden=7 tokens=1 qkv=e4m3", "width=1 heads=1 hidden=1 attention=e4m3",
        "width=130 heads=2 hidden=257 scales=block up=e4m3 down=e4m3 tokens=3"}) {
    run_stacks({.depth = 2, .threads = 2}, model_of(text), [&](const DepthRecord& record) {
      for (const DepthCurve& curve : record.curves) {
        ASSERT_EQ(curve.relative.size(), 2u) << text;
        EXPECT_TRUE(std::isfinite(curve.relative.back())) << text << ": " << curve.name;
      }
    });
  }
}

}  // namespace
}  // namespace plumbline
