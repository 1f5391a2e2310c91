// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>

#include "reports/card.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/record/json.h"
#include "tests/reports/record/record_samples.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Summarize, CountsCasesAndTakesTheWorst) {
  const RunRecord r = sample_record();
  const KernelRecord& k = r.kernels[0];
  EXPECT_EQ(k.cases, 4);
  EXPECT_EQ(k.passed, 2);
  EXPECT_EQ(k.failed, 1);
  EXPECT_EQ(k.mistrusted, 1);
  EXPECT_EQ(k.outputs, 4 * 64);
  EXPECT_EQ(k.verdict, Verdict::fail);
  EXPECT_DOUBLE_EQ(k.worst_share, 17);
  EXPECT_EQ(k.worst_case, r.cases[2].text);
}

TEST(Summarize, ALargeCaseIsSampledOnceHoweverManyOutputsItHas) {
  RunRecord r = sample_record();
  r.cases[0].outputs[0].verdict.sampled = true;
  r.cases[0].outputs.push_back(r.cases[0].outputs[0]);
  summarize(r);
  EXPECT_EQ(r.kernels[0].sampled_cases, 1);
}

TEST(ShortenFigures, KeepsSixDigitsOfWhatPassedAndAllOfTheRest) {
  RunRecord r = sample_record();
  for (CaseRecord& c : r.cases) {
    c.outputs[0].verdict.worst_share = 0.123456789;
    c.outputs[0].verdict.worst_ulp = std::numeric_limits<double>::infinity();
    shorten_figures(c);
  }
  EXPECT_EQ(r.cases[0].outputs[0].verdict.worst_share, 0.123457);
  EXPECT_EQ(r.cases[0].outputs[0].verdict.worst_ulp, std::numeric_limits<double>::infinity());
  EXPECT_EQ(r.cases[2].outputs[0].verdict.worst_share, 0.123456789);
}

TEST(Json, IsByteStableButForCircumstances) {
  RunRecord a = sample_record(), b = sample_record();
  b.elapsed_ms = 99;
  b.cases[0].elapsed_ms = 7;
  b.kernels[0].elapsed_ms = 1;
  b.places = {{"2026-11-25T19:16:21Z", "a processor", "x86_64, AVX3", "1234abcd", true}};
  auto ja = nlohmann::ordered_json::parse(record_json(a)),
       jb = nlohmann::ordered_json::parse(record_json(b));
  EXPECT_NE(ja.dump(), jb.dump());
  ja.erase("circumstances");
  jb.erase("circumstances");
  EXPECT_EQ(ja.dump(), jb.dump());
}

TEST(Json, KeepsInfinitiesByTheirBits) {
  const auto json = nlohmann::json::parse(record_json(sample_record()));
  const auto& worst = json["cases"][0]["outputs"][0]["worst_ulp"];
  EXPECT_EQ(worst["bits"], "0x7ff0000000000000");
  EXPECT_EQ(worst["value"], "inf");
}

TEST(Json, ACaseIsOneLine) {
  const std::string line = case_json_line(sample_record().cases[2]);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(line)["verdict"], "fail");
}

TEST(JUnit, HasOneTestCasePerClaimAndClass) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junit_xml(sample_record(), true).c_str()));
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 9);  // 3 claims x 3 classes
  EXPECT_EQ(suite.attribute("failures").as_int(), 1);
  EXPECT_EQ(suite.attribute("skipped").as_int(), 1);
  const pugi::xml_node failed = suite.find_child_by_attribute("testcase", "name", "bound/ties");
  ASSERT_TRUE(failed);
  EXPECT_STREQ(failed.attribute("classname").value(), "gemm_bf16");
  EXPECT_STREQ(failed.child("failure").attribute("type").value(), "bound-exceeded");
  EXPECT_THAT(failed.child("failure").attribute("message").value(),
              HasSubstr("<d> are \"off\" & more"));
  EXPECT_THAT(failed.child("failure").text().get(),
              HasSubstr("plumbline replay  fuzz/corpus/gemm_bf16/9a41c7.case"));
}

TEST(JUnit, TypesAreThoseOfTheClaims) {
  std::set<std::string> types;
  for (const Claim claim :
       {Claim::bound, Claim::bits, Claim::specials, Claim::in_bounds, Claim::deterministic,
        Claim::agrees, Claim::related, Claim::population}) {
    RunRecord r = sample_record();
    r.cases[2].claims = {{claim, Verdict::fail}};
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(junit_xml(r, true).c_str()));
    const pugi::xml_node failed =
        document.child("testsuites")
            .child("testsuite")
            .find_child_by_attribute("testcase", "name",
                                     fmt::format("{}/ties", name(claim)).c_str());
    types.insert(failed.child("failure").attribute("type").value());
  }
  EXPECT_EQ(types.size(), 8u);
  EXPECT_TRUE(types.contains("bits-differ"));
}

