// SPDX-License-Identifier: MIT
#include "reports/html/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "reports/error_profile.h"
#include "reports/html/parts.h"
#include "reports/record/escape.h"
#include "tests/reports/html/page_samples.h"
#include "tests/reports/record/propagation_samples.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// The page's own markup is also XML, so a real parser can say whether it is well-formed.
std::string main_of(const std::string& page) {
  const std::size_t start = page.find("<main>"), end = page.find("</main>");
  EXPECT_NE(end, std::string::npos);
  return page.substr(start, end - start + 7);
}

pugi::xml_document parsed(const std::string& page) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_string(main_of(page).c_str());
  EXPECT_TRUE(result) << result.description() << " near "
                      << main_of(page).substr(static_cast<std::size_t>(result.offset), 80);
  return document;
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
  return n;
}

std::string text_of(const pugi::xml_node& node) {
  std::string text;
  for (const pugi::xpath_node& child : node.select_nodes(".//text()")) text += child.node().value();
  return text;
}

TEST(Html, IsWellFormed) {
  for (const RunRecord& record :
       {failing_record(), passing_record(), sample_record(), propagation_run(), RunRecord()})
    parsed(report_html(record));
}

// Every figure with numbers has its table among the files; a table says whose it is.
TEST(Html, EveryFiguresNumbersAreTables) {
  for (const RunRecord& record : {failing_record(), passing_record(), propagation_run()}) {
    const pugi::xml_document document = parsed(report_html(record));
    const std::vector<FigureTable> tables = report_tables(record);
    std::vector<std::string> expected, found;
    pugi::xpath_node_set drawn =
        document.select_nodes("//figure//table | //figure//pre[@class='rows']");
    drawn.sort();
    for (const pugi::xpath_node& table : drawn)
      expected.push_back(text_of(table.node().select_node("ancestor::figure/*[1]").node()));
    for (const FigureTable& table : tables) {
      if (table.title.empty()) continue;  // it stands by itself
      found.push_back(table.title);
      EXPECT_FALSE(table.group.empty()) << table.title;
      for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(Html, TablesAreFilesThatReadBack) {
  const FigureTable table{
      .group = "gemm_bf16",
      .title = "Errors: \"by\" length",
      .columns = {"k", "worst, of all"},
      .rows = {{{64, "64"}, {0.1, "0.10"}}, {{128, "128"}, {std::nan(""), "say \"no\""}}}};
  const auto files = table_files({table, {.group = "unnamed"}, table});
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].first, "gemm_bf16/errors-by-length.csv");
  EXPECT_EQ(files[0].second, "k,\"worst, of all\"\r\n64,0.1\r\n128,\"say \"\"no\"\"\"\r\n");
  EXPECT_EQ(files[1].first, "gemm_bf16/errors-by-length-2.csv");
  const nlohmann::json all = nlohmann::json::parse(files[2].second)["tables"];
  EXPECT_EQ(all[0]["file"], files[0].first);
  EXPECT_EQ(all[0]["rows"][1][1], "say \"no\"");
  EXPECT_EQ(all[0]["rows"][0][1], 0.1);
}

TEST(Html, TextsComeBackFromMarkup) {
  const std::string text = "a < b && \"c\" > 'd' ≤ &amp;";
  EXPECT_EQ(text_of_html("<code class=\"x\">" + html_text(text) + "</code>"), text);
  EXPECT_EQ(text_of_html("<code>m=1 seed=0x7</code><p class=\"note\">2 outputs</p>"),
            "m=1 seed=0x7; 2 outputs");
}

TEST(Html, TellsWhatIsWrongFirst) {
  const std::string page = report_html(failing_record());
  const pugi::xml_document document = parsed(page);
  EXPECT_EQ(text_of(document.select_node("//h1").node()),
            "✗ 1 of 2 kernels broke its promise: gemm_bf16_G01.");
  const std::string lead = text_of(document.select_node("//div[@class='lead']").node());
  EXPECT_THAT(lead, HasSubstr("Would explain it exactly: the last product of k is missing."));
  EXPECT_THAT(lead, HasSubstr("plumbline replay  fuzz/corpus/gemm_bf16/9a41c7.case"));
  EXPECT_LT(lead.find("Would explain"), lead.find("  47 | if"));
  EXPECT_THAT(lead, HasSubstr("d[0,0]  expected 1"));
  // Once is enough: the kernel's own card has the rest.
  for (const char* once :
       {"> 48 |", "d[0,0]  expected 1", "the last product of k is missing", "plumbline explain "})
    EXPECT_EQ(count(text_of(document.select_node("//main").node()), once), 1u) << once;
  EXPECT_THAT(lead, HasSubstr(" of 60 cases failed"));
  EXPECT_THAT(lead, HasSubstr("  47 | if (row < m) {\n> 48 |   d[row] = sum;\n  49 | }"));
  // Failing kernels stand open, the others are folded.
  EXPECT_TRUE(document.select_node("//section[@id='kgemm_bf16_G01']"));
  EXPECT_TRUE(document.select_node("//details[@id='kgemm_bf16']"));
  EXPECT_LT(page.find("class=\"lead\""), page.find("Verdicts and errors"));
  EXPECT_LT(page.find("Verdicts and errors"), page.find("id=\"kgemm_bf16_G01\""));
  EXPECT_LT(page.find("id=\"kgemm_bf16_G01\""), page.find("id=\"kgemm_bf16\""));
  EXPECT_LT(page.find("id=\"kgemm_bf16\""), page.find("id=\"environment\""));
}

// "Must be exact" is said where an output has one right value, and not of an accumulator that must
// be exact before it is rounded.
TEST(Html, SaysHowFarFailingCasesAreFromTheirBounds) {
  RunRecord r = failing_record();
  OutputVerdict& v = r.cases[0].outputs[0].verdict;
  v.worst_share = std::numeric_limits<double>::infinity();
  v.worst = {.error_ulp = -64, .bound_ulp = 0.49};
  EXPECT_THAT(main_of(report_html(r)), HasSubstr(">64 ulp; 0.49 ulp is allowed</td>"));
  v.worst.bound_ulp = 0;
  EXPECT_THAT(main_of(report_html(r)), HasSubstr(">64 ulp, must be exact</td>"));
  v.worst.class_mismatch = true;
  EXPECT_THAT(main_of(report_html(r)), HasSubstr(">wrong class</td>"));
}

// Each reason once, with its kernels, where no kernel has to be unfolded to read it.
TEST(Html, SaysFirstWhyPassesAreMistrusted) {
  RunRecord r = large_record(0);
  for (std::size_t i = 0; i < 5; ++i) {
    r.kernels[i].verdict = Verdict::mistrusted;
    r.kernels[i].mistrusted_because = {"no case has <ties>"};
  }
  r.kernels[0].mistrusted_because.push_back("it ran twice");
  const std::string page = report_html(r);
  const pugi::xml_document document = parsed(page);
  const pugi::xpath_node_set boxes = document.select_nodes("//div[@class='lead near']");
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_THAT(text_of(boxes[0].node()), HasSubstr("kernel_number_0it ran twice"));
  EXPECT_THAT(text_of(boxes[1].node()),
              HasSubstr("kernel_number_0, kernel_number_1, kernel_number_2, 2 more"));
  EXPECT_THAT(text_of(boxes[1].node()), HasSubstr("no case has <ties>"));
  EXPECT_LT(page.find("no case has"), page.find("Verdicts and errors"));
}

TEST(Html, NamesLoopsThatNoCaseRepeated) {
  RunRecord r = passing_record();
  r.kernels[0].code["emulator sm_90"] = {
      .instructions = 10, .executed = 9, .holes = {}, .unrepeated = {"k.cu:20"}};
  const std::string page = report_html(r);
  parsed(page);
  EXPECT_LT(page.find("loops no case repeated"), page.find("k.cu:20"));
  EXPECT_NE(page.find("k.cu:20"), std::string::npos);
}

TEST(Html, EveryChartDrawsColumnsOfItsOwnTable) {
  for (const auto& [record, least] :
       {std::pair{failing_record(), 8u}, std::pair{propagation_run(), 6u}}) {
    const pugi::xml_document document = parsed(report_html(record));
    const pugi::xpath_node_set charts = document.select_nodes("//figure[@data-chart]");
    EXPECT_GE(charts.size(), least);
    for (const pugi::xpath_node& chart : charts) {
      const auto given = nlohmann::json::parse(chart.node().attribute("data-chart").value());
      const std::string rows = text_of(chart.node().select_node(".//pre[@class='rows']").node());
      const std::size_t columns = count(rows.substr(0, rows.find('\n')), "\t") + 1;
      EXPECT_GT(count(rows, "\n"), 1u);
      EXPECT_EQ(count(rows, "\t"), (columns - 1) * (count(rows, "\n") + 1)) << rows;
      EXPECT_LT(given["x"]["column"].get<std::size_t>(), columns);
      for (const auto& series : given["series"]) EXPECT_LT(series[1].get<std::size_t>(), columns);
      EXPECT_FALSE(text_of(chart.node().select_node(".//p[@class='finding']").node()).empty());
    }
  }
}

// A number is drawn as it is written: words stay where they begin with it.
TEST(Html, TablesOfTextHoldWordsOrNumbersBetweenTabs) {
  const Table table{.head = {"a\tb", "c"},
                    .rows = {{number_cell(0, "0 (exact)"), cell("two\nlines")},
                             {count_cell(1234567), number_cell(0.12345, "0.123")},
                             {number_cell(0.5, "50 %"), number_cell(std::nan(""), "–")}},
                    .caption = "what"};
  EXPECT_EQ(to_text(table).text,
            "<p class=\"note\">what</p><pre class=\"rows\" tabindex=\"0\">a b\tc\n"
            "0 (exact)\ttwo lines\n1234567\t0.123\n0.5\t–</pre>");
}

TEST(Html, ADeepStackAloneIsNoVerdictOnKernels) {
  RunRecord r;
  r.verb = "propagate";
  r.depths = propagation_run().depths;
  DepthRecord back = r.depths[0];
  back.steps = "backward layers";
  r.depths.insert(r.depths.end(), {back, back});
  r.depths[0].findings = {"bf16 residual stream: one.",
                          "as --model says: the error in the end is 3.3 times that of \"bf16\"."};
  const std::string page = main_of(report_html(r));
  EXPECT_THAT(page, HasSubstr("As --model says: the error in the end is 3.3 times that of "
                              "&quot;bf16&quot; (2 layers, "));
  EXPECT_THAT(page, HasSubstr("). 2 more stacks below."));
  EXPECT_THAT(page, Not(HasSubstr("Verdicts and errors")));
}

TEST(Html, PropagationHasAWaterfallAndAllThatItsRecordHas) {
  const pugi::xml_document document = parsed(report_html(propagation_run()));
  // Of the error: quantization from 0 to 0.998 of it, the stage behind it from there.
  const pugi::xpath_node_set steps = document.select_nodes(
      "(//table[.//th='change when it alone is exact'])[1]//tr/td[6]/div[@class='fall']/i");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(std::string(steps[0].node().attribute("style").value()),
            "margin-left:0.0%;width:99.3%");
  EXPECT_EQ(std::string(steps[1].node().attribute("style").value()),
            "margin-left:99.3%;width:0.5%");
  const std::string page = main_of(report_html(propagation_run()));
  for (const char* words :
       {"Most of it, 99.8 %, is quantization. In quadrature the stages alone make 0.99",
        "the interaction of the kernel&#39;s own is 2.1 %",
        "bf16 residual stream: the error grows as layers^0.50",
        "and is 1.00 times what the layers&#39; own errors come to",
        "The most, 0.001, is added by layer 1 in &quot;bf16 residual stream&quot;",
        "Root mean square over layers: 0.0032 in &quot;bf16 residual stream&quot;.",
        "The worst row of dx is 4.0 times as far off as the median.",
        "After 32 steps the last update of Adam is off by 0.012 in dx"})
    EXPECT_THAT(page, HasSubstr(words));
}

TEST(Html, SaysWhatTheDataSay) {
  const std::string page = main_of(report_html(failing_record()));
  EXPECT_THAT(page, HasSubstr("The largest jump, 12.9 ulp, is at step 33 of 33"));
  EXPECT_THAT(page, HasSubstr("a stripe, as lanes or the epilogue leave it"));
  EXPECT_THAT(page, HasSubstr("was stored by lanes 28, 29, 30 and 31 of 32."));
  EXPECT_THAT(page, HasSubstr("data:image/png;base64,iVBORw0KGgo"));
}

// What a conforming kernel's arithmetic does is no fault: its exponent is said, and no more.
TEST(Html, FindsNoFaultWithTheErrorsOfAPassingKernel) {
  RunRecord r = failing_record();
  for (CaseRecord& c : r.cases) {
    for (OutputRecord& output : c.outputs) {
      OutputVerdict& v = output.verdict;
      v.magnitudes.assign(OutputTally::kBinades, 0);
      v.worst_ulp = std::pow(static_cast<double>(c.length) / 8, 1.5);
      const int cell = std::ilogb(v.worst_ulp) + 1 + OutputTally::kFirstBinade;
      v.magnitudes[static_cast<std::size_t>(std::clamp(cell, 1, OutputTally::kBinades - 1))] = 64;
      v.histogram.assign(OutputTally::kCells, 0);
      v.histogram.back() = 64;
    }
  }
  const std::string page = main_of(report_html(r)),
                    passing = page.substr(page.find("id=\"kgemm_bf16\""));
  EXPECT_THAT(page, HasSubstr(": faster than the length itself"));
  EXPECT_THAT(passing, HasSubstr("as k to the power 1.5"));
  EXPECT_THAT(passing, Not(HasSubstr("faster than")));
  EXPECT_THAT(passing, Not(HasSubstr("off center")));
}

// Three places of 4096 make no corner.
TEST(Html, SeesNoPatternThatChanceWouldGive) {
  RunRecord r = failing_record();
  for (std::string& row : r.error_maps[0].heat) row.assign(64, '.');
  for (const auto& [row, column] : {std::pair{3, 40}, {11, 7}, {12, 60}})
    r.error_maps[0].heat[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = 'k';
  r.error_maps[0].threads.assign(4, std::string(32, 'b'));
  r.error_maps[0].threads[1][5] = r.error_maps[0].threads[1][6] = 'k';
  const std::string page = main_of(report_html(r));
  EXPECT_THAT(
      page, HasSubstr("3 of 4,096 places are within a factor of four of the worst error (below 2^7 "
                      "ulp).</p>"));
  EXPECT_THAT(page, HasSubstr("2 of 128 threads stored an error within a factor of four of the "
                              "worst.</p>"));
}

// One element has no place within a tile, and one lane none within a warp.
TEST(Html, SeesNoPatternInAFewElements) {
  RunRecord r = failing_record();
  r.error_maps[0].heat = {"k"};
  r.error_maps[0].threads = {"k" + std::string(31, ' ')};
  r.error_maps[0].warps = {"0"};
  const std::string page = main_of(report_html(r));
  EXPECT_THAT(page, Not(HasSubstr("Error map")));
  EXPECT_THAT(page, Not(HasSubstr("Errors by warp and lane")));
  r.error_maps[0].heat.assign(4, "kkkk");  // enough to be drawn, too few rows to tell an edge
  r.error_maps[0].warps.assign(4, "0000");
  const std::string small = main_of(report_html(r));
  EXPECT_THAT(small, HasSubstr("16 of 16 places are within a factor of four of the worst error "
                               "(below 2^7 ulp)."));
  EXPECT_THAT(small, Not(HasSubstr("all over the tile")));
  r.error_maps[0].heat.assign(8, "kkkkkkkk");
  r.error_maps[0].warps.assign(8, "00000000");
  EXPECT_THAT(main_of(report_html(r)), HasSubstr("all over the tile"));
}

// What the page says of the errors of failing_record() with these counts in its histogram.
std::string described_errors(std::int64_t inside, std::int64_t beyond) {
  RunRecord r = failing_record();
  for (CaseRecord& c : r.cases) {
    OutputVerdict& v = c.outputs[0].verdict;
    v.histogram.assign(OutputTally::kCells, 0);
    v.histogram[OutputTally::kCells / 2 - 4] = v.histogram[OutputTally::kCells / 2 + 3] = inside;
    v.histogram.back() = beyond;
    v.magnitudes.assign(OutputTally::kBinades, 0);
    v.magnitudes[OutputTally::kFirstBinade] = 2 * inside;
    v.magnitudes[OutputTally::kFirstBinade + 4] = beyond;
  }
  const std::string page = main_of(report_html(r));
  const std::size_t start = page.find("Distribution of errors");
  return page.substr(start, page.find("</p>", start) - start);
}

// The mean of the few that are less than 4 ulp away says nothing of the others.
TEST(Html, SaysNoMeanOfErrorsThatAreMostlyFarAway) {
  EXPECT_THAT(described_errors(30, 4000), HasSubstr("; 98.5 % are off by 4 ulp or more."));
  EXPECT_THAT(described_errors(30, 4000), Not(HasSubstr("mean error")));
  EXPECT_THAT(
      described_errors(2000, 0),
      HasSubstr("; their mean error is +0.000 ulp, centered, but wider than one rounding."));
  EXPECT_THAT(described_errors(1, 0), EndsWith("; their mean error is +0.000 ulp."));
}

// Of a kernel that passes, with these errors by length: what the page says of their growth.
std::string described_growth(const std::vector<std::pair<std::int64_t, double>>& errors,
                             double allowed = 10) {
  RunRecord r = passing_record();
  const CaseRecord sample = r.cases[0];
  r.cases.clear();
  for (const auto& [length, ulp] : errors) {
    CaseRecord& c = r.cases.emplace_back(sample);
    c.length = length;
    c.value_class = "normal";
    c.text = fmt::format("gemm_bf16 m=64 n=64 k={} value=normal seed=0x1", length);
    OutputVerdict& v = c.outputs[0].verdict;
    v.worst_ulp = ulp;
    v.bounded = 64;
    v.median_bound_ulp = allowed;
    v.histogram.assign(OutputTally::kCells, 0);
    v.histogram.back() = 64;
    v.magnitudes.assign(OutputTally::kBinades, 0);
    v.magnitudes[static_cast<std::size_t>(std::ilogb(ulp) + 1 + OutputTally::kFirstBinade)] = 64;
  }
  const std::string page = main_of(report_html(r));
  const std::size_t start = page.find("<h4>Error by k"), end = page.find("<details", start);
  return page.substr(start, end - start);
}

// An interval that holds 0 or 1/2 holds what output rounding and independent roundings give.
TEST(Html, SaysNoExponentThatConformingArithmeticHas) {
  const std::string root =
      described_growth({{8, 1.1}, {32, 1.9}, {128, 4.2}, {512, 7.7}, {2048, 17}});
  EXPECT_THAT(root, HasSubstr("keep within is between 1.1 and 17 ulp (value class normal)."));
  EXPECT_THAT(root, Not(HasSubstr("to the power")));
  const std::string noise =
      described_growth({{8, 0.6}, {32, 9}, {64, 170}, {128, 3}, {512, 60}, {2048, 12}});
  EXPECT_THAT(noise, Not(HasSubstr("to the power")));
  EXPECT_THAT(noise, Not(HasSubstr("goes from")));
  const std::string linear = described_growth({{8, 1}, {32, 4}, {128, 16}, {512, 64}});
  EXPECT_THAT(linear, HasSubstr("goes from 1 to 64 ulp, as k to the power 1.00"));
}

// Bounds of values that cancel are astronomic, and would press what is measured into a line.
TEST(Html, EndsAnAxisWhereErrorsEnd) {
  const std::vector<std::pair<std::int64_t, double>> errors = {{8, 1}, {32, 2}, {128, 4}};
  EXPECT_THAT(described_growth(errors), Not(HasSubstr("The axis ends")));
  EXPECT_THAT(described_growth(errors, 6e34),
              HasSubstr("The axis ends at 1e+03 ulp; allowed errors up to 6e+34 ulp are in the "
                        "numbers only."));
}

TEST(Html, DevicesAreHeldBesideEachOtherAndBesideExactValues) {
  RunRecord r = passing_record();
  EXPECT_THAT(main_of(report_html(r)), Not(HasSubstr("Bitwise agreement")));
  // Another chip: the same bits in the first case of two, others in the second.
  r.cases.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    r.cases[i].text = fmt::format("gemm m={}", i);
    r.cases[i].fingerprint = "11";
    for (OutputRecord& output : r.cases[i].outputs) {
      output.verdict.magnitudes = {6, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
      output.verdict.worst_ulp = 0.9;
    }
  }
  r.cases.push_back(r.cases[0]);
  r.cases.push_back(r.cases[1]);
  r.cases[2].device = r.cases[3].device = "emulator sm_80";
  r.cases[3].fingerprint = "22";
  const std::string page = main_of(report_html(r));
  EXPECT_THAT(page,
              HasSubstr("emulator sm_80 and emulator sm_90 give different bits in 1 of 2 cases"));
  EXPECT_THAT(page, HasSubstr("50.0 % of 2 cases"));
  EXPECT_THAT(page, HasSubstr("87.5 % of 16 outputs"));
}

// Results rounded once are within half an ulp, ties too, which the cells of errors leave out.
TEST(Html, TiesAreWithinHalfAnUlp) {
  ErrorProfile profile;
  OutputVerdict ties;
  ties.worst_ulp = 0.5;
  ties.magnitudes.assign(OutputTally::kBinades, 0);
  ties.magnitudes[OutputTally::kFirstBinade] = 8;  // from 1/2 ulp on
  profile.add(ties);
  EXPECT_EQ(profile.share_within_half(), 1);
  ties.worst_ulp = 0.75;
  profile.add(ties);
  EXPECT_EQ(profile.share_within_half(), 0);
}

// An output whose sums run over another size than the case's is drawn over that one.
TEST(Html, ErrorsGrowWithTheSizeThatTheirOwnSumsRunOver) {
  RunRecord record = failing_record();
  for (CaseRecord& c : record.cases) {
    for (OutputRecord& output : c.outputs) {
      output.length_name = "rows";
      output.length = c.length;
    }
  }
  EXPECT_THAT(main_of(report_html(record)), HasSubstr("Error by rows"));
}

TEST(Html, SaysHowLongKernelsTookWhereTheRecordDoes) {
  RunRecord record = failing_record();
  for (KernelRecord& kernel : record.kernels) kernel.elapsed_ms = 0;
  EXPECT_THAT(report_html(record), Not(HasSubstr("time (s)")));
  record.kernels[0].elapsed_ms = 12'340;
  EXPECT_THAT(report_html(record),
              AllOf(HasSubstr("time (s)"), HasSubstr("data-v=\"12.34\">12.3")));
}

// Passing kernels stand by operation, with what each comes to; operations of one kernel stand last.
TEST(Html, PassingKernelsAreGroupedByOperation) {
  RunRecord r = large_record(0);
  for (std::size_t i = 0; i < r.kernels.size(); ++i) {
    KernelRecord& k = r.kernels[i];
    k.operation = i % 2 == 0 ? "gemm" : i < 10 ? "attention" : fmt::format("op_{}", 100 - i);
    k.elapsed_ms = 1000;
  }
  const pugi::xml_document document = parsed(report_html(r));
  const pugi::xpath_node_set groups = document.select_nodes("//tr[@class='group']");
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_THAT(text_of(groups[0].node()), HasSubstr("attention5 kernels1,670"));
  EXPECT_THAT(text_of(groups[1].node()), HasSubstr("gemm30 kernels10,020"));
  EXPECT_THAT(text_of(groups[1].node()), EndsWith("30.0"));
  EXPECT_THAT(text_of(groups[2].node()), HasSubstr("operations of one kernel25 kernels"));
  EXPECT_THAT(text_of(groups[0].node().next_sibling()), HasSubstr("kernel_number_1"));
}

TEST(Html, SaysWhenAndWhereARunWasMade) {
  RunRecord r = passing_record();
  r.places = {{"2026-11-25T19:16:21Z", "a <processor>", "x86_64, AVX3", "1234abcd5678ef00", true}};
  const auto head = [](const RunRecord& record) {
    const pugi::xml_document document = parsed(report_html(record));
    return text_of(document.select_node("//header/p").node());
  };
  EXPECT_THAT(head(r), EndsWith("run 2f9c41 · 2026-11-25 19:16 UTC · a <processor> · commit "
                                "1234abcd5678, with uncommitted changes"));
  EXPECT_THAT(main_of(report_html(r)), HasSubstr("x86_64, AVX3"));
  // Of shards what all have.
  r.places.push_back(
      {"2026-11-24T01:02:03Z", "another", "x86_64, AVX3", "1234abcd5678ef00", false});
  EXPECT_THAT(head(r), EndsWith("run 2f9c41 · 2026-11-24 01:02 UTC · commit 1234abcd5678, with "
                                "uncommitted changes"));
}

TEST(Html, SaysWhetherSpecialValuesStandWhereTheyMust) {
  RunRecord r = passing_record();
  EXPECT_THAT(main_of(report_html(r)),
              HasSubstr("None of 3,840 outputs has the wrong class (NaN, Inf or finite)."));
  const auto special = std::ranges::find(r.cases, "specials", &CaseRecord::value_class);
  special->outputs[0].verdict.class_mismatches = 1;
  special->outputs[0].verdict.failures = {
      {.index = 3, .class_mismatch = true, .got = 0x7fc0, .expected = 0x3f80}};
  const std::string page = main_of(report_html(r));
  EXPECT_THAT(page, HasSubstr("1 of 3,840 outputs has the wrong class (NaN, Inf or finite)."));
  EXPECT_THAT(page, HasSubstr("d[3] is NaN, expected a number ("));
}

TEST(Html, SkipsSectionsWithoutData) {
  const std::string whole = report_html(passing_record()), page = main_of(whole);
  EXPECT_THAT(page, Not(HasSubstr("Failing kernels")));
  EXPECT_THAT(page, Not(HasSubstr("Do the GPU and the emulator agree")));
  EXPECT_THAT(page, Not(HasSubstr("Where in the output")));
  EXPECT_THAT(whole.substr(0, whole.find("<style>")),
              HasSubstr("✓ verify: Every promise held: 1 kernel, 60 cases"));
}

TEST(Html, NothingFromOutsideBecomesMarkup) {
  const std::string evil =
      "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{style}}\x01\xff";
  RunRecord r = failing_record();
  for (KernelRecord& k : r.kernels) {
    k.name += evil;
    k.summary = k.operation = k.formats = k.source_hash = evil;
    k.reasons = k.mistrusted_because = {evil};
    k.contracts = k.ptx_hashes = k.arithmetic = {{evil, evil}};
  }
  for (CaseRecord& c : r.cases) {
    c.kernel += evil;
    c.text = c.device = c.value_class = c.shape_class = c.reason = c.length_name = evil;
    c.outputs[0].name = c.outputs[0].format = evil;
  }
  Counterexample& c = r.counterexamples[0];
  c.kernel += evil;
  c.claim = c.value_class = c.original = c.text = c.case_file = c.headline = evil;
  c.elements = c.explanation = c.faults.names = {evil};
  c.findings = {{evil, evil, evil, 1, evil, 1, evil}};
  c.excerpts = {{evil, evil, 1, 1, {evil}}};
  r.error_maps[0].kernel += evil;
  r.error_maps[0].text = r.error_maps[0].device = r.error_maps[0].output = evil;
  r.verb = r.profile = r.git_hash = r.command = evil;
  r.devices = {evil};
  r.environment = {{evil, evil}};
  r.missing_shards = {evil};
  const std::string page = report_html(r, {baseline_of(r)});
  EXPECT_EQ(count(page, "<script"), 2u);
  EXPECT_EQ(count(page, "</script"), 2u);
  EXPECT_THAT(page, Not(HasSubstr("<img src=x")));
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  parsed(page);
  EXPECT_EQ(count(page, "color-scheme: dark) {"), 1u);  // {{style}} was not filled in again
}

// What the overview says of kernels that pass with values of one sign. Those named "fine..." round
// once.
std::string closeness_of(const std::vector<std::string>& kernels) {
  RunRecord r = sample_record();
  r.kernels.clear();
  r.cases.clear();
  r.counterexamples.clear();
  for (const std::string& name : kernels) {
    r.kernels.emplace_back().name = name;
    CaseRecord c =
        sample_case(name + " m=8 n=8 k=8 value=positive seed=0x1", Verdict::pass, "positive");
    c.kernel = name;
    if (name.ends_with("f32")) {  // and an output of many more ulp
      OutputRecord& wide = c.outputs.emplace_back(c.outputs[0]);
      wide.name = "lse";
      wide.format = "f32";
      std::swap(wide.verdict.magnitudes.at(OutputTally::kFirstBinade - 1),
                wide.verdict.magnitudes.at(OutputTally::kFirstBinade + 6));
    }
    if (!name.starts_with("fine")) {  // up to 2 ulp
      OutputVerdict& v = c.outputs[0].verdict;
      v.worst_ulp = 2;
      std::swap(v.histogram.at(OutputTally::kCells / 2 + 3),
                v.histogram.at(OutputTally::kCells / 2 + 15));
      std::swap(v.magnitudes.at(OutputTally::kFirstBinade - 1),
                v.magnitudes.at(OutputTally::kFirstBinade + 1));
    }
    c.position = static_cast<std::int64_t>(r.cases.size());
    r.cases.push_back(c);
  }
  summarize(r);
  const pugi::xml_document document = parsed(report_html(r));
  return text_of(document.select_node("//p[@class='finding']").node());
}

TEST(Html, SaysHowCloseOutputsAre) {
  const std::string begin = "Where values have one sign, 99 % of the outputs";
  EXPECT_EQ(closeness_of({"coarse"}), begin + " are within 2 ulp (bf16) of exact.");
  EXPECT_EQ(closeness_of({"fine"}), begin + " are within half an ulp of exact.");
  EXPECT_EQ(closeness_of({"fine_f32"}), begin + " are within half an ulp of exact.");
  EXPECT_EQ(closeness_of({"fine", "fine_too"}),
            begin + " of every kernel are within half an ulp of exact.");
  EXPECT_EQ(closeness_of({"fine", "coarse"}),
            begin +
                " of 1 of 2 kernels are within half an ulp of exact; those of coarse are "
                "furthest from it, within 2 ulp (bf16).");
  EXPECT_EQ(closeness_of({"coarse", "coarse_too"}),
            begin +
                " of every kernel are within 2 ulp (bf16) of exact; those of coarse are furthest "
                "from it.");
}

TEST(Html, AsksTheNetworkForNothing) {
  const std::string page = report_html(failing_record());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* reference : {"src=\"http", "href=\"http", "url(", "@import", "<link", "<iframe"})
    EXPECT_THAT(main_of(page), Not(HasSubstr(reference)));
}

// One step at a time, as readers of screens go from heading to heading.
TEST(Html, HeadingsGoDownOneStepAtATime) {
  RunRecord mutants = passing_record();
  mutants.mutants.emplace_back().kernel = mutants.kernels[0].name;
  for (const RunRecord& record : {failing_record(), passing_record(), sample_record(),
                                  propagation_run(), mutants, RunRecord()}) {
    const pugi::xml_document document = parsed(report_html(record));
    int above = 0, headings = 0;
    for (const pugi::xpath_node& heading :
         document.select_nodes("//h1 | //h2 | //h3 | //h4 | //h5 | //h6")) {
      const int level = heading.node().name()[1] - '0';
      EXPECT_LE(level, above + 1) << text_of(heading.node());
      EXPECT_EQ(level == 1, headings++ == 0) << text_of(heading.node());
      above = level;
    }
    EXPECT_GT(headings, 1);
  }
}

// Without what every page has: Chart.js, style and script.
TEST(Html, OfSixtyKernelsAndTwentyThousandCasesIsBelowTenKilobytesPerKernel) {
  const RunRecord record = large_record();
  ASSERT_GE(record.cases.size(), 20000u);
  const std::string page = report_html(record);
  EXPECT_LT(main_of(page).size(), 10'000 * record.kernels.size());
  EXPECT_LT(page.size() - main_of(page).size(), 250'000u);
}

TEST(Html, ShowsWhatOtherVerbsFoundOut) {
  RunRecord r = passing_record();
  MutantRecord survivor;
  survivor.kernel = r.kernels[0].name;
  survivor.id = "p1";
  survivor.outcome = MutantOutcome::survived;
  survivor.before = "add.f32 <a>";
  r.mutants = {survivor};
  PropagationRecord p;
  p.findings = {"\"accumulate\" makes most of the error."};
  p.stages = {{"accumulate", "arithmetic", 0.5, 0.5, 1, 1, 1, 0, 1, 0}};
  p.condition.worst_condition = 4000;
  p.condition.bands = {{1, 10, 5, 1e-3, 5e-4}, {10, INFINITY, 3, 1e-1, 2e-4}};
  r.propagations = {p};
  DepthRecord d;
  d.stack = "blocks";
  d.layers = 2;
  d.curves = {{"f32 residual stream", {1e-3, 2e-3}, {}, {}, 0.5, 0, 0, {}}};
  DepthRecord decoding = d;
  decoding.steps = "decode steps";
  r.depths = {d, decoding};
  StochasticRecord s;
  s.output = "lse";
  s.kernel = "attention_bf16_forward";
  s.bits = std::numeric_limits<double>::infinity();
  s.of_bound = std::nan("");
  s.findings = {"Every draw gives the same bits."};
  r.stochastics = {s};
  const std::string page = report_html(r);
  parsed(page);
  EXPECT_THAT(main_of(page), HasSubstr("0 of 1 faults that change any output are caught: 0.0 %"));
  EXPECT_THAT(main_of(page), HasSubstr("&quot;accumulate&quot; makes most of the error."));
  EXPECT_THAT(main_of(page), HasSubstr("Error through 2 blocks"));
  EXPECT_THAT(main_of(page), HasSubstr("is at an element of condition 4e+03"));
  EXPECT_THAT(main_of(page), HasSubstr("10 and more\t3\t"));
  EXPECT_THAT(main_of(page), HasSubstr("Error over 2 decode steps of blocks"));
  EXPECT_THAT(main_of(page), HasSubstr("Significant bits under random rounding"));
  EXPECT_THAT(main_of(page),
              HasSubstr("lse of attention_bf16_forward: Every draw gives the same bits."));
}

TEST(Html, ShowsWhatCatchesFaultsBesideOtherProjectsRules) {
  RunRecord r = passing_record();
  const std::string kernel = r.kernels[0].name;
  const auto mutant = [&](const char* id, const char* claim, const char* finding) {
    MutantRecord m;
    m.kernel = kernel;
    m.id = id;
    m.outcome = MutantOutcome::caught;
    m.claim = claim;
    m.finding = finding;
    m.text = "k m=1 n=<2>";
    return m;
  };
  r.mutants = {mutant("G01", "bound", ""), mutant("G04", "in-bounds", "race")};
  r.mutants[0].accepted_by = {"lenient"};
  r.peers = {{kernel, "lenient", "e < 1", 4, 1}};
  const std::string page = report_html(r);
  parsed(page);
  EXPECT_THAT(main_of(page), HasSubstr("2 of 2 faults that change any output are caught: 100.0 %"));
  EXPECT_THAT(main_of(page), HasSubstr("1 of 2 by a value outside its bound"));
  EXPECT_THAT(main_of(page), HasSubstr("in-bounds (race)"));
  EXPECT_THAT(main_of(page), HasSubstr("k m=1 n=&lt;2&gt;"));
  EXPECT_THAT(main_of(page), HasSubstr("On average they let 100.0 % of the faults through that are "
                                       "caught here, and reject 25.0 % of the cases"));
}

TEST(Html, ShowsWhatChangedSinceABaseline) {
  Baseline before = baseline_of(failing_record());
  for (BaselineRow& row : before.rows) {
    row.failed = 0;
    if (row.kernel == "gemm_bf16_G01") row.worst_share = 0.5;
  }
  const std::string page = main_of(report_html(failing_record(), {before}));
  EXPECT_THAT(page, HasSubstr("Since plumbline 0.1.0, quick, seed 0x2a"));
  EXPECT_THAT(page, HasSubstr("1 worse, 1 same"));
}

TEST(Html, SaysHowOftenKnownFindingsWereMet) {
  const std::string page = main_of(report_html(sample_record(), {}));
  EXPECT_THAT(page, HasSubstr("known, in 2 cases: &quot;race: of &lt;two&gt;&quot; (both write the "
                              "same)"));
  EXPECT_THAT(page, HasSubstr("[[known]] &quot;race: of three&quot; was met in no case"));
}

TEST(Escape, Base64AndUtf8) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(readable("a\xc3\xa9\n\xed\xa0\x80\x1b"),
            "a\xc3\xa9\n\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(markdown_code("a|b`c\nd"), "`a\\|b'c d`");
}

}  // namespace
}  // namespace plumbline
