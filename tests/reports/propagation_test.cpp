// SPDX-License-Identifier: MIT
// What `plumbline propagate` found, in the record, in the summary and as tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "record_samples.h"
#include "reports/json.h"
#include "reports/markdown.h"
#include "reports/propagation_text.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

PropagationRecord sample_propagation() {
  PropagationRecord p;
  p.kernel = "gemm_bf16";
  p.text = "gemm_bf16 m=8 n=8 k=8 value=normal seed=0x1";
  p.device = "emulator sm_90";
  p.output = "d";
  p.error = 0.0375;
  p.own_error = 0.0017;
  StageRecord quantize;
  quantize.name = "quantize inputs";
  quantize.kind = "quantization";
  quantize.alone = 0.037;
  quantize.in_order = 0.998;
  StageRecord argument;
  argument.name = "softmax argument";
  argument.kind = "arithmetic";
  argument.alone = 1e-7;
  argument.in_order = 0.003;
  argument.own_in_order = 1.01;
  argument.own_any_order = 0.99;
  argument.own_any_order_error = 0.123;
  p.stages = {quantize, argument};
  p.unexplained = -0.001;
  p.own_unexplained = -0.01;
  p.parts = {{"quantization", 0.037, 0.998}, {"unexplained", 0, 0.002}};
  p.condition.bands = {{0, 10, 60, 1e-3, 1e-4}, {1e4, 1e6, 123456, 0.3, 1e-5}};
  p.findings = {"The fault is in the stage \"output\"."};
  return p;
}

RunRecord propagation_run() {
  RunRecord r = sample_record();
  r.verb = "propagate";
  r.counterexamples.clear();
  r.propagations.push_back(sample_propagation());
  DepthRecord depth;
  depth.stack = "pre-norm transformer blocks";
  depth.layers = 2;
  depth.curves.push_back(
      {"bf16 residual stream", {1e-3, 2e-3}, {1e-3, 1e-3}, {1, 1}, 0.5, 0, 2e-3});
  r.depths.push_back(depth);
  GradientRecord gradient;
  gradient.text = "linear_bf16_backward m=8 n=8 k=8 value=normal seed=0x1";
  gradient.output = "dx";
  gradient.draws = 32;
  gradient.bias = 0.47;
  r.gradients.push_back(gradient);
  StochasticRecord stochastic;
  stochastic.kernel = "gemm_bf16";
  stochastic.text = "gemm_bf16 m=8 n=8 k=8 value=normal seed=0x1";
  stochastic.device = "emulator sm_90";
  stochastic.output = "d";
  stochastic.draws = 4096;
  stochastic.elements = stochastic.steady = 12345678;
  stochastic.bits = stochastic.bits_low = stochastic.shared_bits =
      std::numeric_limits<double>::infinity();
  stochastic.uncertainty = 1.8;
  stochastic.shared_probability = 0.999;
  stochastic.of_bound = std::nan("");
  stochastic.bias = 1.22;
  stochastic.unbiased_nodes_bias = 0.01;
  stochastic.findings = {"Every draw gives the same bits."};
  r.stochastics.push_back(stochastic);
  return r;
}

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
  EXPECT_EQ(json["gradients"][0]["bias"], 0.47);
  EXPECT_EQ(json["stochastics"][0]["bias"], 1.22);
  EXPECT_EQ(json["stochastics"][0]["bits"]["value"], "inf");
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