TEST(JUnit, SaysAFindingOnce) {
  RunRecord r = record_with_findings({88, 88});
  r.counterexamples.clear();
  r.cases[3].findings.clear();
  r.cases[2].claims[Claim::in_bounds] = Verdict::fail;
  const std::string text = junit_xml(r, true);
  const std::string finding = "race: two lanes write `st.shared.u32`";
  EXPECT_EQ(text.find(finding), text.rfind(finding));
  EXPECT_THAT(text, HasSubstr("message=\"fails as well; see in-bounds/ties\""));
}

TEST(JUnit, AKernelHasAHundredKilobytesAndTheFileSaysWhatIsCut) {
  RunRecord r = sample_record();
  r.counterexamples.clear();
  for (int i = 0; i < 50; ++i) {
    r.cases.push_back(r.cases[2]);
    r.cases.back().value_class = fmt::format("class_{}", i);
    r.cases.back().reason = std::string(20'000, '<') + "ü";
  }
  const std::string text = junit_xml(r, true);
  EXPECT_LT(text.size(), 110'000u);
  EXPECT_THAT(text, HasSubstr("... cut; record.json has all of it"));
  EXPECT_THAT(text, HasSubstr(" texts are cut: a kernel has 100000 bytes of this file."));
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(text.c_str()));
}

TEST(JUnit, MistrustedFailsUnlessAllowed) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junit_xml(sample_record(), false).c_str()));
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("failures").as_int(), 2);
  const pugi::xml_node mistrusted = suite.find_child_by_attribute("testcase", "name", "bound/ones");
  EXPECT_STREQ(mistrusted.child("failure").attribute("type").value(), "mistrusted");
}

TEST(JUnit, MistrustIsATestCaseOfItsKernel) {
  RunRecord record = sample_record();
  record.kernels[0].mistrusted_because = {"only 41 % of 1246 instructions ran", "and more"};
  for (const bool mistrust_fails : {false, true}) {
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(junit_xml(record, !mistrust_fails).c_str()));
    const pugi::xml_node suite = document.child("testsuites").child("testsuite");
    EXPECT_EQ(suite.attribute("tests").as_int(), 10);
    const pugi::xml_node mistrusted = suite.find_child_by_attribute("testcase", "name", "evidence");
    const pugi::xml_node outcome = mistrusted.child(mistrust_fails ? "failure" : "skipped");
    EXPECT_STREQ(outcome.attribute("message").value(), "only 41 % of 1246 instructions ran");
    EXPECT_STREQ(outcome.attribute("type").value(), mistrust_fails ? "mistrusted" : "");
  }
}

TEST(JUnit, WhatProbesFoundIsATestCaseOfItsKernel) {
  RunRecord record = sample_record();
  record.kernels[0].verdict = Verdict::mistrusted;
  record.kernels[0].reasons = {"probes on emulator sm_90 find 10 fraction bits"};
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junit_xml(record, false).c_str()));
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  const pugi::xml_node probed = suite.find_child_by_attribute("testcase", "name", "evidence");
  EXPECT_STREQ(probed.child("failure").attribute("message").value(),
               "probes on emulator sm_90 find 10 fraction bits");
}

TEST(JUnit, APlanThatDidNotEndIsAnError) {
  RunRecord record = sample_record();
  record.planned = 9;
  record.interrupted = true;
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junit_xml(record, true).c_str()));
  const pugi::xml_node suite =
      document.child("testsuites").find_child_by_attribute("testsuite", "name", "(run)");
  EXPECT_EQ(suite.attribute("errors").as_int(), 1);
  EXPECT_STREQ(suite.child("testcase").child("error").attribute("message").value(),
               "the run did not end: 4 of 9 planned cases are here");
  record.interrupted = false;
  record.stopped_after = 1;
  EXPECT_THAT(junit_xml(record, true),
              HasSubstr("the run stopped at its first failure: 4 of 9 planned cases are here"));
  EXPECT_THAT(summary_markdown(record),
              HasSubstr("The run stopped at its first failure: 4 of 9 planned cases"));
  record.stopped_after = 0;
  record.interrupted = true;
  record.verb = "fuzz";  // has no plan
  EXPECT_THAT(junit_xml(record, true), Not(HasSubstr("(run)")));
}

