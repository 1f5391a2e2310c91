// SPDX-License-Identifier: MIT
// Baselines and what changed between two of them.
#include "reports/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "reports/record/json.h"
#include "tests/reports/record/record_samples.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

// A class whose only case has this worst share.
CaseRecord with_share(const std::string& value_class, double share, const std::string& seed = "1") {
  CaseRecord c = sample_case("gemm_bf16 m=8 value=" + value_class + " seed=" + seed, Verdict::pass,
                             value_class);
  c.outputs[0].verdict.worst_share = share;
  c.outputs[0].verdict.histogram.assign(64, 0);
  c.outputs[0].verdict.histogram[36] = 64;  // 0.5 to 0.625 ulp
  c.outputs[0].verdict.magnitudes.assign(OutputTally::kBinades, 0);
  c.outputs[0].verdict.magnitudes[OutputTally::kFirstBinade] = 64;
  c.fingerprint = std::to_string(share) + seed;
  return c;
}

Baseline of(const std::vector<CaseRecord>& cases) {
  RunRecord record;
  record.plumbline_version = "0.1.0";
  record.profile = "quick";
  record.cases = cases;
  return baseline_of(record);
}

KernelChange change(const std::vector<CaseRecord>& before, const std::vector<CaseRecord>& after) {
  const auto all = changes(of(before), of(after));
  EXPECT_EQ(all.size(), 1u);
  return all.front();
}

// The worst of more cases is worse: that all classes moved one way says nothing.
TEST(Change, RunsOfOtherPlansAreUnclear) {
  std::vector<CaseRecord> before, after;
  for (const char* value_class : {"normal", "wide", "ones", "ties", "large", "positive"}) {
    before.push_back(with_share(value_class, 0.25));
    after.push_back(with_share(value_class, 0.5, "2"));
    after.push_back(with_share(value_class, 0.5, "3"));
  }
  EXPECT_EQ(change(before, after).change, Change::unclear);
  EXPECT_THAT(change(before, after).words, HasSubstr("other plans: 6 cases before and 12 now"));
  EXPECT_EQ(change(after, before).change, Change::unclear);
}

TEST(Change, EqualBitsAreTheSame) {
  const auto same = change({with_share("normal", 0.5)}, {with_share("normal", 0.5)});
  EXPECT_EQ(same.change, Change::same);
  EXPECT_EQ(same.words, "");
}

TEST(Change, OtherBitsWithEqualErrorsAreTheSameAndSaySo) {
  CaseRecord other = with_share("normal", 0.5);
  other.fingerprint = "other";
  const auto same = change({with_share("normal", 0.5)}, {other});
  EXPECT_EQ(same.change, Change::same);
  EXPECT_THAT(same.words, HasSubstr("other bits in 1 class"));
}

TEST(Change, ALargerErrorOnTheSameCasesIsWorse) {
  const auto worse = change({with_share("normal", 0.5), with_share("wide", 0.58)},
                            {with_share("normal", 0.5), with_share("wide", 0.71)});
  EXPECT_EQ(worse.change, Change::worse);
  EXPECT_FALSE(worse.broke);
  EXPECT_THAT(worse.words, HasSubstr("58 % -> 71 % of the admissible error with class wide"));
  EXPECT_EQ(change({with_share("wide", 0.71)}, {with_share("wide", 0.58)}).change, Change::better);
}

TEST(Change, LargerMeanErrorsAreWorseWhereTheWorstStays) {
  CaseRecord larger = with_share("normal", 0.5);
  larger.fingerprint = "other";
  std::swap(larger.outputs[0].verdict.histogram[36], larger.outputs[0].verdict.histogram[40]);
  const auto worse = change({with_share("normal", 0.5)}, {larger});
  EXPECT_EQ(worse.change, Change::worse);
  EXPECT_THAT(worse.words, HasSubstr("mean error 0.562 -> 1.06 ulp"));
}

TEST(Change, BothDirectionsAreUnclear) {
  const auto unclear = change({with_share("normal", 0.5), with_share("wide", 0.5)},
                              {with_share("normal", 0.6), with_share("wide", 0.4)});
  EXPECT_EQ(unclear.change, Change::unclear);
  EXPECT_TRUE(unclear.grew);
}

TEST(Change, ErrorsThatFellOrOfOtherCasesDidNotGrow) {
  EXPECT_FALSE(change({with_share("wide", 0.7)}, {with_share("wide", 0.6)}).grew);
  EXPECT_FALSE(change({with_share("wide", 0.5, "1")}, {with_share("wide", 0.6, "2")}).grew);
}

TEST(Change, OtherSeedsAreUnclearUnlessAlmostAllClassesMove) {
  std::vector<CaseRecord> before, little, much;
  for (int i = 0; i < 6; ++i) {
    const std::string name = "class" + std::to_string(i);
    before.push_back(with_share(name, 0.5, "1"));
    little.push_back(with_share(name, i % 2 == 0 ? 0.55 : 0.45, "2"));
    much.push_back(with_share(name, 0.7, "2"));
  }
  EXPECT_EQ(change(before, little).change, Change::unclear);
  EXPECT_EQ(change(before, much).change, Change::worse);
  EXPECT_EQ(change(much, before).change, Change::better);
}

