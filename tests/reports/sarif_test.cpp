// SPDX-License-Identifier: MIT
// SARIF and annotations: what they say. That they are valid, strict_readers.py checks.
#include <algorithm>

#include "reports/sarif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/annotations.h"
#include "reports/code_quality.h"
#include "reports/places.h"
#include "tests/reports/record/record_samples.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Json = nlohmann::json;

TEST(Sarif, HasAResultPerKindAndLine) {
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

TEST(Sarif, RelatesTheOtherAccessOfARace) {
  RunRecord r = record_with_findings({88});
  for (CaseRecord& c : r.cases) {
    for (FindingRecord& f : c.findings)
      f.other = {"read",
                 "read by warp 1, lane 3 at k.ptx:90",
                 1,
                 3,
                 "/repo/k.ptx",
                 90,
                 "/repo/src/b.cu",
                 61,
                 ""};
  }
  const Json sarif = Json::parse(sarif_json(r, "/repo"));
  const Json& related = sarif["runs"][0]["results"][0]["relatedLocations"];
  ASSERT_THAT(related, SizeIs(2));
  EXPECT_EQ(related[0]["physicalLocation"]["artifactLocation"]["uri"], "k.ptx");
  EXPECT_EQ(related[0]["message"]["text"], "the PTX instruction");
  EXPECT_EQ(related[1]["message"]["text"], "the other access: read by warp 1, lane 3 at k.ptx:90");
  EXPECT_EQ(related[1]["physicalLocation"]["artifactLocation"]["uri"], "src/b.cu");
  EXPECT_EQ(related[1]["physicalLocation"]["region"]["startLine"], 61);
  const Json& threads = sarif["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"];
  ASSERT_THAT(threads, SizeIs(2));
  const auto line_of = [&](int thread) {
    return threads[thread]["locations"][0]["location"]["physicalLocation"]["region"]["startLine"];
  };
  EXPECT_EQ(line_of(0), 88);
  EXPECT_EQ(line_of(1), 61);
  EXPECT_EQ(threads[1]["locations"][0]["location"]["message"]["text"],
            "read by warp 1, lane 3 at k.ptx:90");
}

TEST(Sarif, ExplainsEveryRule) {
  const Json sarif = Json::parse(sarif_json(record_with_findings({88}), "/repo"));
  const Json& rule = sarif["runs"][0]["tool"]["driver"]["rules"][0];
  EXPECT_EQ(rule["id"], "race");
  EXPECT_THAT(rule["help"]["markdown"].get<std::string>(), HasSubstr("**race**\n\nTwo lanes"));
  EXPECT_THAT(rule["help"]["text"].get<std::string>(), HasSubstr("a barrier that is missing"));
}

// Of a header that kernels share, and of a race that was seen from its other side as well.
TEST(Sarif, SaysEachFindingOnce) {
  RunRecord r = record_with_findings({88});
  KernelRecord other;
  other.name = "gemm_fp8";
  r.kernels.push_back(other);
  r.cases[3].kernel = other.name;
  r.cases[3].findings[0].other = {"read", "a read", 1, 3, "", 0, "/repo/src/a b.cu", 61, ""};
  r.cases[2].findings[0].other = r.cases[3].findings[0].other;
  r.cases[1].findings = r.cases[2].findings;
  r.cases[1].findings[0].source_line = 61;
  r.cases[1].findings[0].other->source_line = 88;
  const Json results = Json::parse(sarif_json(r, "/repo"))["runs"][0]["results"];
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_THAT(results[0]["message"]["text"].get<std::string>(),
              HasSubstr("Seen in 3 cases of gemm_bf16 and of gemm_fp8; replay one"));
  EXPECT_THAT(results[0]["locations"][0]["logicalLocations"], SizeIs(2));
}

TEST(CodeQuality, HasAnIssueForEachFindingInTheRepository) {
  RunRecord r = record_with_findings({88, 90});
  const Json issues = Json::parse(code_quality_json(r, "/repo"));
  ASSERT_THAT(issues, SizeIs(2));
  EXPECT_EQ(issues[0]["location"]["path"], "src/a b.cu");
  EXPECT_EQ(issues[0]["location"]["lines"]["begin"], 88);
  EXPECT_EQ(issues[0]["check_name"], "plumbline: race");
  EXPECT_EQ(issues[0]["severity"], "critical");
  EXPECT_NE(issues[0]["fingerprint"], issues[1]["fingerprint"]);
  EXPECT_THAT(issues[0]["description"].get<std::string>(), HasSubstr("Seen in 2 cases"));
  EXPECT_EQ(code_quality_json(r, "/elsewhere"), "[]\n");
}

TEST(Sarif, FingerprintsOutliveEditsAboveTheLine) {
  const auto fingerprints = [](const std::vector<int>& lines) {
    std::vector<std::string> all;
    const Json sarif = Json::parse(sarif_json(record_with_findings(lines), "/repo"));
    for (const Json& result : sarif["runs"][0]["results"])
      all.push_back(result["partialFingerprints"]["plumblineFinding/v2"]);
    return all;
  };
  EXPECT_EQ(fingerprints({88, 90}), fingerprints({98, 100}));
  EXPECT_NE(fingerprints({88, 90})[0], fingerprints({88, 90})[1]);
}

TEST(Sarif, ReplaysNameTheManifestOfAnAddedKernel) {
  RunRecord r = record_with_findings({88});
  r.kernels[0].manifest = "my kernels/k.toml";
  const Json sarif = Json::parse(sarif_json(r, "/repo"));
  EXPECT_THAT(sarif["runs"][0]["results"][0]["message"]["text"].get<std::string>(),
              EndsWith("plumbline replay \"gemm_bf16 m=8 n=8 k=33 value=ties seed=0x1\" --kernel "
                       "\"my kernels/k.toml\""));
}

TEST(Sarif, AWrongValueIsAtItsStore) {
  RunRecord r = sample_record();
  r.counterexamples[0].store = sample_finding(40);
  r.counterexamples[0].store.kind = "wrong value";
  r.counterexamples[0].store.text = r.counterexamples[0].headline;
  r.counterexamples[0].faults.names = {"the bias was taken by row"};
  r.counterexamples.push_back(r.counterexamples[0]);  // the same line, of another card
  const Json sarif = Json::parse(sarif_json(r, "/repo"));
  ASSERT_THAT(sarif["runs"][0]["results"], SizeIs(1));
  const Json& result = sarif["runs"][0]["results"][0];
  EXPECT_EQ(result["ruleId"], "wrong-value");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 40);
  EXPECT_EQ(result["message"]["text"],
            "m=1 n=1 k=2: one output is off. Would explain it exactly: the bias was taken by row. "
            "Seen in 1 case of gemm_bf16; replay one with: plumbline replay "
            "fuzz/corpus/gemm_bf16/9a41c7.case");
  r.counterexamples.resize(1);
  r.counterexamples[0].faults = {};
  EXPECT_THAT(Json::parse(sarif_json(r, "/repo"))["runs"][0]["results"][0]["message"]["text"]
                  .get<std::string>(),
              StartsWith("m=1 n=1 k=2: one output is off. Seen in 1 case"));
  EXPECT_THAT(github_annotations(r, "/repo"),
              Contains(HasSubstr("::error file=src/a b.cu,line=40,title=gemm_bf16%3A bound::")));
}

