// SPDX-License-Identifier: MIT
// What `plumbline propagate` found, in the record, in the summary and as tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/markdown.h"
#include "reports/propagation_text.h"
#include "reports/record/json.h"
#include "tests/reports/record/propagation_samples.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t characters(const std::string& line) {
  std::size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

TEST(PropagationText, TablesFitSixtyColumns) {
  const RunRecord r = propagation_run();
  for (const auto& lines : {propagation_lines(r.propagations[0]), depth_lines(r.depths[0]),
                            gradient_lines(r.gradients[0]), stochastic_lines(r.stochastics[0])}) {
    // The terminal indents by two.
    for (const std::string& line : lines) EXPECT_LE(characters(line) + 2, 60u) << line;
  }
}

TEST(PropagationText, SharesAddUpInTheirColumns) {
  const std::vector<std::string> lines = propagation_lines(sample_propagation());
  EXPECT_THAT(lines[1], HasSubstr("stage"));
  std::string together;
  for (const std::string& line : lines)
    if (line.find("together") != std::string::npos) together = line;
  EXPECT_THAT(together, HasSubstr("100.0 %  100.0 %"));
  EXPECT_THAT(lines[3], HasSubstr("99.0±12.3 %"));
  EXPECT_THAT(lines[2], HasSubstr("-            -"));  // quantization is none of the kernel's
}

TEST(PropagationText, SaysHowStagesInteractAndWhichPartsOfAGradientThereAre) {
  const RunRecord r = propagation_run();
  EXPECT_THAT(propagation_lines(r.propagations[0]),
              Contains(AllOf(HasSubstr("interaction"), HasSubstr(" 2.1 %"))));
  const std::vector<std::string> lines = gradient_lines(r.gradients[0]);
  EXPECT_THAT(lines, Contains(HasSubstr("-2.8e-03 ± 1.0e-05")));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("channels"), HasSubstr("1.0e-03 3.0e-03 3.0e-03"))));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("heads"))));  // a matrix has none
}

TEST(PropagationText, GradientsByWeightsHaveATableOfTheirOwn) {
  DepthRecord depth = propagation_run().depths[0];
  EXPECT_THAT(depth_lines(depth), Contains(AllOf(HasSubstr("bf16 residual stream"),
                                                 HasSubstr("3.2e-03"), HasSubstr("4.0e-03"))));
  depth.curves[0].weights.clear();
  EXPECT_THAT(depth_lines(depth), Not(Contains(HasSubstr("by weights"))));
}

TEST(PropagationText, SmallSharesDoNotReadAsNone) {
  EXPECT_EQ(percent_text(0), "0.0 %");
  EXPECT_EQ(percent_text(1e-6), "under 0.1 %");
  EXPECT_EQ(percent_text(0.9981), "99.8 %");
}

TEST(PropagationJson, HoldsStagesCurvesAndGradients) {
  const auto json = nlohmann::json::parse(record_json(propagation_run()));
  const auto& propagation = json["propagations"][0];
  EXPECT_EQ(propagation["stages"][1]["name"], "softmax argument");
  EXPECT_EQ(propagation["stages"][1]["own_any_order_error"], 0.123);
  EXPECT_EQ(propagation["parts"][0]["share"], 0.998);
  EXPECT_EQ(propagation["condition"]["bands"][1]["elements"], 123456);
  EXPECT_EQ(json["depths"][0]["curves"][0]["relative"][1], 2e-3);
  EXPECT_EQ(json["depths"][0]["curves"][0]["weights"][1], 4e-3);
  EXPECT_FALSE(json["depths"][0]["curves"][1].contains("weights"));
  EXPECT_EQ(json["gradients"][0]["bias"], 0.47);
  EXPECT_EQ(json["gradients"][0]["channel_99"], 3e-3);
  EXPECT_EQ(json["stochastics"][0]["bias"], 1.22);
  EXPECT_EQ(json["stochastics"][0]["bits"]["value"], "inf");
}

// Lines of a run that was killed: a case between them, and a kernel that became known later.
TEST(PropagationJson, LinesOfAKilledRunAreReadBack) {
  const RunRecord r = propagation_run();
  RunRecord first, second;
  first.propagations = r.propagations;
  first.stochastics = r.stochastics;
  second.depths = r.depths;
  second.gradients = r.gradients;
  const std::string path = testing::TempDir() + "propagation_lines.jsonl";
  std::ofstream(path) << run_json_line(r) << "\n"
                      << found_json_line(first) << "\n"
                      << case_json_line(r.cases[0]) << "\n"
                      << run_json_line(r) << "\n"
                      << found_json_line(second) << "\n{\"depths\": [";
  const Result<RunRecord> read = read_record(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->interrupted);
  EXPECT_EQ(read->cases.size(), 1u);
  ASSERT_EQ(read->propagations.size(), 1u);
  EXPECT_EQ(read->propagations[0].stages.size(), 2u);
  EXPECT_EQ(read->depths.size(), 1u);
  EXPECT_EQ(read->gradients.size(), 1u);
  EXPECT_EQ(read->stochastics.size(), 1u);
}

TEST(PropagationJson, OtherVerbsHaveNone) {
  const auto json = nlohmann::json::parse(record_json(sample_record()));
  EXPECT_FALSE(json.contains("propagations"));
}

TEST(PropagationMarkdown, FindingsComeBeforeTables) {
  const std::string text = summary_markdown(propagation_run());
  const std::size_t finding = text.find("The fault is in the stage"),
                    table = text.find("quantize inputs");
  ASSERT_NE(finding, std::string::npos);
  EXPECT_LT(finding, table);
  EXPECT_THAT(text, HasSubstr("### `pre-norm transformer blocks`"));
  EXPECT_THAT(text, HasSubstr("2 layers\n"));
}

TEST(PropagationMarkdown, StaysBelow64KilobytesAndSaysWhatIsMissing) {
  RunRecord r = propagation_run();
  for (int i = 0; i < 200; ++i) r.propagations.push_back(sample_propagation());
  const std::string text = summary_markdown(r);
  EXPECT_LT(text.size(), 64u * 1024);
  EXPECT_THAT(text, HasSubstr("more in record.json"));
}

}  // namespace
}  // namespace plumbline