TEST(Change, ABrokenPromiseIsWorseAndAKeptOneBetter) {
  CaseRecord failing = with_share("normal", 17);
  failing.verdict = Verdict::fail;
  const auto broke = change({with_share("normal", 0.5)}, {failing});
  EXPECT_EQ(broke.change, Change::worse);
  EXPECT_TRUE(broke.broke);
  EXPECT_THAT(broke.words, HasSubstr("1 cases fail now"));
  EXPECT_EQ(change({failing}, {with_share("normal", 0.5)}).change, Change::better);
}

// A class that the old side has no cases of, and a new kernel, break promises all the same.
TEST(Change, FailuresCountWithoutCasesOfTheOtherSide) {
  const CaseRecord good = with_share("normal", 0.5);
  CaseRecord failing = with_share("ties", 17);
  failing.verdict = Verdict::fail;
  const auto broke = change({good}, {good, failing});
  EXPECT_EQ(broke.change, Change::worse);
  EXPECT_TRUE(broke.broke);
  CaseRecord another = failing;
  another.text += "1";
  EXPECT_TRUE(change({failing}, {failing, another}).broke);
  EXPECT_FALSE(change({failing, another}, {failing}).broke);
  const auto wider = change({good}, {good, with_share("ties", 0.5)});
  EXPECT_EQ(wider.change, Change::same);
  EXPECT_THAT(wider.words, HasSubstr("1 of the new have no other"));
}

TEST(Change, KernelsComeAndGo) {
  CaseRecord other = with_share("normal", 0.5);
  other.kernel = "gemm_s8";
  const auto all = changes(of({with_share("normal", 0.5)}), of({other}));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].change, Change::removed);
  EXPECT_EQ(all[1].change, Change::added);
}

TEST(Change, AKernelThatCouldNotRunIsNotRemoved) {
  CaseRecord error = with_share("normal", 0.5);
  error.verdict = Verdict::error;
  error.outputs.clear();
  const auto lost = change({with_share("normal", 0.5)}, {error});
  EXPECT_EQ(lost.change, Change::error);
  EXPECT_EQ(lost.words, "1 case could not run");
  error.value_class = "wide";
  EXPECT_EQ(change({with_share("normal", 0.5)}, {with_share("normal", 0.5), error}).change,
            Change::error);
}

TEST(Change, TheSignTestIsExact) {
  EXPECT_DOUBLE_EQ(sign_test(0, 0), 1);
  EXPECT_NEAR(sign_test(6, 0), 2.0 / 64, 1e-12);
  EXPECT_NEAR(sign_test(1, 4), 2 * 6.0 / 32, 1e-12);
}

std::string write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

// Exact outputs are in a cell that goes up to an eighth of an ulp. Older files say no more of them.
TEST(Baseline, ExactOutputsHaveNoError) {
  CaseRecord half = with_share("normal", 0.5);
  half.outputs[0].verdict.histogram[36] = half.outputs[0].verdict.histogram[32] = 32;
  half.outputs[0].verdict.magnitudes[OutputTally::kFirstBinade] = 32;
  half.outputs[0].verdict.magnitudes[0] = 32;
  Baseline now = of({half});
  EXPECT_DOUBLE_EQ(now.rows[0].mean_error(), 0.5625 / 2);
  Baseline older = now;
  older.rows[0].exact.reset();
  const auto read = read_baseline(write("older.json", baseline_json(older)));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_FALSE(read->rows[0].exact);
  EXPECT_EQ(changes(*read, now).front().change, Change::same);
}

TEST(Baseline, FilesReadBackAndRecordsAreBaselines) {
  CaseRecord free = with_share("free", 0.5);
  free.outputs[0].verdict.worst_share = std::numeric_limits<double>::infinity();
  const Baseline baseline = of({with_share("wide", 0.7), with_share("normal", 1.0 / 3), free});
  const std::string path = write("baseline.json", baseline_json(baseline));
  const auto read = read_baseline(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(baseline_json(*read), baseline_json(baseline));
  EXPECT_EQ(read->rows.front().value_class, "free");
  for (const KernelChange& one : changes(baseline, *read)) EXPECT_EQ(one.change, Change::same);

  RunRecord record = sample_record();
  const auto from_record = read_baseline(write("record.json", record_json(record)));
  ASSERT_TRUE(from_record) << from_record.error().text();
  EXPECT_EQ(baseline_json(*from_record), baseline_json(baseline_of(record)));
}

TEST(Baseline, BrokenFilesNameTheirRow) {
  const std::string text = baseline_json(of({with_share("normal", 0.5)}));
  std::string broken = text;
  broken.replace(broken.find("\"cases\""), 7, "\"casse\"");
  EXPECT_THAT(read_baseline(write("row.json", broken)).error().text(), HasSubstr("row 1"));
  std::string huge = text;  // a count that would come out negative
  huge.replace(huge.find("\"failed\":"), 9, "\"failed\":9223372036854775808");
  huge.erase(huge.find("9223372036854775808") + 19, 1);
  EXPECT_THAT(read_baseline(write("huge.json", huge)).error().text(), HasSubstr("row 1"));
  EXPECT_FALSE(read_baseline(write("cut.json", text.substr(0, text.size() / 2))));
  EXPECT_THAT(read_baseline(::testing::TempDir() + "/none.json").error().text(),
              HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace plumbline
