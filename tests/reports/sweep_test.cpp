// SPDX-License-Identifier: MIT
#include "reports/sweep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "reports/html/html.h"
#include "reports/markdown.h"
#include "reports/record/json.h"
#include "tests/reports/record/propagation_samples.h"

namespace plumbline {
namespace {

// One case for every value: the kernel's own error is `error(value)`, made by "normalize" up to
// 256, by "output" above.
template <typename Error>
RunRecord swept_run(const std::string& field, const std::vector<std::string>& values,
                    const Error& error) {
  RunRecord run = sample_record();
  run.verb = "propagate";
  for (std::size_t i = 0; i < values.size(); ++i) {
    PropagationRecord found = sample_propagation();
    found.swept = field + "=" + values[i];
    found.text = "attention_bf16 queries=64 " + found.swept + " value=normal seed=0x1";
    found.own_error = error(i);
    found.stages[0].own_in_order = 2;  // the inputs' quantization is not the kernel's
    found.stages[1].name = i < 3 ? "normalize" : "output";
    found.stages[1].own_in_order = 0.9;
    run.propagations.push_back(found);
  }
  return run;
}

const std::vector<std::string> kKeys = {"64", "128", "256", "512", "1024"};

TEST(Sweep, PutsItsCasesSideBySide) {
  RunRecord run = swept_run("keys", kKeys, [](std::size_t i) { return 1e-3 * (1 + double(i)); });
  run.propagations.push_back(sample_propagation());  // of no sweep
  const std::vector<SweepTable> tables = sweep_tables(run);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].title,
            "d of attention_bf16 queries=64 value=normal seed=0x1 on emulator sm_90");
  ASSERT_EQ(tables[0].rows.size(), 5u);
  EXPECT_EQ(tables[0].rows[2].value, "256");
  EXPECT_EQ(tables[0].rows[2].x(), 256);
  EXPECT_EQ(tables[0].rows[2].numbers[1], 3e-3);
  EXPECT_EQ(tables[0].rows[2].largest, "normalize");
  EXPECT_EQ(tables[0].columns.back().title, "normalize alone");
}

TEST(Sweep, SaysHowErrorsFollowTheField) {
  const auto finding = [](const std::string& field, const std::vector<std::string>& values,
                          double exponent) {
    return sweep_tables(swept_run(field, values,
                                  [&](std::size_t i) {
                                    return 1e-3 * std::pow(2, exponent * double(i)) *
                                           (i % 2 == 0 ? 1.01 : 0.99);
                                  }))
        .front()
        .findings;
  };
  EXPECT_EQ(finding("keys", kKeys, 0.5)[0],
            "The kernel's own error grows as keys^0.50 (95 % interval 0.48 to 0.52).");
  EXPECT_EQ(finding("keys", kKeys, -0.5)[0],
            "The kernel's own error falls as keys^-0.50 (95 % interval -0.52 to -0.48).");
  EXPECT_EQ(finding("keys", kKeys, 0.05)[0],
            "The kernel's own error hardly changes with keys (exponent 0.05, 95 % interval 0.03 "
            "to 0.07).");
  EXPECT_EQ(finding("keys", kKeys, 0)[0],
            "The kernel's own error shows no trend with keys (exponent 0.00, 95 % interval -0.02 "
            "to 0.02).");
  EXPECT_EQ(finding("keys", kKeys, 0.5)[1],
            "Most of the kernel's own error is made by \"normalize\", from keys=512 on by "
            "\"output\".");
  // Too few points for an exponent, and words have none.
  EXPECT_EQ(finding("keys", {"64", "128"}, 1)[0],
            "The kernel's own error is least, 0.001, at keys=64, and largest, 0.002, at keys=128.");
  EXPECT_EQ(finding("out", {"f32", "bf16"}, 1)[0],
            "The kernel's own error is least, 0.001, at out=f32, and largest, 0.002, at out=bf16.");
}

TEST(Sweep, IsReadBackFromTheRecordAndDrawnOnThePage) {
  const RunRecord run =
      swept_run("keys", kKeys, [](std::size_t i) { return 1e-3 * double(i + 1); });
  const std::string path = testing::TempDir() + "/sweep.json";
  std::ofstream(path) << record_json(run);
  const Result<RunRecord> read = read_record(path);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->propagations.size(), 5u);
  EXPECT_EQ(read->propagations[1].swept, "keys=128");
  const std::string page = report_html(*read, {});
  EXPECT_NE(page.find("<h3>Error of d of gemm_bf16 by keys</h3>"), std::string::npos);
  EXPECT_NE(page.find(R"("title":"keys","log":true)"), std::string::npos);
  EXPECT_NE(summary_markdown(*read).find("from keys=512 on by"), std::string::npos);
}

TEST(Sweep, FitsATerminalOfSixtyColumns) {
  const SweepTable table = sweep_tables(swept_run("keys", kKeys, [](std::size_t i) {
                             return 1e-3 * double(i + 1);
                           })).front();
  const std::vector<std::string> lines = sweep_lines(table);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "  keys    error  kernel's own  model's own  largest stage");
  EXPECT_EQ(lines[1], "    64   0.0375       1.0e-03            0  normalize");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 60u);
}

// Of stacks: the errors in the end, and what was asked for in the sentence.
TEST(Sweep, HasTablesOfStacks) {
  RunRecord run = propagation_run();
  const DepthRecord sample = run.depths.front();
  run.depths.clear();
  for (const int width : {32, 64, 128, 256}) {
    DepthRecord depth = sample;
    depth.swept = fmt::format("width={}", width);
    depth.stack = fmt::format("pre-norm transformer blocks: {} heads=2 qkv=e4m3", depth.swept);
    DepthCurve given = depth.curves.front();
    given.name = kGivenArithmetic;
    given.relative.back() = 1e-4 * width;
    depth.curves.push_back(given);
    run.depths.push_back(depth);
  }
  run.depths.back().curves.erase(run.depths.back().curves.begin());  // as an interrupt leaves it
  const std::vector<SweepTable> tables = sweep_tables(run);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].title, "2 layers: pre-norm transformer blocks: heads=2 qkv=e4m3");
  ASSERT_EQ(tables[0].rows.size(), 4u);
  EXPECT_EQ(tables[0].rows[1].numbers, (std::vector<double>{2e-3, 3e-4, 6.4e-3}));
  EXPECT_TRUE(std::isnan(tables[0].rows[3].numbers[0]));
  EXPECT_EQ(
      tables[0].findings[0],
      "The error of \"as --model says\" in the end grows as width^1.00 (95 % interval 1.00 to "
      "1.00).");
  const std::vector<std::string> lines = sweep_lines(tables[0]);
  EXPECT_EQ(lines[0], "  width  bf16 residual stream  as --model says");
  EXPECT_EQ(lines[4], "    256                     -           0.0256");
}

// Of gradients and of random rounding too.
TEST(Sweep, HasTablesOfGradientsAndOfRandomRounding) {
  RunRecord run = propagation_run();
  run.gradients.front().swept = "m=8";
  run.gradients.front().source_relative = 0.25;
  run.stochastics.front().swept = "k=8";
  const std::vector<SweepTable> tables = sweep_tables(run);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].field, "m");
  EXPECT_EQ(tables[0].rows[0].numbers[0], 0.25);
  EXPECT_EQ(tables[1].field, "k");
  EXPECT_EQ(tables[1].columns[1].title, "significant bits");
}

}  // namespace
}  // namespace plumbline
