// SPDX-License-Identifier: MIT
#include "reports/record/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/record/json.h"
#include "tests/reports/record/record_samples.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Shard `index` of `count` of the sample: every count-th case.
RunRecord shard(int index, int count) {
  const RunRecord whole = sample_record();
  RunRecord r = whole;
  r.shard = {index, count, static_cast<std::int64_t>(whole.cases.size())};
  std::erase_if(r.cases, [&](const CaseRecord& c) { return c.position % count != index - 1; });
  r.planned = static_cast<std::int64_t>(r.cases.size());
  r.kernels = {without_cases(r.kernels[0])};
  summarize(r);
  if (r.kernels[0].failed == 0) r.counterexamples.clear();
  return r;
}

std::vector<NamedRecord> shards(int count) {
  std::vector<NamedRecord> all;
  for (int i = count; i >= 1; --i) all.push_back({std::to_string(i), shard(i, count)});
  return all;
}

std::string error(std::vector<NamedRecord> records) {
  const Result<RunRecord> merged = merge_records(std::move(records));
  EXPECT_FALSE(merged);
  return merged ? "" : merged.error().text();
}

TEST(MergeRecords, AllShardsAreTheWholeRun) {
  for (const int count : {1, 2, 3, 4}) {
    const Result<RunRecord> merged = merge_records(shards(count));
    ASSERT_TRUE(merged) << merged.error().text();
    EXPECT_EQ(record_json(*merged), record_json(sample_record())) << count << " shards";
  }
}

TEST(MergeRecords, AWholeRunIsItself) {
  const Result<RunRecord> merged = merge_records({{"r", sample_record()}});
  ASSERT_TRUE(merged);
  EXPECT_EQ(record_json(*merged), record_json(sample_record()));
}

TEST(MergeRecords, DescribesAsManyFailuresAsOneRunDoes) {
  std::vector<NamedRecord> all = {{"1", shard(1, 2)}, {"2", shard(2, 2)}};
  for (NamedRecord& one : all) {
    CaseRecord failed = sample_record().cases[0];
    failed.verdict = failed.claims[Claim::in_bounds] = Verdict::fail;
    failed.findings = {{"race", "a race", "", 0, "", 0, "", {}}};
    one.record.cases.clear();
    for (int i = 0; i < 15; ++i) {
      failed.position = 2 * i + (one.name == "2");
      one.record.cases.push_back(failed);
    }
    one.record.shard->plan = 30;
  }
  const Result<RunRecord> merged = merge_records(std::move(all));
  ASSERT_TRUE(merged) << merged.error().text();
  for (const CaseRecord& c : merged->cases)
    EXPECT_EQ(c.findings.empty(), c.position >= kDescribedFailures) << c.position;
}

TEST(MergeRecords, StoppedAsItsShardsWere) {
  std::vector<NamedRecord> all = {{"1", shard(1, 2)}, {"2", shard(2, 2)}};
  all.back().record.stopped_after = 3;
  const Result<RunRecord> merged = merge_records(std::move(all));
  ASSERT_TRUE(merged) << merged.error().text();
  EXPECT_EQ(merged->stopped_after, 3);
}

TEST(MergeRecords, SaysWhichShardsAreMissing) {
  std::vector<NamedRecord> all = shards(4);
  all.erase(all.begin() + 1);  // 3/4, which holds the failure
  const Result<RunRecord> merged = merge_records(std::move(all));
  ASSERT_TRUE(merged);
  EXPECT_THAT(merged->missing_shards, ElementsAre("3/4"));
  EXPECT_EQ(merged->planned, 4);
  EXPECT_EQ(merged->cases.size(), 3u);
  EXPECT_TRUE(merged->counterexamples.empty());
}

TEST(MergeRecords, RefusesWhatIsNotOneRun) {
  EXPECT_THAT(error({{"a", sample_record()}, {"b", sample_record()}}),
              HasSubstr("a: a whole run, which cannot be merged"));
  EXPECT_THAT(error({{"a", shard(1, 2)}, {"b", shard(1, 2)}}),
              HasSubstr("b: shard 1/2 again, which a is already"));
  EXPECT_THAT(error({{"a", shard(1, 2)}, {"b", shard(2, 3)}}),
              HasSubstr("its number of shards is 3, not 2"));
  const auto changed = [&](auto change) {
    RunRecord other = shard(2, 2);
    change(other);
    return error({{"a", shard(1, 2)}, {"b", std::move(other)}});
  };
  EXPECT_THAT(changed([](RunRecord& r) { r.seed = 7; }), HasSubstr("its seed is 0x7, not 0x2a"));
  EXPECT_THAT(changed([](RunRecord& r) { r.plumbline_version = "9"; }),
              HasSubstr("its plumbline is 9"));
  EXPECT_THAT(changed([](RunRecord& r) { r.kernels[0].name = "gemm_s8"; }),
              HasSubstr("its kernel is gemm_s8, not gemm_bf16"));
  EXPECT_THAT(changed([](RunRecord& r) { r.kernels[0].source_hash = "77"; }),
              HasSubstr("its gemm_bf16 is another build"));
  EXPECT_THAT(changed([](RunRecord& r) { r.shard->plan = 5; }), HasSubstr("plan's size is 5"));
  EXPECT_THAT(changed([](RunRecord& r) { r.shard->plan_hash = "ab"; }),
              HasSubstr("its plan is ab"));
  EXPECT_THAT(changed([](RunRecord& r) { r.cases[0].position = 0; }),
              HasSubstr("two shards have case 0"));
}

}  // namespace
}  // namespace plumbline