// A helper outside the repository was inlined into a line of it.
TEST(CodeLine, IsTheCallOfWhatWasInlinedFromElsewhere) {
  FindingRecord finding = sample_finding(40);
  finding.source_file = "/usr/include/cuda_fp8.hpp";
  const auto line_of = [&] {
    const CodeLine at = code_line(finding, "/repo");
    return at.file + ":" + std::to_string(at.line);
  };
  EXPECT_EQ(line_of(), "/usr/include/cuda_fp8.hpp:40");
  finding.inlined_at = "/repo/src/gemm.cu:88";
  EXPECT_EQ(line_of(), "src/gemm.cu:88");
  finding.inlined_at = "/elsewhere/tile.cuh:7, inlined at /repo/src/gemm.cu:88";
  EXPECT_EQ(line_of(), "src/gemm.cu:88");
  finding.inlined_at = "/elsewhere/gemm.cu:88";
  EXPECT_EQ(line_of(), "/usr/include/cuda_fp8.hpp:40");
  finding.inlined_at = "/repo/no line";
  EXPECT_EQ(line_of(), "/usr/include/cuda_fp8.hpp:40");
  finding.source_file = "/repo/src/own.cuh";
  finding.inlined_at = "/repo/src/gemm.cu:88";
  EXPECT_EQ(line_of(), "src/own.cuh:40");
  finding.source_file = "";
  EXPECT_EQ(line_of(), "k.ptx:120");
  finding.ptx_line = 0;
  EXPECT_EQ(code_line(finding, "/repo").file, "");
}

TEST(Sarif, OfNumbersWithoutAPlaceIsEmptyAndValid) {
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
