// SPDX-License-Identifier: MIT
// SARIF and annotations: what they say. That they are valid, strict_readers.py checks.
#include "reports/sarif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "record_samples.h"
#include "reports/annotations.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Json = nlohmann::json;

TEST(Sarif, HasAResultPerKernelKindAndLine) {
  const Json sarif = Json::parse(sarif_json(record_with_findings({88, 90}), "/repo"));
  EXPECT_EQ(sarif["version"], "2.1.0");
  ASSERT_THAT(sarif["runs"], SizeIs(1));
  const Json& run = sarif["runs"][0];
  ASSERT_THAT(run["results"], SizeIs(2));
  const Json& first = run["results"][0];  // seen in two cases
  EXPECT_EQ(first["ruleId"], "race");
  EXPECT_EQ(first["level"], "error");
  EXPECT_THAT(first["message"]["text"].get<std::string>(), HasSubstr("Seen in 2 cases"));
  const Json& place = first["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "src/a%20b.cu");
  EXPECT_EQ(place["region"]["startLine"], 88);
  EXPECT_EQ(first["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 120);
  for (const Json& result : run["results"]) {
    const bool known =
        std::any_of(run["tool"]["driver"]["rules"].begin(), run["tool"]["driver"]["rules"].end(),
                    [&](const Json& rule) { return rule["id"] == result["ruleId"]; });
    EXPECT_TRUE(known);
  }
}

TEST(Sarif, FingerprintsOutliveEditsAboveTheLine) {
  const auto fingerprints = [](const std::vector<int>& lines) {
    std::vector<std::string> all;
    const Json sarif = Json::parse(sarif_json(record_with_findings(lines), "/repo"));
    for (const Json& result : sarif["runs"][0]["results"])
      all.push_back(result["partialFingerprints"]["plumblineFinding/v1"]);
    return all;
  };
  EXPECT_EQ(fingerprints({88, 90}), fingerprints({98, 100}));
  EXPECT_NE(fingerprints({88, 90})[0], fingerprints({88, 90})[1]);
}

TEST(Sarif, OfNumbersAloneIsEmptyAndValid) {
  const Json sarif = Json::parse(sarif_json(sample_record(), "/repo"));
  EXPECT_THAT(sarif["runs"][0]["results"], SizeIs(0));
  EXPECT_TRUE(sarif["runs"][0]["results"].is_array());
}

TEST(Annotations, EscapeWhatWouldEndThem) {
  RunRecord r = sample_record();
  r.counterexamples[0].headline = "50 % wrong\n::error::injected";
  r.counterexamples[0].kernel = "a,b:c";
  EXPECT_THAT(github_annotations(r, "/repo"),
              ElementsAre("::error title=a%2Cb%3Ac%3A bound::50 %25 wrong%0A::error::injected%0A"
                          "plumbline replay fuzz/corpus/gemm_bf16/9a41c7.case"));
}

TEST(Annotations, AreAtMostNineAndOneThatCounts) {
  std::vector<int> lines;
  for (int i = 1; i <= 20; ++i) lines.push_back(i);
  const std::vector<std::string> all = github_annotations(record_with_findings(lines), "/repo");
  ASSERT_THAT(all, SizeIs(10));
  EXPECT_THAT(all[0], HasSubstr("::error file=src/a b.cu,line=1,title=gemm_bf16%3A race::"));
  EXPECT_THAT(all[9], HasSubstr("and 12 more in report.html"));
}

}  // namespace
}  // namespace plumbline