TEST(JUnit, ForbiddenCharactersNeverReachTheFile) {
  RunRecord r = sample_record();
  r.cases[2].reason = std::string("a\x01\x1b[31mb");
  r.counterexamples.clear();
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junit_xml(r, true).c_str()));
  EXPECT_THAT(junit_xml(r, true), Not(HasSubstr("\x1b")));
}

TEST(Markdown, ShowsTheTableAndTheCard) {
  const std::string text = summary_markdown(sample_record());
  EXPECT_THAT(text, HasSubstr("| fail | `gemm_bf16` | 4 | 256 |"));
  EXPECT_THAT(text, HasSubstr("FAIL  gemm_bf16   bound / ties"));
}

// Of a kernel that passes: no share of a bound that every kernel of its arithmetic reaches, and no
// error of sums that cancel.
TEST(Markdown, SaysNoErrorThatTellsNothing) {
  RunRecord record = sample_record();
  std::erase_if(record.cases, [](const CaseRecord& c) { return c.verdict != Verdict::pass; });
  for (CaseRecord& c : record.cases) {
    c.outputs[0].verdict.worst_share = 1;
    c.outputs[0].verdict.worst_ulp = 6.694e76;
  }
  const auto line_of = [](RunRecord& r) {
    r.kernels = {without_cases(r.kernels[0])};
    r.counterexamples.clear();
    summarize(r);
    const std::string text = summary_markdown(r);
    const std::size_t start = text.find("| pass |");
    return text.substr(start, text.find('\n', start) - start);
  };
  EXPECT_EQ(line_of(record), "| pass | `gemm_bf16` | 2 | 128 |  |");
  record.cases.push_back(sample_case("gemm_bf16 m=2", Verdict::pass, "positive"));
  EXPECT_EQ(line_of(record), "| pass | `gemm_bf16` | 3 | 192 | 0.5 ulp of bf16 |");
}

TEST(Markdown, SaysWhyAKernelIsMistrusted) {
  RunRecord record = sample_record();
  record.kernels[0].reasons = {"probes on emulator find 10 bits"};
  record.kernels[0].mistrusted_because = {"only 41 % of 1246 instructions ran"};
  const std::string text = summary_markdown(record);
  EXPECT_THAT(text, HasSubstr("`gemm_bf16`: probes on emulator find 10 bits"));
  EXPECT_THAT(text, HasSubstr("`gemm_bf16`: mistrusted: only 41 % of 1246 instructions ran"));
}

TEST(Markdown, StaysBelow64KilobytesAndSaysWhatIsMissing) {
  RunRecord r = sample_record();
  r.counterexamples[0].explanation.assign(500, std::string(100, 'x'));
  r.counterexamples.assign(40, r.counterexamples[0]);
  const std::string text = summary_markdown(r);
  EXPECT_LT(text.size(), 64u * 1024);
  EXPECT_THAT(text, HasSubstr("39 more in report.html"));
}

TEST(Card, FencesCannotBeClosedByItsContent) {
  RunRecord r = sample_record();
  r.counterexamples[0].headline = "```` not a fence";
  EXPECT_THAT(summary_markdown(r), HasSubstr("\n`````\n"));
}

// `explain` shows a case without knowing the file it came from.
TEST(Card, WithoutACaseToNameThereIsNoReplayLine) {
  Counterexample card = sample_record().counterexamples[0];
  card.case_file.clear();
  card.original.clear();
  EXPECT_EQ(replay_subject(card), "");
  for (const std::string& line : card_lines(card)) EXPECT_THAT(line, Not(HasSubstr("replay")));
}

TEST(Card, ReplayLinesNameTheManifestOfAKernelFromOutside) {
  Counterexample card = sample_record().counterexamples[0];
  card.manifest = "kernels/mine.toml";
  EXPECT_EQ(replay_subject(card), card.case_file + " --kernel kernels/mine.toml");
  card.case_file.clear();
  EXPECT_EQ(replay_subject(card), "\"" + card.original + "\" --kernel kernels/mine.toml");
}

TEST(Card, NumbersReadWell) {
  EXPECT_EQ(ulp_text(0), "exact");
  EXPECT_EQ(ulp_text(0.5), "0.5 ulp");
  EXPECT_EQ(share_text(0.22), "22 %");
  EXPECT_EQ(share_text(64), "64 x");
}

}  // namespace
}  // namespace plumbline
