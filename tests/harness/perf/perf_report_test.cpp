// SPDX-License-Identifier: MIT
// The page, the summary and the SARIF file of a perf run. If one of these fails, what grew is not
// beside its line in a pull request, or a page says something else than perf.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/perf/perf_report.h"

namespace plumbline {
namespace {

using enum Counter;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kProduct = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";

PerfEntry entry(std::uint64_t wavefronts) {
  PerfEntry made{
      .kernel = "gemm<x>", .sm = 90, .problem = "m=8 n=8 k=8", .useful_macs = 1e6, .launches = {}};
  PerfLaunch& launch = made.launches.emplace_back();
  launch.entry = "gemm_nn";
  launch.grid = {132, 1, 1};
  launch.block = {128, 1, 1};
  launch.sectors_only_read = 1000;
  PerfLine& line = launch.lines.emplace_back();
  line.at = "tile.cuh:31";
  line.instruction = "ldmatrix.sync.aligned.m8n8.x4.shared.b16";
  line.file = "/checkout/kernels/tile.cuh";
  line.file_line = 31;
  line.counts[shared_wavefronts] = wavefronts;
  line.counts[shared_least_wavefronts] = 10;
  line.counts[shared_requests] = 10;
  PerfLine& product = launch.lines.emplace_back();
  product.at = "tile.cuh:40";
  product.instruction = kProduct;
  product.counts[tensor_macs] = 1'000'000;
  for (const PerfLine& one : launch.lines) launch.totals.add(one.counts);
  return made;
}

PerfReport report(std::uint64_t wavefronts, std::optional<std::uint64_t> before = {},
                  bool strict = false) {
  PerfResult result{.entry = entry(wavefronts), .advice = {}, .chip = usual_chip(90)};
  result.advice = advice(result.entry);
  PerfReport made{.results = {result},
                  .comparison = {},
                  .strict = strict,
                  .run_id = "1f2e",
                  .version = "0.1.0",
                  .root = "/checkout"};
  if (before) made.comparison = compare_perf({{entry(*before)}}, {{entry(wavefronts)}});
  return made;
}

nlohmann::json run_of(const std::string& sarif) { return nlohmann::json::parse(sarif)["runs"][0]; }

TEST(PerfReport, SaysHowManyKernelsAndPiecesOfAdvice) {
  EXPECT_EQ(perf_verdict(report(10)), "1 kernel counted, 0 pieces of advice");
  EXPECT_EQ(perf_verdict(report(80)), "1 kernel counted, 1 piece of advice");
}

TEST(PerfReport, WithABaselineItSaysWhatGrew) {
  EXPECT_EQ(perf_verdict(report(20, 20)), "no counter grew since the baseline");
  EXPECT_EQ(perf_verdict(report(20, 10)), "1 counter grew since the baseline");
  PerfReport two = report(10);
  two.results.push_back(two.results[0]);
  EXPECT_EQ(perf_verdict(two), "1 kernel counted on 2 problems, 0 pieces of advice");
  PerfReport unclear = report(20, 20);
  unclear.comparison->unclear.emplace_back("gone");
  EXPECT_EQ(perf_verdict(unclear),
            "no counter grew since the baseline, and one thing was not compared");
}

TEST(PerfReport, SaysThatItWasInterrupted) {
  PerfReport cut = report(10);
  cut.interrupted = true;
  EXPECT_EQ(perf_verdict(cut), "interrupted: 1 kernel counted, 0 pieces of advice");
  EXPECT_THAT(perf_html(cut), HasSubstr("header class=\"near\""));
}

TEST(PerfReport, ThePageHasEveryLineAndTheRoofline) {
  const std::string page = perf_html(report(80));
  EXPECT_THAT(page, HasSubstr("gemm&lt;x&gt;"));
  EXPECT_THAT(page, HasSubstr("bank conflicts"));
  EXPECT_THAT(page, HasSubstr("Roofline"));
  EXPECT_THAT(page, HasSubstr("16-bit peak of H100 SXM"));
  EXPECT_THAT(page, HasSubstr("tile.cuh:40"));
  EXPECT_THAT(page, HasSubstr("header class=\"pass\""));
  EXPECT_THAT(page, Not(HasSubstr("id=\"changes\"")));
  EXPECT_THAT(perf_html(report(80, 40)), HasSubstr("id=\"changes\""));
}

TEST(PerfReport, WhatGrewFailsThePageWhereItFailsTheRun) {
  EXPECT_THAT(perf_html(report(80, 40)), HasSubstr("header class=\"near\""));
  const std::string strict = perf_html(report(80, 40, true));
  EXPECT_THAT(strict, HasSubstr("header class=\"fail\""));
  EXPECT_THAT(strict, HasSubstr("wavefronts of shared memory"));
  EXPECT_THAT(strict, HasSubstr("40 before, 80 now"));
  EXPECT_THAT(perf_html(report(40, 80, true)), HasSubstr("header class=\"pass\""));
}

TEST(PerfReport, SummaryHasChangesAndAdvice) {
  const std::string summary = perf_markdown(report(80, 40));
  EXPECT_THAT(summary, HasSubstr("## plumbline perf: 1 counter grew since the baseline"));
  EXPECT_THAT(summary, HasSubstr("| grew | "));
  EXPECT_THAT(summary, HasSubstr("- **bank conflicts** in "));
}

TEST(PerfReport, SarifPutsGrowthAndAdviceBesideLines) {
  const nlohmann::json run = run_of(perf_sarif(report(80, 40, true)));
  ASSERT_EQ(run["results"].size(), 2u);
  const nlohmann::json grew = run["results"][0];
  EXPECT_EQ(grew["ruleId"], "grew");
  EXPECT_EQ(grew["level"], "error");
  const nlohmann::json at = grew["locations"][0]["physicalLocation"];
  EXPECT_EQ(at["artifactLocation"]["uri"], "kernels/tile.cuh");
  EXPECT_EQ(at["region"]["startLine"], 31);
  EXPECT_EQ(run["results"][1]["ruleId"], "bank-conflicts");
  EXPECT_EQ(run["results"][1]["level"], "note");
  EXPECT_EQ(run["tool"]["driver"]["rules"].size(), 2u);
  EXPECT_EQ(run_of(perf_sarif(report(80, 40)))["results"][0]["level"], "warning");
}

TEST(PerfReport, SarifHasNoResultsWhereNothingIsToBeSaid) {
  EXPECT_TRUE(run_of(perf_sarif(report(10, 10)))["results"].empty());
}

}  // namespace
}  // namespace plumbline
